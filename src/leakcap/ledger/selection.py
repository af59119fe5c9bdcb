"""The best of several runs, where it is drawn how many: what follows from a `RepeatAndSelectDpEvent`.

A mechanism runs K times, each time with noise of its own, and the best output alone is released, by an order
of outputs that is fixed beforehand; so hyperparameters are tuned. K has the mean that the event says, and the
truncated negative binomial law of its shape η (0: logarithmic, 1: geometric); where the shape is ``inf``
Poisson's law, under which there may be no run, and that is said.

    D'_λ ≤ D_λ + (1+η)·t + ln E[K]/(λ−1)                        where (e^x − 1)·δ(t) ≤ e^t − 1
    e^((λ−1)D'_λ) − 1 ≤ E[K]·e^((λ−1)·E[K]·δ(s))·(e^((λ−1)D_λ) − 1)    Poisson, e^s = λ/(λ−1)

D_λ and δ are one run's, in the larger direction, and e^(−x) is the law's γ. The proof stands in
`docs/theory/accounting.md`. Source: Liu & Talwar 2019; Papernot & Steinke 2022, theorems 2 and 6, whose
t = (1−1/κ)·D_κ + x/κ, at any order κ, is what an order says of δ(t); the last line is below theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from leakcap.errors import InvalidParameter
from leakcap.ledger.curve import ORDERS, curve_of_pure
from leakcap.ledger.event_kinds import NO_RHO, Event, Guarantee, fraction
from leakcap.ledger.implied import rho_of_pure
from leakcap.numeric import float_up, up
from leakcap.numeric.enclosure import Digits, Interval, enclose
from leakcap.numeric.rounding import down

if TYPE_CHECKING:
    from leakcap.accounting import PrivacyLoss

__all__ = ["POISSON", "best_run", "check_selection", "shape_of"]

POISSON = "inf"
"""The shape of Poisson's law, as it stands in an event."""
_EXACT = tuple(Fraction(str(order)) for order in ORDERS)
_ASKED = (1, 2, 8)
"""Orders of which each says a δ: any are sound."""
_HALVINGS = 24
_FLATTEST = Fraction(1, 10**6)


def shape_of(event: Event) -> Fraction | None:
    """The shape η of the law of how many runs there are; None for Poisson's.

    >>> shape_of({"name": "RepeatAndSelectDpEvent", "shape": "1/2"})
    Fraction(1, 2)
    """
    return None if event["shape"] == POISSON else fraction(event, "shape")


def check_selection(event: Event) -> None:
    """That there is a law of this mean and shape. Raises `InvalidParameter`."""
    mean, shape = fraction(event, "mean"), shape_of(event)
    if mean < 1 and (shape is not None or mean == 0):
        rule = f"above 0, as its shape is `{POISSON}`" if shape is None else "at least 1: there is a run"
        raise InvalidParameter(f"`mean` of `{event['name']}` must be {rule}.")


def best_run(event: Event, run: Guarantee, loss: PrivacyLoss | None) -> Guarantee:
    """What follows for the best of several runs from what follows from one, and from its privacy loss where
    one is known that dominates it.

    >>> run = Guarantee(Fraction(1), Fraction(0), curve_of_pure(1.0), Fraction(1, 2))
    >>> often = {"name": "RepeatAndSelectDpEvent", "mean": "10", "shape": "1"}
    >>> round(float(best_run(often, run, None).epsilon), 6)  # below (2 + η)ε
    2.591344
    """
    mean, shape = fraction(event, "mean"), shape_of(event)
    if shape is not None and mean == 1:
        return run
    if run.delta and run.epsilon is None:
        raise InvalidParameter(
            f"`event` of `{event['name']}` has a δ of {float(run.delta):g} and no ε beside it: nothing "
            "follows for the best of several runs. Say it as a `ProfileDpEvent`, by points of ε and δ."
        )
    epsilon = None if run.epsilon is None else run.epsilon + _more_odds(run.epsilon, mean, shape)
    pure = None if epsilon is None else float_up(epsilon)
    most = (math.inf,) * len(ORDERS) if pure is None else curve_of_pure(pure)
    rho = None if pure is None else Fraction(rho_of_pure(pure))
    if run.delta:  # of any run at all: its law but for that is one of ε alone
        assert rho is not None
        return Guarantee(epsilon, mean * run.delta, most, rho)
    curve = _poisson(mean, run, loss) if shape is None else _truncated(mean, shape, run, loss)
    for k in reversed(range(len(curve) - 1)):  # a divergence grows with its order
        curve[k] = min(curve[k], curve[k + 1])
    return Guarantee(epsilon, Fraction(0), tuple(map(min, curve, most)), NO_RHO if rho is None else rho)


