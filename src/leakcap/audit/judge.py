"""A claim against what was certified: violated, consistent, or not enough samples to tell."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from leakcap.audit.certify import (
    Holdout,
    LeakLimits,
    certify_delta,
    certify_epsilon,
    certify_gain,
    certify_variation,
)
from leakcap.audit.plan import AuditPlan
from leakcap.audit.value import Judgement, Verdict
from leakcap.definition import (
    MIDP,
    ApproxDP,
    Definition,
    DeltaDP,
    MaximalLeakage,
    PureDP,
    convert,
)
from leakcap.errors import InvalidParameter, NoRoute

__all__ = ["judge", "refutable"]

_POWER = 2.3
"""(1 + 0.84/1.645)²: with so many times the samples that would just do, four audits in five tell."""


def refutable(claim: Definition, epsilon: float | None = None) -> Definition:
    """The claim itself where samples speak to it directly, else what follows from it and can be tested.

    For a pair of inputs these are `PureDP`, `ApproxDP`, `DeltaDP`, `MIDP` and `MaximalLeakage`; a claim of
    another kind is tested by its δ at `epsilon`, or by its information where it has none.

    >>> refutable(PureDP(1.0))
    PureDP(epsilon=1.0)
    """
    if isinstance(claim, PureDP | ApproxDP | MIDP | MaximalLeakage):
        return claim
    if isinstance(claim, DeltaDP):
        return ApproxDP(0.0, claim.delta)
    return _implied(claim, epsilon)


# Equal claims, 1 and 1.0, share the entry of the first; a claim that stays as it is does not come here.
@functools.lru_cache(maxsize=256)
def _implied(claim: Definition, epsilon: float | None) -> Definition:
    wanted: tuple[Callable[[], Definition], ...] = (
        lambda: convert(claim, ApproxDP, epsilon=1.0 if epsilon is None else epsilon),
        lambda: convert(claim, MIDP, values=2),
    )
    for attempt in wanted:
        try:
            return attempt()
        except NoRoute:
            continue
    raise InvalidParameter(
        f"`claim` must be a guarantee that samples can refute. Got {claim!r}. "
        "Give PureDP, ApproxDP, DeltaDP, MIDP, MaximalLeakage or what implies one of them."
    )


def judge(
    claim: Definition,
    tested: Definition,
    fresh: Holdout,
    plan: AuditPlan,
    level: float,
    tolerance: float,
) -> Judgement:
    """The verdict on a claim by what `tested`, which follows from it, says of this pair."""
    quantity, claimed, limits = _measured(tested, fresh, plan, level)
    verdict = _verdict(claimed, limits, tolerance)
    needed = _needed(claimed, limits, tolerance, fresh) if verdict is Verdict.UNDECIDED else None
    return Judgement(claim, quantity, claimed, limits.lower, limits.upper, verdict, needed)


def _measured(
    tested: Definition, fresh: Holdout, plan: AuditPlan, level: float
) -> tuple[str, float, LeakLimits]:
    match tested:
        case PureDP(epsilon):
            return "ε", epsilon, certify_epsilon(fresh, plan, level)
        case ApproxDP(epsilon, delta):
            return f"δ({epsilon:g})", delta, certify_delta(fresh, *plan.claim_tests[epsilon], epsilon, level)
        case MIDP(nats):
            return "information in nats", nats, certify_gain(fresh, *plan.decoder, plan.spread, level)
        case _:
            tv = certify_variation(fresh, *plan.decoder, level)
            found = LeakLimits(math.log1p(tv.lower), math.log1p(tv.upper), math.log1p(tv.estimate))
            return "maximal leakage in nats", tested.threshold, found


def _verdict(claimed: float, limits: LeakLimits, tolerance: float) -> Verdict:
    if limits.lower > claimed:
        return Verdict.VIOLATED
    return Verdict.CONSISTENT if limits.upper <= _allowed(claimed, tolerance) else Verdict.UNDECIDED


def _allowed(claimed: float, tolerance: float) -> float:
    """The claim with its tolerance, a tenth of which is absolute: nothing is told from next to nothing."""
    return claimed * (1.0 + tolerance) + 0.1 * tolerance


def _needed(claimed: float, limits: LeakLimits, tolerance: float, fresh: Holdout) -> int:
    """Limits close in as one over the root of the number of samples; rare events as one over the number."""
    now = max(1.0, sum(fresh.sizes) / 2)
    width = max(limits.upper - limits.estimate, limits.estimate - limits.lower)
    gap = max(limits.estimate - claimed, _allowed(claimed, tolerance) - limits.estimate)
    if not math.isfinite(width) or gap <= 0.0:
        return int(10 * now)
    factor = min(max(_POWER * (width / gap) ** 2, 1.25), 1e9)
    return math.ceil(now * factor)
