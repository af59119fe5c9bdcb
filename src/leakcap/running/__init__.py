"""Running totals: counts by period, released one period after the other for one charge.

    RunningQuestion       what is counted by which periods, over which horizon, at what price
    release_running       the steps that are complete: a `ReleasedRunningCount`
    RunningPlan           the noise of all steps together
    SquareRootFactor      the square root of running totals, on integers

See `docs/how-to/running.md` and, for the proofs, `docs/theory/running.md`.
"""

from __future__ import annotations

from leakcap.running.answer import ReleasedRunningCount
from leakcap.running.factor import SquareRootFactor
from leakcap.running.plan import RunningPlan
from leakcap.running.question import RunningQuestion
from leakcap.running.release import release_running

__all__ = ["ReleasedRunningCount", "RunningPlan", "RunningQuestion", "SquareRootFactor", "release_running"]
