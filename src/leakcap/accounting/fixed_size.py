"""Samples of fixed size, without and with replacement: pairs whose profile is that of both directions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from leakcap.accounting.binomial import binomial_masses
from leakcap.accounting.finite import FiniteLoss, finite_loss
from leakcap.accounting.labelled import LabelledLoss
from leakcap.accounting.laplacian import LaplaceLoss
from leakcap.accounting.normal import GaussianLoss
from leakcap.accounting.part import UNIT, Atoms, Ends, LossComponent, Numbers
from leakcap.accounting.sampled import SampledGaussianLoss, SampledLaplaceLoss, sampled
from leakcap.accounting.sampled_renyi import mixed_log
from leakcap.errors import InvalidParameter, require
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import down, up

__all__ = ["FixedSizeLoss", "ReplacementLoss", "fixed_size", "moved", "with_replacement"]

_LOG_PRECISION = 42.0
_BLOCK = 1 << 20
_MOST_PANELS = 1 << 14
_RARE = 1e-24
"""So many draws of one person count as telling all."""


@dataclass(frozen=True)
class FixedSizeLoss(LossComponent):
    """Symmetric noise on a sample of fixed size, one person replaced; symmetric itself.

    Above 0 the loss of (1−r)Q + rP against Q, below 0 its mirror image, and what is left is 0. With
    R = 1 − r + r·P/Q and Q's mass on R > 1,

        M(z) = 1 + ∫_{R>1} (R^z − 1)(R^{1+z} − 1) R^{−z} dQ,

    by Gauss's rule on panels that are short against noise, exponentials and oscillation.
    Source: Zhu, Dong & Wang 2022, proposition 30, for the pair; the transform follows from it.

    >>> part = FixedSizeLoss(SampledGaussianLoss(1.0, 0.01))
    >>> part.hockey_stick(0.001)[1] < part.hockey_stick(0.0)[1] < 0.00383
    True
    """

    sampled: SampledGaussianLoss | SampledLaplaceLoss

    @property
    def _distance(self) -> float:
        return self.sampled.mu if isinstance(self.sampled, SampledGaussianLoss) else self.sampled.epsilon

    def log_transform(self, z: Numbers) -> Numbers:
        """K(z)."""
        z = np.asarray(z)
        flat = z.reshape(-1)
        flat = flat if flat.dtype.kind == "c" else flat.astype(np.float64)
        result = np.empty(flat.shape, dtype=flat.dtype)
        order = np.argsort(np.abs(flat))
        sizes, start = np.abs(flat[order]), 0
        while start < flat.size:
            stop = max(int(np.searchsorted(sizes, float(sizes[start]) * 1.25 + 4.0)), start + 1)
            piece = order[start:stop]
            result[piece] = self._piece(flat[piece], float(sizes[stop - 1]))
            start = stop
        return result.reshape(z.shape)

    def _piece(self, z: Numbers, reach: float) -> Numbers:
        losses, logs = _nodes(self, 1.25 ** math.ceil(math.log(reach + 4.0) / math.log(1.25)))
        result = np.empty(z.shape, dtype=z.dtype)
        stride = max(1, _BLOCK // losses.size)
        for start in range(0, z.size, stride):
            part = z[start : start + stride, None]
            if (np.abs(part.real) + 1.0).max() * losses.max() < 30.0:
                terms = np.expm1(part * losses) * np.expm1((1.0 + part) * losses) * np.exp(-part * losses)
                result[start : start + stride] = np.log1p(terms @ np.exp(logs))
                continue
            exponents = np.concatenate(
                [(part + 1.0) * losses + logs, -part * losses + logs, np.full(part.shape, self._rest[0])],
                axis=1,
            )
            top = exponents.real.max(axis=1)
            with np.errstate(divide="ignore", under="ignore"):
                result[start : start + stride] = np.log(np.exp(exponents - top[:, None]).sum(axis=1)) + top
        return result

    @property
    def _rest(self) -> tuple[float, float]:
        """The mass at zero: its logarithm and itself, (1−r) times the total variation of the noise."""
        if isinstance(self.sampled, SampledGaussianLoss):
            apart = math.erf(self._distance / math.sqrt(8.0))
        else:
            apart = -math.expm1(-0.5 * self._distance)
        mass = (1.0 - self.sampled.rate) * apart
        return math.log(mass) if mass > 0.0 else -math.inf, mass

    def work(self, c: float, t: float) -> float:
        """The points of Gauss's rule, twice."""
        return 2.0 * _panels(self, math.hypot(c, t) + 4.0) * 24.0

    def error(self, z: Numbers) -> Floats:
        """Rounding of each term; nothing is known where panels are too many."""
        forward, back = self.sampled.error(np.asarray(z)), self.sampled.error(-1.0 - np.asarray(z))
        size = np.abs(z)
        lost = np.array([_panels(self, s + 4.0) > _MOST_PANELS for s in size.reshape(-1).tolist()])
        return np.asarray(2.0 * (forward + back) + 64.0 * UNIT + lost.reshape(size.shape))

    def envelope(self, c: float, t: float) -> float:
        """M(c): the mass at zero keeps its phase."""
        return float(self.log_transform(np.array(c)))

    def support(self) -> tuple[float, float]:
        """As far down as up."""
        top = self.sampled.support()[1]
        return -top, top

    def atoms(self) -> Atoms:
        """Zero, and both ends of Laplace noise."""
        losses, p, q = self.sampled.atoms()
        losses, p, q = losses[losses > 0.0], p[losses > 0.0], q[losses > 0.0]
        rest = np.array([self._rest[1]])
        return Atoms(
            np.concatenate([-losses, [0.0], losses]),
            np.concatenate([q, rest, p]),
            np.concatenate([p, rest, q]),
        )

    def masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """The sampled loss above zero, and its mirror image below."""
        p, q = self.sampled.masses(np.maximum(edges, 0.0))
        back_p, back_q = self.sampled.masses(np.maximum(-edges[::-1], 0.0))
        return p + back_q[::-1], q + back_p[::-1]

    def hockey_stick(self, epsilon: float) -> Ends:
        """Of the sampled loss above zero, of its mirror image below."""
        if epsilon >= 0.0:
            return self.sampled.hockey_stick(epsilon)
        return self.sampled.hockey_stick_back(epsilon)

    def hockey_stick_back(self, epsilon: float) -> Ends:
        """The same."""
        return self.hockey_stick(epsilon)

    def renyi(self, alpha: float) -> Ends:
        """ln M(α−1) over α − 1; all terms have one sign."""
        if math.isinf(alpha):
            return self.sampled.renyi(alpha)
        z = alpha - 1.0
        losses, logs = _nodes(self, abs(z) + 4.0)
        if z == 0.0:
            terms = np.expm1(losses) * losses * np.exp(logs)
        elif (abs(z) + 1.0) * float(losses.max()) < 30.0:
            terms = np.expm1(z * losses) * np.expm1((1.0 + z) * losses) * np.exp(logs - z * losses)
        else:
            value = float(self.log_transform(np.array(z)))
            error = float(self.error(np.array(z))) * 4.0
            low, high = sorted(((value - error) / z, (value + error) / z))
            return max(down(low, 4), 0.0), up(high, 4)
        total = math.fsum(terms.tolist())
        share = UNIT * (256.0 + 16.0 * (abs(z) + 2.0) * float(losses.max()) + 2.0 * float(-logs.min()))
        if z == 0.0:
            return down(total * (1.0 - share), 4), up(total * (1.0 + share), 4)
        ends = sorted(math.log1p(total * (1.0 + sign * share)) / z for sign in (-1.0, 1.0))
        return max(down(ends[0], 4), 0.0), up(ends[1], 4)

    def renyi_back(self, alpha: float) -> Ends:
        """The same."""
        return self.renyi(alpha)

    @property
    def reverse(self) -> LossComponent:
        """Itself."""
        return self


