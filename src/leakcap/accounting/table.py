"""Privacy losses as tables on a grid, in and out: what dp-accounting and others call a PLD.

A table says P's masses at losses (first + k)·step and at +∞; Q's follow, e^{−loss} as large. It is
pessimistic where its δ(ε) is nowhere below the mechanism's, optimistic where nowhere above. Source: Meiser &
Mohammadi 2018; Koskela, Jälkö & Honkela 2020; Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022.
"""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leakcap.accounting.convolve import convolved
from leakcap.accounting.finite import FiniteLoss
from leakcap.accounting.grid import rounded_down, rounded_up
from leakcap.accounting.loss import PrivacyLoss
from leakcap.accounting.window import Means, of_one, of_sum
from leakcap.errors import InvalidParameter, LeakcapError, require
from leakcap.numeric.logspace import Floats

__all__ = ["LossTable", "from_pld", "loss_table", "to_pld"]

_ROUNDING = 1e-6
"""The most that all entries together may be off by: below zero, and from a sum of one."""
_EXCESS = 1e-3
"""The most by which a pessimistic table may sum to more than one: rounding losses up on a grid does that."""
_SUMMED = 1e-12
"""Of a sum of one; nearer to it, nothing is mended."""
_MOST_POINTS = 1 << 22
_FARTHEST = 700.0


@dataclass(frozen=True, eq=False)
class LossTable:
    """P's masses at losses (first + k)·step in nats, and at +∞.

    `pessimistic` says on which side of the mechanism it is, and so to which side its roundings are mended.

    >>> LossTable(0.5, -1, [0.2, 0.3, 0.4], 0.1).losses
    array([-0.5,  0. ,  0.5])
    """

    step: float
    first: int
    masses: Floats = field(repr=False)
    infinite: float = 0.0
    pessimistic: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "masses", np.asarray(self.masses, dtype=np.float64))
        require(0 < self.step < math.inf, "step", "LossTable", "be positive and finite", self.step)
        require(0 <= self.infinite <= 1, "infinite", "LossTable", "be a probability", self.infinite)
        if self.masses.ndim != 1 or self.masses.size == 0:
            raise InvalidParameter(
                f"`masses` of `LossTable` must be a vector. Got shape {self.masses.shape}."
            )
        if not np.isfinite(self.masses).all():
            raise InvalidParameter("`masses` of `LossTable` must be finite. Got NaN or ∞.")

    @property
    def losses(self) -> Floats:
        """Where the masses lie, in nats."""
        return np.asarray((self.first + np.arange(self.masses.size)) * self.step, dtype=np.float64)


def from_pld(table: object, *, adding: bool = False) -> PrivacyLoss:
    """The privacy loss of a table: a `LossTable`, or a privacy-loss distribution of dp-accounting.

    Of a pessimistic table it dominates the mechanism, so that upper ends hold for the mechanism; of an
    optimistic one it is dominated, and lower ends hold. `adding` takes dp-accounting's second table.

    An FFT leaves entries slightly below zero. How far the lowest one is below is taken for what any entry
    may be off by: those of a pessimistic table are raised by so much and the excess taken from the smallest
    losses; those of an optimistic one are lowered, and what is still negative is taken from the next larger
    losses. Where Q's masses come to more than one, the smallest losses are merged until they do not: any
    profile is at least 1 − e^ε. Raises `InvalidParameter` where all that is more than 10⁻⁶ together.

    >>> table = LossTable(math.log(3.0), -1, [0.25, -1e-17, 0.75])
    >>> from_pld(table).delta(0.0).upper
    0.5000000...
    """
    found = table if isinstance(table, LossTable) else _read(table, adding)
    return PrivacyLoss(((_mended(found), 1),))


def _read(table: Any, adding: bool) -> LossTable:
    """A distribution of dp-accounting, or one of its tables, dense or sparse."""
    table = getattr(table, "_pmf_add" if adding else "_pmf_remove", table)
    try:
        step, infinite = float(table._discretization), float(table._infinity_mass)
        pessimistic = bool(table._pessimistic_estimate)
        if hasattr(table, "_loss_probs"):
            places = {int(place): float(mass) for place, mass in table._loss_probs.items()}
            first = min(places)
            masses = np.zeros(max(places) - first + 1)
            masses[[place - first for place in places]] = list(places.values())
        else:
            first, masses = int(table._lower_loss), np.asarray(table._probs, dtype=np.float64)
    except (AttributeError, TypeError, ValueError):
        raise InvalidParameter(
            "`table` of `from_pld` must be a `LossTable` or a privacy-loss distribution of dp-accounting. "
            f"Got a `{type(table).__name__}`."
        ) from None
    return LossTable(step, first, masses, min(max(infinite, 0.0), 1.0), pessimistic)


