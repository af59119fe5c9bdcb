"""How much noise a guarantee needs: any loss, any of its measures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from leakcap.accounting.loss import PrivacyLoss
from leakcap.accounting.normal import GaussianLoss
from leakcap.errors import InvalidParameter, require
from leakcap.numeric.rounding import up

__all__ = ["Calibrated", "calibrate"]

_RATIO = 2.0 ** (1.0 / 32.0)
_FARTHEST = 1e6
_FINEST = 1e-9

Measure = Callable[[PrivacyLoss], float]


@dataclass(frozen=True)
class Calibrated:
    """A noise parameter that keeps a guarantee, the loss it has, and the certified end that shows it."""

    value: float
    loss: PrivacyLoss
    found: float
    target: float


def calibrate(
    make: Callable[[float], object],
    *,
    epsilon: tuple[float, float] | None = None,
    rho: float | None = None,
    advantage: float | None = None,
    nats: float | None = None,
    between: tuple[float, float] = (2.0**-40, 2.0**40),
    tolerance: float = 1e-6,
) -> Calibrated:
    """The noise parameter nearest to the target on its safe side, by bisection on certified upper ends.

    `make` gives, for a positive parameter, a `PrivacyLoss` or a mechanism. What the parameter does is seen
    from the ends: a scale of noise tells less as it grows, a sampling rate more. Exactly one target is named,
    and kept in both directions: `epsilon=(ε, δ)`; `rho`, zCDP's sup D_α/α, at most 2.2 % above the truth
    unless all noise is Gaussian; `advantage`, the best test's; `nats`, KL, which caps the mutual information.
    What is returned keeps the target by a certified bound, also where the measure is not monotone; it is
    within `tolerance` of a parameter that does not, relative to itself. `between` is where it is looked for.
    Raises `InvalidParameter` where no parameter there keeps the target. Source: Balle & Wang 2018, algorithm
    1, for one Gaussian.

    >>> from leakcap.mechanism import Gaussian
    >>> round(calibrate(Gaussian, epsilon=(1.0, 1e-5)).value, 4)
    3.7306
    >>> step = lambda sigma: PrivacyLoss.of_mechanism(Gaussian(sigma)).sampled(0.01)
    >>> run = calibrate(lambda sigma: step(sigma) ** 1000, epsilon=(1.0, 1e-5))
    >>> run.loss.epsilon_both(1e-5).upper <= 1.0
    True
    """
    measure, target = _measure(epsilon, rho, advantage, nats, tolerance)
    low, high = between
    require(0.0 < tolerance < 1.0, "tolerance", "calibrate", "lie strictly between 0 and 1", tolerance)
    require(0.0 < low < high < math.inf, "between", "calibrate", "be two positive numbers in order", between)
    seen: dict[float, tuple[PrivacyLoss, float]] = {}

    def kept(x: float) -> bool:
        loss = _loss(make(x))
        seen[x] = (loss, measure(loss))
        return seen[x][1] <= target

    good, bad = _bracket(kept, seen, low, high)
    if good is None:
        raise InvalidParameter(
            f"`make` of `calibrate` must keep the target for a parameter between {low:g} and {high:g}. "
            f"The least found is {min(value for _, value in seen.values()):.6g} where {target:g} is asked. "
            "Ask for less, or look elsewhere by `between`."
        )
    while bad is not None and abs(good - bad) > tolerance * good:
        middle = math.sqrt(good) * math.sqrt(bad)
        if not min(good, bad) < middle < max(good, bad):
            break
        good, bad = (middle, bad) if kept(middle) else (good, middle)
    return Calibrated(good, *seen[good], target)


def _loss(made: object) -> PrivacyLoss:
    return made if isinstance(made, PrivacyLoss) else PrivacyLoss.of_mechanism(made)


def _bracket(
    kept: Callable[[float], bool], seen: dict[float, tuple[PrivacyLoss, float]], low: float, high: float
) -> tuple[float | None, float | None]:
    """A parameter that keeps the target and one that does not, each where there is one, by growing strides.

    First towards where the measure falls, or rises if the target is kept; both ways where it is the same.
    """
    here = min(max(1.0, low), high)
    other = 2.0 * here if 2.0 * here <= high else 0.5 * here if 0.5 * here >= low else math.sqrt(low * here)
    start = kept(here)
    kept(other)
    change = (seen[other][1] - seen[here][1]) * (other - here) if seen[other][1] != seen[here][1] else 0.0
    first = 2.0 if (change <= 0.0) != start else 0.5
    for factor in (first, 1.0 / first) if change == 0.0 else (first,):
        last = here
        while True:
            x = min(max(last * factor, low), high)
            try:
                now = kept(x) if x != last else start
            except InvalidParameter:
                break
            if now != start:
                return (x, last) if now else (last, x)
            if x == last:
                break
            last, factor = x, factor if factor in (4.0, 0.25) else factor**2
    return (last, None) if start else (None, last)


def _measure(
    epsilon: tuple[float, float] | None,
    rho: float | None,
    advantage: float | None,
    nats: float | None,
    tolerance: float,
) -> tuple[Measure, float]:
    named = {"epsilon": epsilon, "rho": rho, "advantage": advantage, "nats": nats}
    given = [name for name, value in named.items() if value is not None]
    if len(given) != 1:
        raise InvalidParameter(
            "one target of `calibrate` must be named: epsilon, rho, advantage or nats. "
            f"Got {', '.join(given) or 'none'}."
        )
    finest = max(min(tolerance, 1e-4), _FINEST)
    if epsilon is not None:
        if not isinstance(epsilon, tuple) or len(epsilon) != 2:
            raise InvalidParameter(f"`epsilon` of `calibrate` must be a pair (ε, δ). Got {epsilon!r}.")
        at, delta = epsilon
        require(0.0 <= at < math.inf, "epsilon", "calibrate", "be finite and not negative", at)
        require(0.0 <= delta < 1.0, "delta", "calibrate", "lie in [0, 1)", delta)
        if delta == 0.0:
            return (lambda loss: loss.epsilon_both(0.0).upper), at
        return (lambda loss: loss.delta_both(at, finest).upper), delta
    if advantage is not None:
        require(0.0 < advantage < 1.0, "advantage", "calibrate", "lie strictly between 0 and 1", advantage)
        return (lambda loss: loss.delta(0.0, finest).upper), advantage
    if rho is not None:
        require(0.0 < rho < math.inf, "rho", "calibrate", "be positive and finite", rho)
        return _concentrated, rho
    assert nats is not None
    require(0.0 < nats < math.inf, "nats", "calibrate", "be positive and finite", nats)
    return (lambda loss: _both(loss, 1.0)), nats


def _both(loss: PrivacyLoss, alpha: float) -> float:
    return max(loss.renyi(alpha).upper, loss.reverse.renyi(alpha).upper)


def _concentrated(loss: PrivacyLoss) -> float:
    """sup over α > 1 of D_α/α, from above: D_α grows with α, so that orders bound all between them."""
    if all(isinstance(part, GaussianLoss) for part, _ in loss.parts):
        return up(0.5 * loss.renyi(2.0).upper, 2)
    top, most, alpha = _both(loss, math.inf), 0.0, 1.0
    if math.isinf(top):
        raise InvalidParameter(
            "`rho` of `calibrate` needs losses that are bounded, or Gaussian noise alone. Ask for `epsilon`."
        )
    while alpha < _FARTHEST and top / alpha > most:
        most = max(most, up(_both(loss, alpha * _RATIO) / alpha, 4))
        alpha *= _RATIO
    return max(most, up(top / alpha, 4)) if top / alpha > most else most