def _half(part: FixedSizeLoss, reach: float) -> float:
    """Half a panel: the noise's density, R's powers and their oscillation change by e⁴ in it at most."""
    return min(0.5, 1.0 / part._distance, 4.0 / (part._distance * (reach + 1.0)))


def _right(part: FixedSizeLoss, reach: float) -> float:
    """Beyond it the integrand of Gaussian noise is below e^{−42}·r² of all; r² is how small M − 1 can be."""
    base = 2.0 * (_LOG_PRECISION - 2.0 * math.log(part.sampled.rate)) + 8.0
    return (reach + 1.0) * part._distance + math.sqrt(base)


def _panels(part: FixedSizeLoss, reach: float) -> float:
    if isinstance(part.sampled, SampledGaussianLoss):
        return (_right(part, reach) - 0.5 * part._distance) / (2.0 * _half(part, reach)) + 1.0
    return max(1.0, part._distance * (reach + 1.0) / 4.0)


@lru_cache(maxsize=64)
def _nodes(part: FixedSizeLoss, reach: float) -> tuple[Floats, Floats]:
    """Losses above zero and the logarithms of Q's weights there."""
    x, w = np.polynomial.legendre.leggauss(24)
    panels = math.ceil(min(_panels(part, reach), _MOST_PANELS))
    mu, rate = part._distance, part.sampled.rate
    if isinstance(part.sampled, SampledGaussianLoss):
        edges = np.linspace(0.5 * mu, _right(part, reach), panels + 1)
    else:
        edges = np.linspace(0.0, mu, panels + 1)
    half = 0.5 * np.diff(edges)
    points = (edges[:-1, None] + half[:, None] * (x + 1.0)).reshape(-1)
    logs = np.log(half[:, None] * w).reshape(-1)
    if isinstance(part.sampled, SampledGaussianLoss):
        losses = mixed_log(mu * points - 0.5 * mu * mu, rate)
        return losses, logs - 0.5 * points**2 - 0.5 * math.log(2.0 * math.pi)
    losses = mixed_log(np.append(points, mu), rate)
    return losses, np.append(logs - 0.5 * (mu + points) - math.log(4.0), -mu - math.log(2.0))


