"""`leakcap channel`: a matrix in a file, everything it leaks."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from command_line import Done, leakcap
from leakcap import adversary as nouns
from leakcap.adversary import Adversary
from leakcap.capacities import capacity, hamming_neighbours
from leakcap.channel import Channel
from leakcap.divergence import Renyi

SURVEY = Path(__file__).parents[2] / "examples" / "survey.csv"


def adversaries() -> list[str]:
    found = {name: getattr(nouns, name) for name in nouns.__all__}
    return [n for n, kind in found.items() if issubclass(kind, Adversary) and kind is not Adversary]


def run(*args: str | Path) -> Done:
    return leakcap("channel", *args)


def test_the_survey() -> None:
    done = run(SURVEY, "--json")
    assert done.returncode == 0, done.stderr
    found = {m["measure"]: m for m in json.loads(done.stdout)["measures"]}
    assert found["ε, the largest log ratio"]["upper"] == pytest.approx(1.3862943611, abs=1e-10)
    assert found["Shannon capacity"]["upper"] == pytest.approx(0.1606206307, abs=1e-9)
    assert found["Bayes capacity"]["upper"] == pytest.approx(5 / 3, abs=1e-12)
    assert found["multiplicative leakage, worst output"]["upper"] == pytest.approx(12 / 7, abs=1e-12)
    assert all(m["lower"] <= m["upper"] for m in found.values() if m["upper"] is not None)
    shown = run(SURVEY)
    assert shown.returncode == 0
    assert "0.1606206309" in shown.stdout


def test_gains_and_priors(tmp_path: Path) -> None:
    prior = tmp_path / "prior.txt"
    prior.write_text("0.5, 0.25, 0.25\n")
    distances = tmp_path / "d.csv"
    distances.write_text("0,1,2\n1,0,1\n2,1,0\n")
    gains = [
        "k_guesses:2",
        "property:a,a,b",
        f"distance:{distances}",
        "distribution_reciprocal",
        str(distances),
    ]
    for gain in gains:
        done = run(SURVEY, "--prior", prior, "--gain", gain, "--json")
        assert done.returncode == 0, (gain, done.stderr)
        found = {m["measure"]: m for m in json.loads(done.stdout)["measures"]}
        ratio = found["multiplicative leakage, on average"]["upper"]
        assert 1 - 1e-12 <= ratio <= found["Bayes capacity"]["upper"] + 1e-12


@pytest.fixture
def count(tmp_path: Path) -> Path:
    """A noisy count of two records."""
    path = tmp_path / "count.csv"
    path.write_text('input,few,many\n"(0, 0)",.8,.2\n"(0, 1)",.5,.5\n"(1, 0)",.5,.5\n"(1, 1)",.2,.8\n')
    return path


def measured(*args: str | Path) -> dict[tuple[str, str], float]:
    done = run(*args, "--json")
    assert done.returncode == 0, done.stderr
    return {(m["section"], m["measure"]): m["upper"] for m in json.loads(done.stdout)["measures"]}


def information(rows: list[list[float]], prior: list[float]) -> float:
    centre = [sum(p * row[y] for p, row in zip(prior, rows, strict=True)) for y in range(len(rows[0]))]
    pairs = (
        (p * c, c / q) for p, row in zip(prior, rows, strict=True) for c, q in zip(row, centre, strict=True)
    )
    return sum(weight * math.log(ratio) for weight, ratio in pairs)


def test_neighbours_given_and_named(tmp_path: Path, count: Path) -> None:
    where = "between neighbouring secrets"
    epsilon, variation = (where, "ε, the largest log ratio"), (where, "total variation")
    listed = tmp_path / "pairs.csv"
    listed.write_text('"(0, 0)","(1,1)"\n')
    for neighbours, ratio, distance in (
        ("hamming", 2.5, 0.3),
        ("hamming:2", 4.0, 0.6),
        ("(0,0)~(0, 1)", 2.5, 0.3),
        ("(1,0)~(0,1)", 1.0, 0.0),
        (str(listed), 4.0, 0.6),
    ):
        found = measured(count, "--neighbours", neighbours)
        assert found[epsilon] == pytest.approx(math.log(ratio), abs=1e-12), neighbours
        assert found[variation] == pytest.approx(distance, abs=1e-12), neighbours
    assert measured(count)["between any two secrets", "total variation"] == pytest.approx(0.6, abs=1e-12)


def test_a_channel_on_databases_says_which_neighbours_it_took(count: Path) -> None:
    channel = Channel.load(count)
    assert channel.inputs == ((0, 0), (0, 1), (1, 0), (1, 1))
    assert "all pairs of databases" in capacity(channel, Renyi(math.inf)).method
    assert "4 listed pairs" in capacity(channel, Renyi(math.inf), hamming_neighbours(channel)).method
    assert "all pairs of rows" in capacity(Channel.load(SURVEY), Renyi(math.inf)).method


def test_adversaries_by_name(count: Path) -> None:
    strong, bayes = "StrongAdversary()", "BayesianAdversary(prior)"
    prior = [0.1, 0.2, 0.3, 0.4]
    found = measured(count, "--prior", "0.1,0.2,0.3,0.4", "--adversary", strong, "--adversary", bayes)
    slice_of = [[0.8, 0.2], [0.5, 0.5]]
    best = max(information(slice_of, [p / 10_000, 1 - p / 10_000]) for p in range(1, 10_000))
    assert found[f"seen by {strong}", "capacity, α = 1"] == pytest.approx(best, abs=1e-8)
    channel = Channel.load(count).matrix
    truths = []
    for record, others in ((0, (0, 2)), (0, (1, 3)), (1, (0, 1)), (1, (2, 3))):
        mass = sum(prior[x] for x in others)
        truths.append(
            (record, mass * information(channel[list(others)].tolist(), [prior[x] / mass for x in others]))
        )
    known = max(sum(t for r, t in truths if r == record) for record in (0, 1))
    alone = []
    for groups in (((0, 1), (2, 3)), ((0, 2), (1, 3))):
        masses = [sum(prior[x] for x in group) for group in groups]
        rows = [
            [sum(prior[x] * channel[x][y] for x in group) / mass for y in (0, 1)]
            for group, mass in zip(groups, masses, strict=True)
        ]
        alone.append(information(rows, masses))
    truth = max(known, *alone)
    assert found[f"seen by {bayes}", "capacity, α = 1"] == pytest.approx(truth, abs=1e-12)
    floor = measured(SURVEY, "--adversary", "EntropyFloor(nats=0.9)")
    assert floor["seen by EntropyFloor(nats=0.9)", "capacity, α = ∞"] == pytest.approx(0.9151029, abs=1e-7)


EXAMPLES = {
    "AllPriors": "AllPriors()",
    "AllPriorsJoint": "AllPriorsJoint()",
    "BayesianAdversary": "BayesianAdversary(prior)",
    "BayesianNeighbours": "BayesianNeighbours(prior)",
    "DependentRecords": "DependentRecords(2, extent=0.3)",
    "EntropyFloor": "EntropyFloor(0.5)",
    "GivenPrior": "GivenPrior((0.1, 0.2, 0.3, 0.4))",
    "InputCost": "InputCost((0, 1, 1, 4), 1.5)",
    "LimitedKnowledge": "LimitedKnowledge(floor=0.5)",
    "Neighbours": "Neighbours(((0, 1), (2, 3)))",
    "PowerConstraint": "PowerConstraint(1.5)",
    "StrongAdversary": "StrongAdversary(size=2)",
}


@pytest.mark.parametrize("name", sorted(adversaries()))
def test_every_adversary_can_be_named(count: Path, name: str) -> None:
    """A new one needs an example here: it is found by existing."""
    if name == "PowerConstraint":  # of secrets that are numbers
        count.write_text("input,few,many\n-1,.8,.2\n0,.5,.5\n1,.5,.5\n2,.2,.8\n")
    found = measured(count, "--adversary", EXAMPLES[name])
    assert [upper for (section, _), upper in found.items() if section == f"seen by {EXAMPLES[name]}"]


def test_individuals(count: Path) -> None:
    found = measured(count, "--individuals")
    for person in (0, 1):  # the other is averaged: rows (.65, .35) and (.35, .65)
        where = f"about person {person}, under the prior"
        assert found[where, "inferential privacy"] == pytest.approx(math.log(0.65 / 0.35), abs=1e-12)
        assert found[where, "information privacy"] == pytest.approx(math.log(1.3), abs=1e-12)
        truth = information([[0.65, 0.35], [0.35, 0.65]], [0.5, 0.5])
        assert found[where, "mutual-information privacy"] == pytest.approx(truth, abs=1e-12)


def test_hyper(count: Path) -> None:
    done = run(count, "--hyper", "--json")
    hyper = json.loads(done.stdout)["hyper"]
    assert [h["probability"] for h in hyper] == pytest.approx([0.5, 0.5])
    assert hyper[0]["posterior"] == pytest.approx([0.4, 0.25, 0.25, 0.1])
    shown = run(count, "--hyper")
    assert "what is believed after an output" in shown.stdout
    assert shown.stdout.startswith(run(count).stdout)


def test_dalenius(tmp_path: Path) -> None:
    """By hand: the cascade of disease.csv and survey.csv has the rows below."""
    disease = SURVEY.parent / "disease.csv"
    done = leakcap("dalenius", SURVEY, disease, "--prior", "0.01,0.99", "--json")
    assert done.returncode == 0, done.stderr
    found = {(m["section"], m["measure"]): m["upper"] for m in json.loads(done.stdout)["measures"]}
    ill = [Fraction(*ratio) for ratio in ((16, 60), (13, 60), (31, 60))]
    well = [Fraction(*ratio) for ratio in ((33, 60), (12, 60), (15, 60))]
    ratio = max(max(a / b, b / a) for a, b in zip(ill, well, strict=True))
    centre = [a / 100 + 99 * b / 100 for a, b in zip(ill, well, strict=True)]
    lift = max(max(a, b) / q for a, b, q in zip(ill, well, centre, strict=True))
    assert found["about it, whatever is believed", "lift capacity (e^ε)"] == pytest.approx(float(ratio))
    assert found["about it, under the prior", "lift"] == pytest.approx(float(lift))
    assert found["about anything correlated", "lift capacity (e^ε)"] == pytest.approx(4.0)
    worst = max(max(a / 100, 99 * b / 100) / q for a, b, q in zip(ill, well, centre, strict=True))
    assert found["about it, under the prior", "vulnerability after, worst output"] == pytest.approx(
        float(worst)
    )


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ([SURVEY, "--neighbours", "no~never"], "never"),
        ([SURVEY, "--neighbours", "no"], "--neighbours"),
        ([SURVEY, "--neighbours", "no~maybe~yes"], "two secrets"),
        ([SURVEY, "--neighbours", "hamming"], "tuples"),
        ([SURVEY, "--neighbours", "hamming:0"], "hamming:K"),
        ([SURVEY, "--neighbours", "hamming:x"], "hamming:K"),
        ([SURVEY, "--adversary", "Eve()"], "Eve"),
        ([SURVEY, "--adversary", "__import__('os')"], "numbers"),
        ([SURVEY, "--adversary", "EntropyFloor('x')"], "numbers"),
        ([SURVEY, "--adversary", "EntropyFloor()"], "nats"),
        ([SURVEY, "--adversary", "EntropyFloor(-1)"], "nats"),
        ([SURVEY, "--adversary", "StrongAdversary()"], "tuples"),
        ([SURVEY, "--adversary", "GivenPrior((0.5, 0.5))"], "prior"),
        ([SURVEY, "--individuals"], "tuples"),
        (["none.csv"], "none.csv"),
        ([SURVEY, "--prior", "0.5,0.5"], "--prior"),
        ([SURVEY, "--prior", "x"], "--prior"),
        ([SURVEY, "--prior", "0.5,0.5,0.5"], "sum to one"),
        ([SURVEY, "--gain", "luck"], "--gain"),
        ([SURVEY, "--gain", "k_guesses:9"], "k_guesses"),
        ([SURVEY, "--gain", "distance:none.csv"], "none.csv"),
        ([SURVEY, "--alpha", "1"], "--alpha"),
    ],
)
def test_one_clear_line(args: list[str | Path], named: str) -> None:
    done = run(*args)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert named in done.stderr


@pytest.mark.parametrize("text", ["", "a,b\nc\n", "0.5,0.6\n", "0.5,-0.5\n", "nan,1\n", "x,y\nz,w\n"])
def test_bad_matrices(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    done = run(path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