def _more_odds(epsilon: Fraction, mean: Fraction, shape: Fraction | None) -> Fraction:
    """By how much the best of several runs has a larger ε than one, rounded up: so much is attained."""
    if not epsilon:
        return Fraction(0)
    if shape is not None:
        return (1 + shape) * Fraction(_odds(epsilon, _rarity(mean, shape)))
    return mean * Fraction(enclose(lambda d: 1 - 2 / (d.of(epsilon).exp() + 1))[1])


def _odds(epsilon: Fraction, x: float) -> float:
    """The t of δ(t) = (e^ε − e^t)/(1 + e^ε), randomised response's, rounded up."""

    def exact(d: Digits) -> Interval:
        large, rare = d.of(epsilon).exp(), (-d.of(x)).exp()
        return ((rare + large) / (1 + rare * large)).log()

    return enclose(exact)[1]


@lru_cache(maxsize=256)
def _rarity(mean: Fraction, shape: Fraction) -> float:
    """x = ln(1/γ) of the truncated negative binomial law of this mean, above 1, and shape, rounded up.

    At one γ the mean grows with the shape, from (e^x − 1)/x ≥ e^(x/2) on, so that a smaller shape has no
    smaller x.
    """
    eta = shape if shape >= _FLATTEST else Fraction(0)

    def spare(d: Digits, x: float) -> Interval:
        at = d.of(x)
        below = (1 - (-eta * at).exp()) / eta if eta else at
        return (at.exp() - 1) / below - mean

    low, high = 0.0, up(2.0 * math.log(float_up(mean)), 8)
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        enough = enclose(lambda d, x=middle: spare(d, x))[0] >= 0.0  # type: ignore[misc]
        low, high = (low, middle) if enough else (middle, high)
    return high


def _tilt(x: float, run: Guarantee, loss: PrivacyLoss | None) -> float:
    """A t with (e^x − 1)·δ(t) ≤ e^t − 1, as small as is known."""
    known = [
        float_up((1 - 1 / at) * Fraction(nats) + Fraction(x) / at)
        for at, nats in zip(_EXACT, run.curve, strict=True)
        if nats < math.inf
    ]
    if run.epsilon is not None:
        known.append(_odds(run.epsilon, x))
    low, high = 0.0, min(known, default=math.inf)
    if loss is None or math.isinf(high):
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        delta = loss.delta_both(middle).upper
        enough = up(delta * math.expm1(x), 8) <= down(math.expm1(middle), 4)
        low, high = (low, middle) if enough else (middle, high)
    return high


def _truncated(mean: Fraction, shape: Fraction, run: Guarantee, loss: PrivacyLoss | None) -> list[float]:
    """The curve where there is a run at least; ∞ at order 1."""
    tilt = _tilt(_rarity(mean, shape), run, loss)

    def at(order: Fraction, nats: float) -> float:
        often = (1 + shape) * Fraction(tilt)
        return enclose(lambda d: d.of(nats) + often + d.of(mean).log() / (order - 1))[1]

    return _above_one(run, at)


def _poisson(mean: Fraction, run: Guarantee, loss: PrivacyLoss | None) -> list[float]:
    """The curve where there may be no run; ∞ at order 1."""

    def at(order: Fraction, nats: float) -> float:
        delta = _delta_at(order / (order - 1), run, loss)

        def exact(d: Digits) -> Interval:
            often = mean * ((order - 1) * mean * d.of(delta)).exp()
            return (1 + often * (((order - 1) * d.of(nats)).exp() - 1)).log() / (order - 1)

        return enclose(exact)[1]

    return _above_one(run, at)


def _above_one(run: Guarantee, at: Callable[[Fraction, float], float]) -> list[float]:
    later = zip(_EXACT[1:], run.curve[1:], strict=True)
    return [math.inf, *(at(order, nats) if nats < math.inf else math.inf for order, nats in later)]


def _delta_at(power: Fraction, run: Guarantee, loss: PrivacyLoss | None) -> float:
    """The δ of one run at e^s, which is `power`, as small as is known."""
    from leakcap.definition import ApproxDP, RenyiDP
    from leakcap.definition.theorems.renyi import renyi_to_delta_at

    s, known = enclose(lambda d: d.of(power).log())[0], [1.0]
    if loss is not None:
        return min(1.0, loss.delta_both(s).upper)
    if run.epsilon is not None:
        large = run.epsilon
        known.append(
            enclose(lambda d: (d.of(large).exp() - power).positive_part() / (d.of(large).exp() + 1))[1]
        )
    for order in _ASKED:
        said = renyi_to_delta_at(RenyiDP(order, run.curve[ORDERS.index(order)]), epsilon=s)
        known += [said.delta] if isinstance(said, ApproxDP) else []
    return min(known)
