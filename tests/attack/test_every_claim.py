"""Every attack command, found by walking: over its options no claim lies above what the theory allows.

A command that is added must say here how it is tried, or the first test fails.
"""

from __future__ import annotations

import itertools
import json
import math
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import COMMANDS, ROOT, leakcap
from leakcap.audit.tails import binomial_tail

NOTHING_STOPS = ("re-used noise", "δ spent at once", "the lecture's regression", "timing")
"""Attacks on what leakcap does not do, which are there to exceed the limit; those behind a guard are not."""
MATRICES = {
    "plain": [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6], [0.2, 0.5, 0.3]],
    "equal": [[0.25, 0.25, 0.5]] * 3,
    "twins": [[0.9, 0.1, 0.0], [0.9, 0.1, 0.0], [0.0, 0.2, 0.8]],
    "noiseless": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    "eraser": [[0.1, 0.0, 0.9], [0.0, 0.1, 0.9], [0.05, 0.05, 0.9]],
    "nearly": [[1 / 3, 1 / 3, 1 / 3], [1 / 3 + 1e-12, 1 / 3 - 1e-12, 1 / 3], [0.3, 0.3 - 1e-9, 0.4 + 1e-9]],
    "far": [[1 - 2e-15, 1e-15, 1e-15], [1e-15, 1 - 2e-15, 1e-15], [1e-15, 1e-15, 1 - 2e-15]],
}  # fmt: skip
NOT_BY_CHANCE = "above its limit, and not by chance"
PRIORS = ("uniform", "0.5,0.25,0.25", "0.9,0.1,0", "1e-12,0.5,0.499999999999", "1,0,0", "0,0.999,0.001")
ALPHAS = ("1e-3", "0.5", "1", "1.0000001", "2", "8", "1e4", "inf")
EPSILONS = ("0.05", "0.3", "1", "5", "30")


def options(**values: tuple[str, ...]) -> list[list[str]]:
    """All combinations, as words."""
    names = [f"--{name}" for name in values]
    return [
        [word for pair in zip(names, chosen, strict=True) for word in pair]
        for chosen in itertools.product(*values.values())
    ]


def also(heads: list[list[str]], tails: list[list[str]]) -> list[list[str]]:
    return [[*head, *tail] for head in heads for tail in tails]