def _mended(table: LossTable) -> FiniteLoss:
    """The pair of distributions on the safe side of a table."""
    noise = max(-float(table.masses.min()), 0.0)
    total = math.fsum([*table.masses.tolist(), table.infinite])
    short = table.pessimistic and total < 1.0 - _ROUNDING
    long = total > 1.0 + (_EXCESS if table.pessimistic else _ROUNDING)
    if noise * table.masses.size > _ROUNDING or short or long:
        raise InvalidParameter(
            f"`masses` of a `LossTable` must be probabilities but for roundings of {_ROUNDING:g} together. "
            f"Got {-noise!r} as the least of {table.masses.size}, and a sum of {total!r}. Compose with a "
            "coarser step, or compose the losses here."
        )
    masses, infinite = (_raised if table.pessimistic else _lowered)(table.masses, table.infinite, noise)
    losses = table.losses
    with np.errstate(over="ignore"):
        at_q = masses * np.exp(-losses)
    at_q[masses == 0.0] = 0.0
    over_p = infinite + np.append(np.cumsum(masses[::-1])[::-1], 0.0)
    over_q = np.append(np.cumsum(at_q[::-1])[::-1], 0.0)
    merged = None
    if over_q[0] > 1.0 + _SUMMED or over_p[0] < 1.0 - _SUMMED:
        keep = _first_kept(losses, over_p, over_q)
        merged = (1.0 - float(over_p[keep]), 1.0 - float(over_q[keep]))
        losses, masses, at_q = losses[keep:], masses[keep:], at_q[keep:]
    seen = masses > 0.0
    losses, masses, at_q = losses[seen], masses[seen], at_q[seen]
    if merged is not None and merged[0] > 0.0 and merged[1] > 0.0:
        ends = (
            _at_ends(*merged, table.step)
            if table.pessimistic
            else [(math.log(merged[0] / merged[1]), *merged)]
        )
        losses, masses, at_q = _joined(ends, losses, masses, at_q)
    lost = max(1.0 - math.fsum(at_q.tolist()), 0.0)
    if not table.pessimistic and losses.size:
        # What roundings took from Q would be a reverse loss of +∞, which is not below the mechanism's. At any
        # other loss it is: of two distributions a lower profile is lower in both directions.
        most, fallen = int(np.argmax(at_q)), min(lost, _SUMMED)
        at_q[most] += fallen
        losses[most] = math.log(masses[most] / at_q[most])
        order = np.argsort(losses, kind="stable")
        losses, masses, at_q, lost = losses[order], masses[order], at_q[order], lost - fallen
    return FiniteLoss(
        tuple(losses.tolist()), tuple(masses.tolist()), tuple(at_q.tolist()), infinite, lost, units=16.0
    )


def _raised(masses: Floats, infinite: float, noise: float) -> tuple[Floats, float]:
    """No survivor function below; a sum of one, the excess taken from the smallest losses.

    There the profile becomes the chord from (0, 1) to its first corner, and the truth, convex, lies below it.
    """
    masses = masses + noise
    excess = math.fsum([*masses.tolist(), infinite, -1.0])
    if excess < 0.0:
        # Nobody knows where it was: at infinity it is above everything.
        return masses, infinite - excess if -excess > _SUMMED else infinite
    return _without(masses, excess), infinite


def _without(masses: Floats, excess: float) -> Floats:
    """Less so much at the smallest losses."""
    taken = np.cumsum(masses)
    return np.asarray(np.minimum(masses, np.maximum(taken - excess, 0.0)))


def _lowered(masses: Floats, infinite: float, noise: float) -> tuple[Floats, float]:
    """No survivor function above: what is below zero is taken from the next larger losses."""
    if noise == 0.0:
        return masses, infinite
    kept, debt = [], 0.0
    for mass in (masses - noise).tolist():
        left = mass - debt
        debt = max(-left, 0.0)
        kept.append(max(left, 0.0))
    return np.array(kept), max(infinite - debt, 0.0)


def _first_kept(losses: Floats, over_p: Floats, over_q: Floats) -> int:
    """The first loss at which the profile is at least 1 − e^ε: all before it becomes one loss."""
    level = np.exp(np.minimum(losses, _FARTHEST))
    with np.errstate(invalid="ignore", over="ignore"):
        high = (over_p[1:] - 1.0) + level * (1.0 - over_q[1:])
    low = np.flatnonzero(~(high >= 0.0))
    return int(low[-1]) + 1 if low.size else 0


def _at_ends(p: float, q: float, step: float) -> list[tuple[float, float, float]]:
    """One loss moved to the two points of the grid about it, P and Q kept: a raised profile."""
    place = math.floor(math.log(p / q) / step)
    low, high = math.exp(place * step), math.exp((place + 1) * step)
    at_high = min(max((p - low * q) / (high - low), 0.0), q)
    ends = [(place * step, (q - at_high) * low, q - at_high), ((place + 1) * step, at_high * high, at_high)]
    return [end for end in ends if end[1] > 0.0]


