"""`leakcap fit`: what it prints, repeats, refuses, and how a stopped descent goes on."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import pytest

from command_line import leakcap
from leakcap.ledger import Ledger
from leakcap.models import PrivateGradientDescent

EXAMPLES = Path(__file__).parents[2] / "examples" / "hospital"
PLAIN = {"kind": '"linear"', "features": '["mean_radius"]', "target": '"worst_radius"', "epsilon": "1.0"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("patients.parquet", "policy.toml", "policy-models.toml", "descent.toml", "logistic.toml"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    policy = (tmp_path / "policy.toml").read_text().replace("nats_per_person = 0.2", "nats_per_person = 9.0")
    (tmp_path / "wide.toml").write_text(policy.replace("nats_table = 200.0", "nats_table = 9000.0"))
    return tmp_path


def written(place: Path, policy: str = "wide.toml", **fields: str) -> Path:
    lines = [f'policy = "{policy}"', 'data = "patients.parquet"', 'ledger = "own.db"', "[model]"]
    file = place / "own.toml"
    file.write_text("\n".join([*lines, *(f"{name} = {value}" for name, value in fields.items())]))
    return file


def fitted(*words: str | Path, code: int = 0) -> Any:
    done = leakcap("fit", *words, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "fields",
    [
        PLAIN,
        {**PLAIN, "where": "\"diagnosis = 'benign'\"", "fit_intercept": "false"},
        {**PLAIN, "kind": '"ridge"', "penalty": "5.0", "radius": "2.0"},
    ],
)
def test_regressions_show_intervals_and_every_order(place: Path, fields: dict[str, str]) -> None:
    file = written(place, **fields)
    found = fitted(file, "--delta", "1e-6")["fit"]
    assert [c["name"] for c in found["coefficients"]] == ["intercept", "mean_radius"]
    for one in found["coefficients"]:
        low, high = one["interval"]
        assert low is None or low <= high
    # Published for ε = 1: MI-DP 0.12330156148, R₂ 0.24022901392, R₈ 0.63545939857.
    levels = {order["alpha"]: order["level"] for order in found["guarantee"]}
    assert levels[1.0] == pytest.approx(0.12330156148)
    assert levels[2.0] == pytest.approx(0.24022901392)
    assert levels[8.0] == pytest.approx(0.63545939857)
    assert found["asked"] == {"epsilon": 1.0, "delta": 1e-6}
    again = fitted(file)["fit"]
    assert again["repeated"]
    assert again["asked"] is None
    assert again["coefficients"] == found["coefficients"]
    assert not fitted(file, "--fresh", "--yes")["fit"]["repeated"]


def test_classes_come_from_the_policy(place: Path) -> None:
    found = fitted(place / "logistic.toml")["fit"]
    assert found["model"] == "LogisticRegression"
    assert all(one["interval"] is None for one in found["coefficients"])
    text = leakcap("fit", place / "logistic.toml").stdout
    assert "unknown" in text
    assert "Repeated from the ledger" in text


def test_a_support_vector_machine(place: Path) -> None:
    logistic = (place / "logistic.toml").read_text()
    (place / "svm.toml").write_text(logistic.replace('kind = "logistic"', 'kind = "svm"\nsmoothing = 0.25'))
    found = fitted(place / "svm.toml")["fit"]
    assert found["model"] == "LinearSVC"
    assert {one["name"] for one in found["coefficients"]} > {"intercept"}
    assert fitted(place / "svm.toml")["fit"]["repeated"]


def test_a_tree(place: Path) -> None:
    logistic = (place / "logistic.toml").read_text()
    (place / "tree.toml").write_text(logistic.replace('kind = "logistic"', 'kind = "tree"\ndepth = 1'))
    found = fitted(place / "tree.toml")["fit"]
    assert found["model"] == "PrivateDecisionTree"
    for one in found["coefficients"]:
        low, high = one["interval"]
        assert low < one["value"] < high
    assert "rows in the leaf" in found["intervals"]
    assert fitted(place / "tree.toml")["fit"]["repeated"]


def test_a_stopped_descent_goes_on(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C after 120 of 200 steps: exit 130, a hint, and 80 steps more with --resume, paid once."""
    real, steps = PrivateGradientDescent._step, []

    def stopping(self: Any, *args: Any) -> Any:
        if len(steps) == 120:
            raise KeyboardInterrupt
        steps.append(1)
        return real(self, *args)

    monkeypatch.setattr(PrivateGradientDescent, "_step", stopping)
    file = place / "descent.toml"
    done = leakcap("fit", file)
    assert done.returncode == 130
    assert "--resume" in done.stderr
    again = leakcap("fit", file)
    assert (again.returncode, len(steps)) == (2, 120)
    assert "--resume" in again.stderr
    monkeypatch.setattr(
        PrivateGradientDescent, "_step", lambda self, *args: steps.append(1) or real(self, *args)
    )
    found = fitted(file, "--resume")
    assert len(steps) == 200
    assert not (place / "descent.checkpoint.json").exists()
    assert found["so_far"]["queries"] == 1
    finished = leakcap("fit", file, "--resume")
    assert (finished.returncode, finished.stdout, finished.stderr.count("\n")) == (2, "", 1)
    assert "This descent has finished: entry 1 of the ledger has its answer" in finished.stderr
    assert "Fit without resuming" in finished.stderr
    assert fitted(file)["fit"]["repeated"]
    assert len(steps) == 200
    with Ledger.read(f"sqlite:///{place / 'hospital-models.db'}") as ledger:
        assert ledger.totals().epsilon == pytest.approx(found["fit"]["price"]["epsilon"])
    orders = {o["alpha"]: o for o in found["fit"]["guarantee"]}
    # 200 full steps between two contents: 2αT/σ² (Gaussian at twice the clip), by hand.
    assert orders[4.0]["renyi"] == pytest.approx(2 * 4 * 200 / 30**2)


