"""Every public bound is outward: walked by catalogue, against balls of 400 bits."""

from __future__ import annotations

from pathlib import Path

import flint
import pytest

import outward.check_accounting
import outward.check_channels
import outward.check_disclosure
import outward.check_mechanisms  # noqa: F401
from leakcap.bound import Bound
from outward.balls import BITS, Case, ball, holds
from outward.elsewhere import ELSEWHERE
from outward.registry import CHECKS, Check, public_bounds


def failures(check: Check, full: bool) -> tuple[int, list[str]]:
    tested, wrong = 0, []
    with flint.ctx.workprec(BITS):
        for case in check.cases(full):
            tested += 1
            if why := holds(case):
                wrong.append(f"{case.what}: {why} ({case.bound.method})")
    return tested, wrong


@pytest.mark.parametrize("check", CHECKS.values(), ids=lambda check: check.name)
def test_bounds_are_outward(check: Check) -> None:
    tested, wrong = failures(check, full=False)
    assert tested > 0
    assert not wrong, f"{len(wrong)} of {tested}:\n" + "\n".join(wrong[:12])


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS.values(), ids=lambda check: check.name)
def test_bounds_are_outward_over_their_whole_range(check: Check) -> None:
    tested, wrong = failures(check, full=True)
    assert tested > 0
    assert not wrong, f"{len(wrong)} of {tested}:\n" + "\n".join(wrong[:12])


def test_every_public_function_that_returns_a_bound_is_checked() -> None:
    """A new bound is in the family by existing: without a check it fails here."""
    public, checked = public_bounds(), {name for check in CHECKS.values() for name in check.of}
    assert len(public) >= 95
    assert public - checked - set(ELSEWHERE) == set()
    assert checked | set(ELSEWHERE) <= public, "what is checked no longer exists"
    root = Path(__file__).parents[2]
    for name, where in ELSEWHERE.items():
        path, _, test = where.partition("::")
        assert f"def {test}(" in (root / path).read_text(encoding="utf-8"), (name, where)


def test_a_bound_short_by_a_rounding_is_caught() -> None:
    """The planted bug: the nearest double instead of the doubles around it."""
    with flint.ctx.workprec(BITS):
        third = ball(1) / 3
        assert holds(Case("planted", Bound.exact(1 / 3, method="m"), third))
        assert holds(Case("planted", Bound(0.3, 0.4, "m"), third))
        assert not holds(Case("right", Bound(0.3333333333333333, 0.33333333333333337, "m"), third))