def fixed_size(part: LossComponent, rate: float) -> LossComponent:
    """The loss of one record replaced, seen through a sample of the fraction `rate`.

    Its profile is δ((1−r)Q + rP ‖ Q) for ε ≥ 0 and δ(P ‖ (1−r)P + rQ) for ε < 0: convex in e^ε, hence the
    profile of a pair. Source: Zhu, Dong & Wang 2022, proposition 30.

    >>> fixed_size(finite_loss([0.75, 0.25], [0.25, 0.75]), 0.5).losses
    (-0.693147..., 0.0, 0.693147...)
    """
    require(0 < rate <= 1, "rate", "fixed_size", "be a fraction above 0", rate)
    if isinstance(part, GaussianLoss | LaplaceLoss):
        if rate == 1.0:
            return part
        on_sample = sampled(part, rate)
        assert isinstance(on_sample, SampledGaussianLoss | SampledLaplaceLoss)
        return FixedSizeLoss(on_sample)
    if not isinstance(part, FiniteLoss):
        raise InvalidParameter(
            "`part` of `fixed_size` must be a loss of Gaussian or Laplace noise or of two rows. "
            f"Got {part!r}."
        )
    p = np.array([*part.p, part.at_infinity, 0.0])
    q = np.array([*part.q, 0.0, part.at_minus_infinity])
    over = finite_loss((1.0 - rate) * q + rate * p, q)
    under = finite_loss(p, (1.0 - rate) * p + rate * q)
    high = [(l, a, b) for l, a, b in zip(over.losses, over.p, over.q, strict=True) if l > 0]
    low = [(l, a, b) for l, a, b in zip(under.losses, under.p, under.q, strict=True) if l < 0]
    at_p = math.fsum(a for _, a, _ in high + low) + over.at_infinity
    at_q = math.fsum(b for _, _, b in high + low) + under.at_minus_infinity
    # What is left has loss zero: the profile's one kink at ε = 0.
    rest_p, rest_q = max(1.0 - at_p, 0.0), max(1.0 - at_q, 0.0)
    rest = 0.5 * (rest_p + rest_q)
    points = [*low, *([(0.0, rest, rest)] if rest > 1e-15 else []), *high]
    return FiniteLoss(
        tuple(l for l, _, _ in points),
        tuple(a for _, a, _ in points),
        tuple(b for _, _, b in points),
        over.at_infinity,
        under.at_minus_infinity,
        part.units + 8.0,
    )


def moved(part: LossComponent, times: int) -> LossComponent:
    """The same noise at so many times the distance. Raises `InvalidParameter` unless it is Gaussian or
    Laplace.

    >>> moved(GaussianLoss(0.5), 3).mu
    1.5
    """
    if isinstance(part, GaussianLoss):
        exact = None if part.exact is None else part.exact * times
        return GaussianLoss(part.mu * times, exact)
    if isinstance(part, LaplaceLoss):
        exact = None if part.exact is None else part.exact * times
        return LaplaceLoss(part.epsilon * times, exact)
    raise InvalidParameter(
        "`part` of `moved` must be a loss of Gaussian or Laplace noise, whose groups are known. "
        f"Got {part!r}."
    )


@dataclass(frozen=True)
class ReplacementLoss(LabelledLoss):
    """Draws with replacement; make it with `with_replacement`."""

    plan: tuple[LossComponent, int, int] | None = None


def with_replacement(part: LossComponent, size: int, people: int) -> LossComponent:
    """The loss of one of so many people replaced, seen through `size` draws with replacement.

    Somebody is drawn k times with the chance w_k, and η = 1 − w_0. For ε ≥ 0 the profile at ln(1 + η(e^ε −
    1)) is at most Σ w_k·δ_k(ε), δ_k that of the k-fold distance: a mean of profiles of fixed-size samples
    at rate η. Source: Balle, Barthe & Gaboardi 2018, theorem 10.

    >>> with_replacement(GaussianLoss(1.0), 10, 1000).hockey_stick(0.0)[1] < 0.0039
    True
    """
    require(people >= 1, "people", "with_replacement", "be at least 1", people)
    require(size >= 1, "size", "with_replacement", "be at least 1", size)
    chances, rest = binomial_masses(size, 1.0 / people, _RARE)
    drawn = math.fsum([*chances[1:], rest])
    rate = min(up(-math.expm1(size * math.log1p(-1.0 / people)), 4), 1.0) if people > 1 else 1.0
    kinds = tuple(
        (fixed_size(moved(part, times), rate), chance / drawn)
        for times, chance in enumerate(chances)
        if times and chance > 0.0
    )
    return ReplacementLoss(kinds, rest / drawn, (part, size, people))