def _joined(
    ends: list[tuple[float, float, float]], losses: Floats, masses: Floats, at_q: Floats
) -> tuple[Floats, Floats, Floats]:
    """Some losses among others, those of one place added."""
    rows = np.array(ends)
    places, where = np.unique(np.append(rows[:, 0], losses), return_inverse=True)
    p = np.bincount(where, np.append(rows[:, 1], masses)).astype(np.float64)
    q = np.bincount(where, np.append(rows[:, 2], at_q)).astype(np.float64)
    return places, p, q


def loss_table(
    loss: PrivacyLoss, step: float = 1e-3, *, pessimistic: bool = True, tail: float = 1e-15
) -> LossTable:
    """All queries of a loss as one table of losses k·step: certified to lie above it, or below.

    Each single loss is split to the ends of its cell (above) or merged until its mean is a grid point
    (below), both of second order in the step; the FFT's rounding, bounded, is added or taken away, and so
    is what lies beyond the table, P's mass of about `tail`.

    >>> from leakcap.mechanism import Gaussian
    >>> table = loss_table(PrivacyLoss.of_mechanism(Gaussian(2.0)) ** 4, 0.01)
    >>> round(from_pld(table).delta(1.0).upper, 4)
    0.1269
    """
    require(0 < step <= 2, "step", "loss_table", "lie above 0 and not above 2", step)
    require(0 < tail < 1, "tail", "loss_table", "lie strictly between 0 and 1", tail)
    parts = loss.parts
    low, high = of_one(parts, math.log(tail))
    spans = [min(part.support()[1], high) - max(part.support()[0], low) for part, _ in parts]
    _affordable(max(spans), step)
    rows = [
        ((rounded_up if pessimistic else rounded_down)(part, step, low, high, 0.0), count)
        for part, count in parts
    ]
    ends = [sum(count * (row.first + k * (row.masses.size - 1)) for row, count in rows) for k in (0, 1)]
    if loss.queries > 1:
        left, right = of_sum(Means(parts, low, high), 0.0, math.log(tail))
        ends = [max(ends[0], math.floor(left / step) - 1), min(ends[1], math.ceil(right / step) + 1)]
    _affordable((ends[1] - ends[0]) * step, step)
    if loss.queries == 1:
        masses, infinite, lost = rows[0][0].masses, rows[0][0].infinite, 0.0
    else:
        size = 1 << max(4, math.ceil(math.log2(ends[1] - ends[0] + 16)))
        total = convolved(rows, 0.0, step, ends[0] * step, ends[1] * step, size, 0.0)
        scale, infinite = math.exp(total.log_total), abs(total.infinite)
        sign = 1.0 if pessimistic else -1.0
        masses = np.maximum(total.masses + sign * total.error, 0.0) * scale * (1.0 + sign * 2.0 * total.slack)
        ends[0], lost = round(total.start / step), scale * total.outside * (1.0 + 2.0 * total.slack)
    if pessimistic:
        excess = math.fsum([*masses.tolist(), infinite, lost, -1.0])
        masses = _without(masses, max(excess, 0.0))
        return LossTable(step, ends[0], masses, min(infinite + lost + max(-excess, 0.0), 1.0), True)
    return LossTable(step, ends[0], _without(masses[::-1], lost)[::-1], infinite, False)


def _affordable(span: float, step: float) -> None:
    if not span / step < _MOST_POINTS:
        raise InvalidParameter(
            f"`step` of `loss_table` must leave at most {_MOST_POINTS} losses. Got {step!r} for "
            f"{span:.6g} nats of them. Take a larger one."
        )


def to_pld(
    loss: PrivacyLoss,
    step: float = 1e-3,
    *,
    pessimistic: bool = True,
    tail: float = 1e-15,
    library: Any = None,
) -> Any:
    """The same as a privacy-loss distribution of dp-accounting, of both directions.

    Its pessimistic answers are upper bounds on those of the loss, its optimistic ones lower bounds. `library`
    is a package with dp-accounting's `pld` modules, its own when left out. Raises `LeakcapError` when that is
    not installed.

    >>> from types import SimpleNamespace
    >>> tables = SimpleNamespace(DensePLDPmf=lambda *fields: fields)
    >>> both = SimpleNamespace(PrivacyLossDistribution=lambda *both: both)
    >>> library = SimpleNamespace(pld_pmf=tables, privacy_loss_distribution=both)
    >>> response = PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75])
    >>> len(to_pld(response, math.log(3.0), library=library))
    1
    """
    if library is None:
        try:
            library = importlib.import_module("dp_accounting.pld")
            importlib.import_module("dp_accounting.pld.pld_pmf")
            importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
        except ImportError:
            raise LeakcapError(
                "a distribution of dp-accounting needs that library, which is not installed. Run: "
                "pip install dp-accounting"
            ) from None
    both = []
    for each in (loss,) if loss.is_symmetric else (loss, loss.reverse):
        table = loss_table(each, step, pessimistic=pessimistic, tail=tail)
        both.append(
            library.pld_pmf.DensePLDPmf(table.step, table.first, table.masses, table.infinite, pessimistic)
        )
    return library.privacy_loss_distribution.PrivacyLossDistribution(*both)
