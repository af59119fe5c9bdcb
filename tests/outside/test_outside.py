"""Statistics of other packages: they work everywhere, or are refused by name before anything is spent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from outside.package import STATISTIC, WITHOUT, WITHOUT_A_PRICE, installed
from warmed import done_warmed

QUERIES = """
policy = "policy.toml"
data = "v.csv"
ledger = "l.db"
[[query]]
name = "n"
statistic = "present"
column = "stay"
epsilon = 1.0
"""
POLICY = """
dataset = "visits"
neighbours = "add-remove-one"
[caps]
epsilon = 5.0
[columns]
stay = { bounds = [0.0, 60.0] }
"""


def run(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    paths = [str(place), str(Path(__file__).parents[1]), *filter(None, sys.path)]
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *words], env=settings, capture_output=True, text=True, check=False, cwd=place
    )


FORKED = """
import runpy, sys, warnings
from leakcap.release.statistics import statistics
assert not statistics.cache_info().currsize, "the packages were looked for before the fork"
warnings.simplefilter("error")
sys.path.insert(0, {place!r})
runpy.run_module({module!r}, run_name="__main__")
"""


def used(place: Path, *, fresh: bool = False) -> dict[str, Any]:
    if fresh:
        ended = run(place, "-W", "error", "-m", "outside.uses")
    else:
        ended = done_warmed(FORKED.format(place=str(place), module="outside.uses"), folder=place)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found: dict[str, Any] = json.loads(ended.stdout.strip().splitlines()[-1])
    return found


def test_a_statistic_and_a_noise_of_another_package_work_everywhere(tmp_path: Path) -> None:
    installed(tmp_path, "others", STATISTIC, "others:Present")
    found = used(tmp_path, fresh=True)
    assert found["error"] == 3.0  # discrete Laplace of scale 1, as the package says
    assert (found["dry"], found["offered"]) == (2, 1)
    assert found["recorded"] >= 1
    # 200 values are known in ward a and none in b; noise of scale 1 goes beyond 40 once in 10¹⁷.
    assert [abs(value - true) < 40 for value, true in zip(found["values"], (200, 0), strict=True)] == [
        True
    ] * 2
    assert abs(found["by_sql"] - 200) < 40
    assert found["repeated"]
    assert found["mechanism"] == "noise of another package"
    assert found["off"] < 1e-11  # no auditor knows the law: all that its ε allows is charged


def test_the_command_line_and_its_reports_know_it_too(tmp_path: Path) -> None:
    installed(tmp_path, "others", STATISTIC, "others:Present")
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "release.toml").write_text(QUERIES)
    (tmp_path / "v.csv").write_text("stay\n" + "1.5\n" * 50)
    for words in (
        ("preview", "release.toml"),
        ("release", "release.toml", "--report", "r.html"),
        ("budget", "release.toml"),
        ("sql", "SELECT PRESENT(stay) FROM visits", "--epsilon", "1", "--preview"),
        ("ledger", "verify", "sqlite:///l.db"),
    ):
        if words[0] == "release":  # as a user starts it
            ended = run(tmp_path, "-m", "leakcap_command", *words)
        else:
            code = FORKED.format(place=str(tmp_path), module="leakcap_command")
            ended = done_warmed(code, *words, folder=tmp_path)
        assert ended.returncode == 0, (words, ended.stdout[-500:], ended.stderr[-2000:])
    assert "present" in (tmp_path / "r.html").read_text()


def test_without_a_contribution_nothing_is_planned_or_spent(tmp_path: Path) -> None:
    installed(tmp_path, "others", WITHOUT, "others:Present")
    found = used(tmp_path)
    assert found["refused"].startswith("`contribution` of a measurement of statistic `present` is missing")
    assert found["entries"] == 0


def test_noise_without_an_epsilon_and_without_an_event_is_refused(tmp_path: Path) -> None:
    installed(tmp_path, "others", WITHOUT_A_PRICE, "others:Present")
    found = used(tmp_path)
    assert found["refused"].startswith(
        "The noise of `count`, noise of another package, has no ε and no event"
    )
    assert found["entries"] == 0


@pytest.mark.parametrize(
    ("text", "entry", "says"),
    [
        (STATISTIC, "others:Absent", "cannot be loaded (AttributeError)"),
        ('raise ValueError("secret")', "others:Present", "cannot be loaded (ValueError)"),
        (STATISTIC, "others:OwnNoise", "is no subclass of `Statistic`"),
        (
            STATISTIC.replace('name = "present"', 'name = "count"'),
            "others:Present",
            "the name of another, `count`",
        ),
        (STATISTIC.replace('"present"', '"a b"'), "others:Present", "needs a `name`"),
        (STATISTIC.replace('"PRESENT"', '"AVG"'), "others:Present", "the SQL word `AVG`"),
        (STATISTIC.replace('"PRESENT"', '"present"'), "others:Present", "the SQL word `present`"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(tmp_path: Path, text: str, entry: str, says: str) -> None:
    """Silently left out it would be a query that fails, or means another thing, on the next machine."""
    installed(tmp_path, "others", text, entry)
    message = used(tmp_path)["error"]
    assert message.startswith(f"The statistic `{entry}` ")
    assert says in message
    assert message.endswith("Mend or uninstall its package.")
    assert "secret" not in message
