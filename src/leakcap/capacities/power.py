"""Gaussian noise under a power constraint: Shannon and Hartley's formula and its relatives of order α.

With ρ = P/(dσ²) for each of d coordinates, C = d·c(ρ), where at order one c = ½ ln(1 + ρ) and else

    c = ½ ln θ + ln(θ/s)/(2(α−1)) + αρ/(2s),   s = αθ + 1 − α,   θ = 1 + u,
    u = (ρ − 1/α)/2 + √((ρ − 1/α)²/4 + ρ),

the capacity of order α of Augustin and Csiszár, sup_π min_Q E_π[D_α(W_X ‖ Q)].
Proof: docs/theory/additive-noise.md. Source: Shannon 1949; Nakiboğlu 2019.
"""

from __future__ import annotations

import math
from numbers import Real

import numpy as np

from leakcap.adversary import InputCost, PowerConstraint
from leakcap.bound import Bound
from leakcap.capacities.cost import input_cost
from leakcap.capacities.verb import solver
from leakcap.channel import Channel
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidParameter, require
from leakcap.numeric.rounding import down, up

__all__ = ["gaussian_power_capacity", "laplace_power_capacity", "power_constraint", "require_order"]

_OPERATIONS = 64
_SOURCE = "Shannon 1949; Nakiboğlu 2019"


def gaussian_power_capacity(alpha: float, ratio: float, dimensions: int = 1) -> Bound:
    """The capacity of order α in (0, ∞], in nats, of `dimensions` Gaussian noises at power P: `ratio` = P/σ².

    The supremum over laws of X with E‖X‖² ≤ P, whatever their shape; a Gaussian one attains it. At α = 1
    it is d/2·ln(1 + P/(dσ²)), which is at most P/(2σ²) and tends to it as d grows.

    >>> round(gaussian_power_capacity(1.0, 3.0).upper, 12) == round(math.log(2.0), 12)
    True
    """
    owner = "gaussian_power_capacity"
    require(isinstance(alpha, Real) and alpha > 0, "alpha", owner, "be positive (∞ allowed)", alpha)
    require(0.0 <= ratio < math.inf, "ratio", owner, "be a finite number ≥ 0", ratio)
    whole = isinstance(dimensions, int) and dimensions >= 1
    require(whole, "dimensions", owner, "be an integer of at least 1", dimensions)
    value = dimensions * _of_one(float(alpha), ratio / dimensions) if ratio > 0.0 else 0.0
    low, high = max(down(value, _OPERATIONS), 0.0), up(value, _OPERATIONS)
    high = math.nextafter(high, math.inf) if ratio > 0.0 else 0.0
    return Bound(low, high, "closed form: Gaussian secrets, Gaussian noise", _SOURCE)


def _of_one(alpha: float, ratio: float) -> float:
    if alpha == 1.0:
        return 0.5 * math.log1p(ratio)
    inverse = 0.0 if math.isinf(alpha) else 1.0 / alpha
    half = 0.5 * (ratio - inverse)
    root = math.hypot(half, math.sqrt(ratio))
    gain = half + root if half > 0.0 else ratio / (root - half)
    if math.isinf(alpha):
        return 0.5 * math.log1p(gain) + ratio / (2.0 * gain)
    t = alpha - 1.0
    bend = math.log1p(t * gain / (1.0 + gain)) / (2.0 * t)
    return 0.5 * math.log1p(gain) - bend + alpha * ratio / (2.0 * (1.0 + alpha * gain))


def laplace_power_capacity(ratio: float) -> Bound:
    """Shannon capacity of Laplace noise of variance N under a power of P, in nats: `ratio` = P/N.

    Gaussian noise is the worst of its variance and a Gaussian output has the most entropy:
    ½ ln(1 + P/N) ≤ C ≤ ½ ln(1 + P/N) + ½ ln(π/e).

    >>> round(laplace_power_capacity(1.0).width, 6)
    0.072365
    """
    require(0.0 <= ratio < math.inf, "ratio", "laplace_power_capacity", "be a finite number ≥ 0", ratio)
    shannon = 0.5 * math.log1p(ratio)
    high = shannon + 0.5 * (math.log(math.pi) - 1.0) if ratio > 0.0 else 0.0
    method = "between Gaussian noise of the same variance and a Gaussian output"
    return Bound(
        max(down(shannon, _OPERATIONS), 0.0), up(high, _OPERATIONS, 2.0 + high), method, "Shannon 1949"
    )


def require_order(divergence: Divergence, *orders: float) -> float:
    """The order of a `Renyi` ruler (one of `orders`, where there are any), or `InvalidParameter`.

    >>> require_order(Renyi(2.0))
    2.0
    """
    allowed = isinstance(divergence, Renyi) and (not orders or divergence.alpha in orders)
    if not (allowed and isinstance(divergence, Renyi)):
        which = "`Renyi(1)`, the mutual information" if orders else "a `Renyi` order"
        raise InvalidParameter(f"`divergence` under a power constraint must be {which}. Got {divergence!r}.")
    return divergence.alpha


@solver.register
def power_constraint(adversary: PowerConstraint, channel: Channel, divergence: Divergence) -> Bound:
    """A finite channel whose inputs are numbers: mutual information with their squares as costs.

    >>> from leakcap.capacities import capacity
    >>> pulse = Channel([[1.0, 0.0], [0.0, 1.0]], inputs=[0.0, 2.0])
    >>> round(capacity(pulse, Renyi(1.0), PowerConstraint(0.4)).upper, 8)  # h(0.1)
    0.32508297
    """
    require_order(divergence, 1.0)
    if adversary.dimensions != 1:
        raise InvalidParameter(
            f"`dimensions` of `PowerConstraint` must be 1 for a finite channel. Got {adversary.dimensions}. "
            "Give the squared lengths as costs: `InputCost(costs, at_most)`."
        )
    numbers = [float(x) if isinstance(x, Real | np.number) else math.nan for x in channel.inputs]
    if not all(math.isfinite(x) for x in numbers):
        raise InvalidParameter(
            "inputs of a channel under a power constraint must be finite numbers. Got other labels. "
            "Label them with `Channel.relabelled`, or give `InputCost(costs, at_most)`."
        )
    return input_cost(InputCost(tuple(x * x for x in numbers), adversary.power), channel, divergence)
