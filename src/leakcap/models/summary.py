"""A fitted model in numbers: coefficients with intervals, noise, and the guarantee order by order.

The guarantee is kept as it is: at every order the Rényi divergence between what one unit could be, and
Sibson's capacity from the unit to what was released, which is Shannon's at order 1. (ε, δ) is computed only
where somebody asks for a δ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakcap.definition import (
    ApproxDP,
    LevelCapacity,
    Neighbourhood,
    PureDP,
    Relation,
    RenyiDP,
    ZeroConcentratedDP,
    convert,
)
from leakcap.ledger import Spend
from leakcap.models.curve import RenyiCurve
from leakcap.models.descent import PrivateGradientDescent
from leakcap.models.files import Model
from leakcap.models.linear import LinearRegression
from leakcap.models.margin import MarginClassifier
from leakcap.models.output import RidgeRegression
from leakcap.models.tree import PrivateDecisionTree

Linear = LinearRegression | RidgeRegression | MarginClassifier | PrivateGradientDescent

__all__ = ["Coefficient", "Order", "Summary", "summary_of"]

LEVELS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


@dataclass(frozen=True)
class Coefficient:
    """One number of the model with its 95 % interval, None where none is known that covers."""

    name: str
    value: float
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Order:
    """At one order: (α, ε)-RDP and Sibson's capacity of that order, in nats; ∞ where no bound is known."""

    alpha: float
    renyi: float
    level: float


@dataclass(frozen=True)
class Summary:
    """What a fit released and what it costs. `asked` is (ε, δ) at the δ that was asked for, if any."""

    title: str
    coefficients: tuple[Coefficient, ...]
    intervals: str
    noise: str
    orders: tuple[Order, ...]
    asked: tuple[float, float] | None
    spend: Spend
    entry: int
    repeated: bool


def summary_of(
    model: Model, features: Sequence[str], *, neighbours: str, delta: float | None = None
) -> Summary:
    """The summary of a fitted model, under the neighbours of its policy."""
    values, about = _intervals(model)
    if isinstance(model, PrivateDecisionTree):
        names, numbers = _leaves(model, features)
    else:
        names, numbers = _names(model, features), _numbers(model)
    intervals = [None] * len(names) if values is None else [(float(a), float(b)) for a, b in values]
    guarantee = _Guarantee.of(model, replace=neighbours == "replace-one")
    return Summary(
        title=type(model).__name__,
        coefficients=tuple(map(Coefficient, names, numbers, intervals)),
        intervals=about,
        noise=_noise(model),
        orders=tuple(guarantee.at(alpha) for alpha in LEVELS),
        asked=None if delta is None else (guarantee.epsilon(delta), delta),
        spend=model.spend_,
        entry=model.entry_,
        repeated=model.repeated_,
    )


def _leaves(model: PrivateDecisionTree, features: Sequence[str]) -> tuple[list[str], list[float]]:
    """How many rows of each class are in each leaf."""
    found = [
        (f"{leaf}: {label}", float(count))
        for leaf, counts in model.leaves(features)
        for label, count in zip(model.classes_.tolist(), counts.tolist(), strict=True)
    ]
    return [name for name, _ in found], [count for _, count in found]


def _numbers(model: Linear) -> list[float]:
    """Intercept and coefficients, class by class."""
    coef = np.atleast_2d(np.asarray(model.coef_))
    first = np.atleast_1d(np.asarray(model.intercept_))
    return [float(x) for x in np.column_stack([first, coef]).ravel()]


def _names(model: Linear, features: Sequence[str]) -> list[str]:
    own = ["intercept", *features]
    classes = np.atleast_2d(np.asarray(model.coef_)).shape[0]
    if classes == 1:
        return own
    return [f"{label}: {name}" for label in getattr(model, "classes_", range(classes)) for name in own]


def _intervals(model: Model) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]] | None, str]:
    if isinstance(model, LinearRegression):
        ends = model.population_intervals()
        return ends, "95 %, of the best linear prediction in the population: noise and sampling error"
    if isinstance(model, RidgeRegression):
        return model.table_intervals(), "95 %, of the ridge minimiser on the rows used: noise alone"
    if isinstance(model, PrivateDecisionTree):
        error = model.count_error()
        counts = np.array([count for _, leaf in model.leaves() for count in leaf.tolist()])
        return np.column_stack([counts - error, counts + error]), "95 %, of rows in the leaf: noise alone"
    return None, "none: no interval is known that covers"


def _noise(model: Model) -> str:
    if isinstance(model, PrivateGradientDescent):
        return f"deviation {model.noise_multiplier:g} × clip in each of {model.steps} steps"
    law = "Gaussian" if model.delta > 0 else "Laplace"
    return f"{law}, {model.noise_scale_:.6g}"


@dataclass(frozen=True)
class _Guarantee:
    """One of: a curve, ρ, ε, or (ε, δ) of which no more is known."""

    curve: RenyiCurve | None
    rho: float | None
    epsilon_: float
    delta: float
    neighbours: Neighbourhood

    @classmethod
    def of(cls, model: Model, *, replace: bool) -> _Guarantee:
        around = Neighbourhood(Relation.REPLACE_ONE if replace else Relation.ADD_REMOVE_ONE)
        if isinstance(model, PrivateGradientDescent):
            return cls(model.curve_, None, model.spend_.epsilon, model.delta or 0.0, around)
        gaussian = model.delta > 0 and isinstance(model, LinearRegression | RidgeRegression)
        rho = model.spend_.nats_person if gaussian else None
        return cls(None, rho, float(model.epsilon), float(model.delta), around)

    def at(self, alpha: float) -> Order:
        if self.curve is not None:
            return Order(alpha, self.curve.at(alpha).epsilon, self.curve.level(alpha).nats)
        if self.rho is not None:
            return Order(alpha, alpha * self.rho, alpha * self.rho)
        if self.delta > 0:
            return Order(alpha, math.inf, math.inf)
        pure = PureDP(self.epsilon_, neighbours=self.neighbours)
        renyi = convert(pure, RenyiDP, alpha=alpha).epsilon
        return Order(alpha, renyi, convert(pure, LevelCapacity, alpha=alpha).nats)

    def epsilon(self, delta: float) -> float:
        if self.curve is not None:
            return self.curve.epsilon(delta)
        if self.rho is not None:
            kept = ZeroConcentratedDP(self.rho, neighbours=self.neighbours)
            return convert(kept, ApproxDP, delta=delta).epsilon
        return self.epsilon_ if delta >= self.delta else math.inf
