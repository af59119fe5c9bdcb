"""Why some guarantees do not follow from others: counter-examples, and what can be asked instead."""

from __future__ import annotations

import math

from leakcap.definition.approximate import ApproxDP, DeltaDP
from leakcap.definition.base import Definition
from leakcap.definition.gaussian import GaussianDP
from leakcap.definition.information import KLDP, MIDP, Centre, LevelCapacity, MaximalLeakage
from leakcap.definition.pure import PureDP
from leakcap.definition.renyi import RenyiDP, ZeroConcentratedDP

__all__ = ["counterexample", "refusal"]

_REVEALING = (MIDP, DeltaDP, ApproxDP, MaximalLeakage)
_SMOOTH = (KLDP, RenyiDP, ZeroConcentratedDP, GaussianDP, LevelCapacity)
_RATIOS = (PureDP, KLDP, RenyiDP, ZeroConcentratedDP, GaussianDP)
_ERASURE = (
    "a channel that reveals the secret with probability δ and else shows nothing keeps it "
    "(δ ln k nats, total variation δ), yet its likelihood ratios are infinite"
)
_NOISE = "the Gaussian mechanism keeps it, yet its likelihood ratios are unbounded"
_INSTEAD = "Ask for `ApproxDP` at some `epsilon=`, or for `DeltaDP`"


def refusal(source: Definition, target: type[Definition]) -> str:
    """Why `target` does not follow from `source`, and what can be asked instead.

    >>> print(refusal(MIDP(0.1), PureDP)[:48])
    PureDP does not follow from MIDP(nats=0.1): a ch
    """
    head = f"{target.__name__} does not follow from {source!r}"
    reason = counterexample(source, target)
    if reason:
        return f"{head}: {reason}. {_INSTEAD}."
    return f"{head} by any edge that leakcap knows for these parameters. {_INSTEAD}."


def counterexample(source: Definition, target: type[Definition]) -> str:
    """What keeps `source` and breaks every guarantee of kind `target`; empty where none is known.

    >>> counterexample(PureDP(1.0), MIDP)
    ''
    """
    if source.threshold == 0.0 or (isinstance(source, ApproxDP) and source.delta == 0.0):
        return ""
    if isinstance(source, RenyiDP | LevelCapacity) and math.isinf(source.alpha):
        return _ERASURE if _is_sibson(source) and issubclass(target, _RATIOS) else ""
    if isinstance(source, (*_REVEALING, LevelCapacity)) and issubclass(target, _RATIOS):
        return (
            _ERASURE
            if not isinstance(source, LevelCapacity) or source.alpha <= 1.0 or _is_sibson(source)
            else ""
        )
    if isinstance(source, _SMOOTH) and issubclass(target, PureDP):
        return _NOISE
    return ""


def _is_sibson(source: Definition) -> bool:
    return isinstance(source, LevelCapacity) and source.centre is Centre.SIBSON