FILES = [[f"{name}.csv"] for name in MATRICES]
TRIED: dict[str, list[list[str]]] = {
    "guess": also(FILES, options(prior=PRIORS)),
    "wifi": [
        *also(options(bits=("1", "2", "5"), epsilon=("0.5", "3"), fields=("1", "9"), uses=("1", "30")), [[]]),
        *also(options(bits=("1", "4"), epsilon=("1", "6"), fields=("1", "9")), [["--adaptive"]]),
    ],
    "copies": also([["1", "2", "30"]], options(epsilon=EPSILONS)),
    "households": also(
        [["1", "7"]], options(size=("1", "3"), epsilon=EPSILONS, prior=("0.5", "0.001", "0.97"))
    ),
    "chain": also([["3", "12"]], options(stay=("0.5", "0.01", "0.999"), epsilon=EPSILONS)),
    "family": also(
        [["0"], ["2"]],
        options(
            children=("1", "3"), frequency=("0.5", "0.01"), families=("1", "4"), epsilon=("0.1", "1", "8")
        ),
    ),
    "samples": also(
        [["rows.csv"], ["same.csv"]], options(person=("0", "2"), epsilon=("0.1", "1", "8"), grid=("1", "0.5"))
    ),
    "knowledge": also([["0", "1", "9"]], options(nats=("0", "0.1", "0.6931"), epsilon=EPSILONS)),
    "floor": also([["2"], ["9"]], options(missing=("0,0.1,1,1.3",), epsilon=EPSILONS)),
    "games": options(epsilon=("0.05", "1", "5"), rounds=("1", "40"), seed=("1",)),
    "blackbox": also([["timings.csv"]], options(prior=("uniform", "sampled"), confidence=("0.5", "0.999"))),
    "timing": options(epsilon=("0.1", "0.5", "1", "2")),
    "lecture": options(epsilon=("0.01", "0.1", "1"), people=("1", "10", "1000")),
    "linkage": options(
        k=("1", "2", "6"),
        epsilon=("0.1", "1", "9"),
        people=("6", "300"),
        shares=("0.5,0.5", "0.9,0.1,0", "1,0", "0.6,0.3,0.1"),
    ),
    "suppressed": [["published.csv"], ["published.csv", "--hidden", "x=1,26"]],
    "link": also([["released.csv", "voters.csv"]], [[], ["--k", "3"], ["--some"]]),
    "tables": [["published.csv"], ["published.csv", "--hidden", "x=1,26"]],
    "builder": options(
        noise=("1", "4"), queries=("2", "30"), people=("300", "2000"), counts=("1", "20"), seed=("1",)
    ),
    "reused": options(values=("2", "3", "10")),
    "delta": options(delta=("0", "1e-300", "1e-3", "1"), people=("1", "1000000000")),
    "membership": options(epsilon=(*EPSILONS, "inf"), others=("0", "1", "30"), share=("0.5", "0.001", "0.9")),
    "skew": options(nats=("0", "1e-9", "0.1", "0.69314718056", "3"), alpha=(",".join(ALPHAS),)),
    "surprise": also(FILES, options(prior=PRIORS, alpha=ALPHAS, levels=("1e-13,1e-6,0.1,0.5,1,40",))),
}
MANY = {"surprise": 5, "households": 3, "family": 4, "linkage": 4, "guess": 2, "membership": 3}
"""Every how many of the choices are tried in the default run; all of them in the slow one."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("claims")
    for name, rows in MATRICES.items():
        text = "\n".join(",".join(map(repr, row)) for row in rows)
        (folder / f"{name}.csv").write_text(text + "\n", encoding="utf-8")
    shutil.copy(ROOT / "examples" / "disclosure" / "register.csv", folder / "published.csv")
    for name in ("released.csv", "voters.csv"):
        shutil.copy(ROOT / "examples" / "disclosure" / name, folder / name)
    drawn = np.random.default_rng(1).integers(3, size=(40, 4))
    (folder / "rows.csv").write_text("\n".join(",".join(map(str, row)) for row in drawn), encoding="utf-8")
    shutil.copy(ROOT / "examples" / "timing" / "timings.csv", folder / "timings.csv")
    (folder / "same.csv").write_text("1,1,1\n1,1,1\n", encoding="utf-8")
    return folder


def test_every_attack_is_tried() -> None:
    assert {f"attack {name}" for name in TRIED} == {name for name in COMMANDS if name.startswith("attack ")}


def wrong(row: dict[str, Any]) -> Iterator[str]:
    """What a finding claims too much."""
    free = row["attack"].startswith(NOTHING_STOPS) or row.get("guarded") is False
    got, most = row["got"], math.inf if row["at_most"] is None else row["at_most"]
    if row["unit"] in {"probability", "share of people"} and not 0.0 <= got <= 1.0 >= most:
        yield "no probability"
    if got < 0.0:
        yield "less than nothing"
    if row.get("got_lower") is not None:
        if not row["got_lower"] <= got <= (math.inf if row["got_upper"] is None else row["got_upper"]):
            yield "outside of its interval"
        if not free and row["got_lower"] > most:
            yield NOT_BY_CHANCE
    elif not free and got > most:
        yield f"above its limit by {got - most}"
    for name, limit in row.items():
        figure = row.get(name.removesuffix("_at_most"))
        if name.endswith("_at_most") and limit is not None and figure is not None and figure > limit:
            yield f"{name} is exceeded by {figure - limit}"


def claims(name: str, words: list[list[str]], place: Path) -> None:
    """All findings of these commands. The interval of what is played lies above its limit once in 200 times;
    as often as chance does it in less than one of a million runs, the limit is broken."""
    tried, played, above = 0, 0, 0
    for chosen in words:
        done = leakcap("attack", name, *chosen, "--json", cwd=place)
        assert (done.returncode, done.stderr) == (0, ""), chosen
        for row in json.loads(done.stdout)["findings"]:
            found = list(wrong(row))
            tried, played = tried + 1, played + ("got_lower" in row)
            above += NOT_BY_CHANCE in found
            assert set(found) <= {NOT_BY_CHANCE}, (chosen, row)
    assert tried >= len(words) > 0
    assert above == 0 or binomial_tail(above, played, 0.005) > 1e-6, (above, played)


@pytest.mark.parametrize("name", TRIED)
def test_no_claim_is_above_its_limit(place: Path, name: str) -> None:
    claims(name, TRIED[name][:: MANY.get(name, 1)], place)


@pytest.mark.slow
@pytest.mark.parametrize("name", MANY)
def test_no_claim_is_above_its_limit_with_all_options(place: Path, name: str) -> None:
    claims(name, TRIED[name], place)


def test_a_claim_too_much_is_seen() -> None:
    good = {
        "attack": "a",
        "got": 0.5,
        "at_most": 0.5,
        "unit": "probability",
        "lift": 1.0,
        "lift_at_most": 1.0,
    }
    assert list(wrong(good)) == []
    for bad in ({"got": 0.5000001}, {"lift": 1.1}, {"got": 1.5, "at_most": 2.0}, {"got": -1e-9}):
        assert list(wrong({**good, **bad}))
    played = {**good, "got": 0.7, "got_lower": 0.4, "got_upper": 0.9}
    assert list(wrong(played)) == []
    assert list(wrong({**played, "got_lower": 0.6})) == [NOT_BY_CHANCE]
    assert list(wrong({**played, "got_lower": 0.6, "guarded": False})) == []
    assert list(wrong({**played, "got_lower": 0.6, "guarded": True})) == [NOT_BY_CHANCE]
    assert binomial_tail(4, 24, 0.005) > 1e-6 > binomial_tail(6, 24, 0.005)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("prior", PRIORS[1:])
def test_guessing_by_fractions(place: Path, name: str, prior: str) -> None:
    """got is the sum of maxima, at_most pA/(pA + 1 − p) with A the largest ratio of rows, by fractions."""
    rows = [[Fraction(x) for x in row] for row in MATRICES[name]]
    rows = [[x / sum(row) for x in row] for row in rows]
    belief = [Fraction(float(p)) for p in prior.split(",")]
    belief = [p / sum(belief) for p in belief]
    won = sum(max(p * row[y] for p, row in zip(belief, rows, strict=True)) for y in range(3))
    possible = [row for p, row in zip(belief, rows, strict=True) if p > 0]
    pairs = [(a[y], b[y]) for a in possible for b in possible for y in range(3) if a[y] > 0]
    p = max(belief)
    ratio = None if any(b == 0 for _, b in pairs) else max(a / b for a, b in pairs)
    most = Fraction(1) if ratio is None else p * ratio / (p * ratio + 1 - p)
    done = leakcap("attack", "guess", f"{name}.csv", "--prior", prior, "--json", cwd=place)
    (found,) = json.loads(done.stdout)["findings"]
    assert found["got"] == pytest.approx(float(won), abs=1e-12)
    assert found["at_most"] == pytest.approx(float(most), abs=1e-9)
