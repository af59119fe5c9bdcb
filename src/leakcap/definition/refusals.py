"""Why some guarantees do not follow from others: counter-examples, and what can be asked instead."""

from __future__ import annotations

import math

from leakcap.definition.approximate import ApproxDP, DeltaDP
from leakcap.definition.base import Definition
from leakcap.definition.gaussian import GaussianDP
from leakcap.definition.information import KLDP, MIDP, LevelCapacity, MaximalLeakage
from leakcap.definition.pure import PureDP
from leakcap.definition.renyi import RenyiDP, ZeroConcentratedDP

__all__ = ["refusal"]

_REVEALING = (MIDP, DeltaDP, ApproxDP, MaximalLeakage)
_SMOOTH = (KLDP, RenyiDP, ZeroConcentratedDP, GaussianDP, LevelCapacity)
_ERASURE = (
    "a channel that reveals the secret with probability δ and else shows nothing keeps it "
    "(δ ln k nats, total variation δ), yet its likelihood ratios are infinite"
)
_NOISE = "the Gaussian mechanism keeps it, yet its likelihood ratios are unbounded"
_INSTEAD = "Ask for `ApproxDP` at some `epsilon=`, or for `DeltaDP`"


def refusal(source: Definition, target: type[Definition]) -> tuple[str, bool]:
    """The message, and whether a counter-example (rather than a missing edge) stands behind it.

    >>> refusal(MIDP(0.1), PureDP)[1]
    True
    """
    head = f"{target.__name__} does not follow from {source!r}"
    reason = _counterexample(source, target)
    if reason:
        return f"{head}: {reason}. {_INSTEAD}.", True
    return f"{head} by any edge that leakcap knows for these parameters. {_INSTEAD}.", False


def _counterexample(source: Definition, target: type[Definition]) -> str:
    strict = (PureDP, *_SMOOTH[:-1])
    if isinstance(source, _REVEALING) and source.threshold > 0.0 and issubclass(target, strict):
        return _ERASURE
    if isinstance(source, _SMOOTH) and issubclass(target, PureDP):
        return _NOISE
    if isinstance(source, LevelCapacity) and issubclass(target, strict):
        return _ERASURE
    if isinstance(source, DeltaDP | ApproxDP) and issubclass(target, MIDP | MaximalLeakage | LevelCapacity):
        return (
            "revealing one of k values with probability δ leaks δ ln k nats, unbounded in k; say `values=k`"
        )
    if (
        isinstance(source, MIDP | KLDP)
        and issubclass(target, MaximalLeakage)
        and math.isfinite(source.threshold)
    ):
        return "rare outputs that each tell a value add up in maximal leakage, not in Shannon information"
    return ""