def test_the_lecture_is_a_demonstration(place: Path) -> None:
    file = written(place, kind='"lecture"', features='["mean_radius"]', target='"worst_radius"')
    found = fitted(file)
    assert found["fit"] is None
    assert found["demonstration"]["moved"] == 2.0
    assert found["demonstration"]["bound"] == pytest.approx(0.0020002)
    assert "not a release" in leakcap("fit", file).stdout
    assert not (place / "own.db").exists()


@pytest.mark.parametrize(
    ("fields", "words", "said"),
    [
        ({**PLAIN, "kind": '"forest"'}, [], "forest"),
        ({**PLAIN, "penalty": "1.0"}, [], "penalty"),
        ({**PLAIN, "target": '"diagnosis"'}, [], "bounds"),
        ({**PLAIN, "features": "[]"}, [], "features"),
        ({**PLAIN, "features": '["nothing"]'}, [], "nothing"),
        ({**PLAIN, "epsilon": "9.0"}, [], "cap"),
        (PLAIN, ["--resume"], "--resume"),
        (PLAIN, ["--delta", "2"], "--delta"),
        (PLAIN, ["--ledger", "sqlite://"], "memory"),
        ({**PLAIN, "slot": '"none"'}, [], "slot"),
        (PLAIN, ["--fresh"], "--yes"),
    ],
)
def test_refusals_in_one_line(place: Path, fields: dict[str, str], words: list[str], said: str) -> None:
    done = leakcap("fit", written(place, **fields), *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr
    # A first fit that is refused leaves no ledger that looks as if nothing had ever been asked.
    assert not [file for file in place.iterdir() if ".db" in file.name]


def test_a_descent_without_a_ledger_is_not_resumed(place: Path) -> None:
    done = leakcap("fit", place / "descent.toml", "--resume")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "Nothing to resume" in done.stderr
    assert not [file for file in place.iterdir() if ".db" in file.name]


@pytest.mark.parametrize(("epsilon", "plans_charged"), [("30.0", 0), ("0.5", 1)])
def test_a_first_fit_logs_a_plan_as_charged_when_it_is_paid_for(
    place: Path, caplog: pytest.LogCaptureFixture, epsilon: str, plans_charged: int
) -> None:
    with (place / "wide.toml").open("a") as policy:
        policy.write('\n[[plan]]\nname = "monthly"\ncount = 12\nepsilon = 0.05\nnats_table = 9.0\n')
    file = written(place, **PLAIN | {"epsilon": epsilon})
    with caplog.at_level(logging.INFO, logger="leakcap"):
        done = leakcap("fit", file)
    assert (done.returncode == 0) == (plans_charged == 1), done.stderr
    assert (place / "own.db").exists() == (plans_charged == 1)
    told = [one.getMessage() for one in caplog.records]
    assert sum("charged: plan" in one for one in told) == plans_charged
    assert any("refused" in one for one in told) == (plans_charged == 0)
