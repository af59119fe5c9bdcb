"""Everything that a loss says, as curves: tests, δ(ε), advantage, true positives, reconstruction."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from leakcap.accounting.part import LossComponent
from leakcap.accounting.power import powers
from leakcap.accounting.routes import deltas_at
from leakcap.bound import Bound
from leakcap.errors import InvalidParameter
from leakcap.numeric.logspace import Floats

__all__ = ["Profile", "Values"]

_DRAWN = 60
_LEAST = 1e-12
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


class _Direction(Protocol):
    """One direction of a composed loss: its parts, and ε at a δ."""

    @property
    def parts(self) -> tuple[tuple[LossComponent, int], ...]:
        """The single losses, and how often each is composed."""

    @property
    def reverse(self) -> _Direction:
        """The other direction."""

    def epsilon(self, delta: float, tolerance: float) -> Bound:
        """The least ε at this δ, in nats."""

    def delta(self, epsilon: float, tolerance: float) -> Bound:
        """The δ at this ε."""


@dataclass(frozen=True, eq=False)
class Values:
    """A function at many places: `lower` ≤ truth ≤ `upper` at each of `at`.

    >>> found = Values(np.array([0.0, 1.0]), np.array([0.5, 0.1]), np.array([0.5, 0.2]), "nats")
    >>> found[1].upper, len(found)
    (0.2, 2)
    """

    at: Floats
    lower: Floats
    upper: Floats
    unit: str

    def __len__(self) -> int:
        """How many places."""
        return self.at.size

    def __getitem__(self, place: int) -> Bound:
        """The interval at one of them."""
        return Bound(float(self.lower[place]), float(self.upper[place]), "profile", unit=self.unit)

    def __iter__(self) -> Iterator[Bound]:
        """All intervals in order."""
        return (self[place] for place in range(len(self)))


@dataclass(frozen=True)
class Profile:
    """What a privacy loss says about every test and every ε: of both directions, the larger.

    Numbers or vectors go in, `Values` come out: certified intervals, at most `tolerance` wide relative to
    their upper ends where a route gets there. `forward` and `backward` are those of the single directions.
    Make it with `PrivacyLoss.profile`.

    >>> from leakcap.accounting import PrivacyLoss
    >>> from leakcap.mechanism import Gaussian
    >>> steps = (PrivacyLoss.of_mechanism(Gaussian(1.0)).sampled(0.01) ** 1000).profile()
    >>> steps.true_positives([0.001, 0.01])[1].upper < 0.08
    True
    """

    directions: tuple[_Direction, ...]
    tolerance: float

    @property
    def forward(self) -> Profile:
        """P holds, and is told from Q."""
        return Profile(self.directions[:1], self.tolerance)

    @property
    def backward(self) -> Profile:
        """Q holds, and is told from P."""
        return Profile((self.directions[0].reverse,), self.tolerance)

    def delta(self, epsilon: ArrayLike) -> Values:
        """δ(ε) for each ε in nats. Raises `InvalidParameter` unless all are finite."""
        at = _places(epsilon, "epsilon", -math.inf, math.inf)
        ends = [deltas_at(loss.parts, at, self.tolerance) for loss in self.directions]
        return _largest(at, [(low, high) for low, high, _ in ends], "probability")

    def epsilon(self, delta: ArrayLike) -> Values:
        """The least ε ≥ 0 with δ(ε) ≤ δ, in nats, for each δ."""
        at = _places(delta, "delta", 0.0, 1.0)
        found = [[loss.epsilon(each, self.tolerance) for each in at.tolist()] for loss in self.directions]
        ends = [(np.array([b.lower for b in row]), np.array([b.upper for b in row])) for row in found]
        return _largest(at, ends, "nats")

    @property
    def advantage(self) -> Bound:
        """True less false positives of the best test: the total variation δ(0), of both directions alike."""
        return self.directions[0].delta(0.0, self.tolerance)

    def true_positives(self, false_positives: ArrayLike) -> Values:
        """The most true positives of any test with so many false ones, as rates: the power of the best test.

        Source: Neyman & Pearson 1933; Dong, Roth & Su 2022.
        """
        at = _places(false_positives, "false_positives", 0.0, 1.0)
        ends = [powers(loss.parts, at, self.tolerance) for loss in self.directions]
        return _largest(at, ends, "probability")

    def trade_off(self, false_positives: ArrayLike) -> Values:
        """The least rate of misses of any test with so many false alarms: 1 less the true positives."""
        power = self.true_positives(false_positives)
        low = np.maximum(np.nextafter(1.0 - power.upper, -1.0), 0.0)
        high = np.minimum(np.nextafter(1.0 - power.lower, 2.0), 1.0)
        return Values(power.at, low, high, "probability")

    def reconstruction(self, prior_rate: ArrayLike) -> Values:
        """The limit on how often a record is reconstructed by somebody who hits it so often unaided.

        An attacker whose guess is good with probability κ when the record has no part in the output is right
        with probability sup{P(E) : Q(E) ≤ κ} at most when it has: the true positives at κ. It holds for any
        prior and any notion of a good guess. Source: Hayes, Mahloujifar & Balle 2023, theorem 2.
        """
        return self.true_positives(_places(prior_rate, "prior_rate", 0.0, 1.0))

    def plot(self) -> dict[str, Any]:
        """A Vega-Lite specification of the trade-off curve of each direction and of δ(ε), upper ends drawn.

        Notebooks show it through `altair.Chart.from_dict`, editors for Vega-Lite as it stands.

        >>> from leakcap.accounting import PrivacyLoss
        >>> sorted(PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75]).profile().plot())[:2]
        ['$schema', 'data']
        """
        levels = np.linspace(0.0, 1.0, _DRAWN + 1)
        rows: list[dict[str, Any]] = []
        for loss, name in zip(self.directions, ("P told from Q", "Q told from P"), strict=False):
            one = Profile((loss,), self.tolerance)
            misses = one.trade_off(levels)
            rows += [
                {"curve": name, "false alarms": a, "misses": b}
                for a, b in zip(misses.at.tolist(), misses.lower.tolist(), strict=True)
            ]
        end = self.epsilon(_LEAST).upper[0]
        end = end if math.isfinite(end) else 10.0
        found = self.delta(np.linspace(0.0, max(float(end), 1e-6), _DRAWN + 1))
        rows += [
            {"curve": "δ", "ε": e, "δ": d}
            for e, d in zip(found.at.tolist(), found.upper.tolist(), strict=True)
            if d > 0.0
        ]
        tests = {
            "transform": [{"filter": "datum.curve != 'δ'"}],
            "mark": {"type": "line", "clip": True},
            "encoding": {
                "x": {"field": "false alarms", "type": "quantitative", "scale": {"domain": [0, 1]}},
                "y": {"field": "misses", "type": "quantitative", "scale": {"domain": [0, 1]}},
                "color": {"field": "curve", "type": "nominal", "title": None},
            },
        }
        deltas = {
            "transform": [{"filter": "datum.curve == 'δ'"}],
            "mark": "line",
            "encoding": {
                "x": {"field": "ε", "type": "quantitative", "title": "ε (nats)"},
                "y": {"field": "δ", "type": "quantitative", "scale": {"type": "log"}},
            },
        }
        return {"$schema": _SCHEMA, "data": {"values": rows}, "hconcat": [tests, deltas]}


def _places(values: ArrayLike, name: str, low: float, high: float) -> Floats:
    at = np.atleast_1d(np.asarray(values, dtype=np.float64))
    rule = "be finite" if math.isinf(low) else "lie in [0, 1]"
    if at.ndim != 1 or at.size == 0:
        raise InvalidParameter(f"`{name}` of `Profile` must be a number or a vector. Got shape {at.shape}.")
    wrong = at[~(np.isfinite(at) & (at >= low) & (at <= high))]
    if wrong.size:
        raise InvalidParameter(f"`{name}` of `Profile` must {rule}. Got {float(wrong[0])!r}.")
    return at


def _largest(at: Floats, ends: list[tuple[Floats, Floats]], unit: str) -> Values:
    low, high = np.max([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)
    return Values(at, low, high, unit)
