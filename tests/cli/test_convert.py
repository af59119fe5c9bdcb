"""`leakcap convert`: guarantees on the command line."""

from __future__ import annotations

import json

import pytest

from command_line import Done, leakcap
from leakcap.cli.expressions import guarantee, target
from leakcap.definition import ApproxDP, LevelCapacity, PureDP
from leakcap.errors import InvalidParameter


def run(*args: str) -> Done:
    return leakcap("convert", *args)


def test_a_conversion_with_its_route() -> None:
    done = run("PureDP(1)", "MIDP")
    assert done.returncode == 0, done.stderr
    assert "0.1233015614" in done.stdout
    assert "Dong, Durfee & Rogers 2020" in done.stdout
    assert "Cuff & Yu 2016" in done.stdout
    record = json.loads(run("MIDP(0.1)", "ApproxDP(epsilon=0.5)", "--json").stdout)
    assert record["value"] == pytest.approx(0.329776, abs=1e-6)
    assert record["steps"]


def test_what_does_not_follow_is_refused() -> None:
    done = run("MIDP(1)", "PureDP")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "does not follow" in done.stderr


def test_expressions_are_read_and_never_run() -> None:
    assert guarantee("ApproxDP(1.0, delta=1e-6)") == ApproxDP(1.0, 1e-6)
    assert target("LevelCapacity(alpha=inf)")[0] is LevelCapacity
    assert guarantee("PureDP(e)") == PureDP(2.718281828459045)
    bad = ["", "PureDP", "PureDP(", "PureDP()", "PureDP(1, 2, 3)", "PureDP(x)", "PureDP(1).epsilon"]
    bad += ["Definition(1)", "__import__('os')", "PureDP(*[1])", "PureDP(**{})", "open('x')", "PureDP(-1)"]
    bad += ["(" * 500]
    for text in bad:
        with pytest.raises(InvalidParameter):
            guarantee(text)
    with pytest.raises(InvalidParameter, match="name its parameters"):
        target("LevelCapacity(2)")
