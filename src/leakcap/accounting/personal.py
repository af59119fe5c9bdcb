"""Adaptive spending: filters that refuse in time, odometers that tell how far one is, caps for each person.

A query's price may depend on all earlier answers. For sums of a quantity that bounds the next answer
given every history, a cap on the running sum is a cap on the whole: the filter is free.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import singledispatch

from leakcap.accounting.algebra import one_kind
from leakcap.definition import (
    KLDP,
    MIDP,
    ApproxDP,
    Centre,
    Definition,
    DeltaDP,
    GaussianDP,
    LevelCapacity,
    MaximalLeakage,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from leakcap.errors import BudgetExceeded, InvalidParameter, NoRoute, Passed, require
from leakcap.numeric.rounding import float_down, hypot_up, product_up, sum_up

__all__ = ["Filter", "Odometer", "PersonalBudgets", "cost"]

_FREE = (
    "A running sum is a valid filter for PureDP, DeltaDP, KLDP, MIDP, RenyiDP, ZeroConcentratedDP, "
    "GaussianDP, "
    "MaximalLeakage and Sibson's level capacities."
)


@singledispatch
def cost(definition: Definition) -> float:
    """What a guarantee adds to a running sum that may stop adaptively: its threshold, μ² for GDP, rounded up.

    Raises `NoRoute` where a running sum is no valid filter: (ε, δ) composes optimally only for prices known
    beforehand. Source: Rogers, Roth, Ullman & Vadhan 2016 (pure); Feldman & Zrnic 2021 and Lécuyer 2021
    (Rényi); Whitehouse, Ramdas, Rogers & Wu 2023 (zCDP); Smith & Thakurta 2022, Koskela, Tobaben & Honkela
    2023 (Gaussian); for KL-DP and MI-DP the chain rule.

    >>> cost(PureDP(0.5)), cost(GaussianDP(0.5))
    (0.5, 0.25)
    """
    raise NoRoute(f"no filter is known that is free for {definition!r}. {_FREE}")


def _threshold(definition: Definition) -> float:
    return definition.threshold


for _kind in (PureDP, DeltaDP, KLDP, MIDP, RenyiDP, ZeroConcentratedDP, MaximalLeakage):
    cost.register(_kind, _threshold)


@cost.register
def _(definition: GaussianDP) -> float:
    return product_up(definition.mu, definition.mu)


@cost.register
def _(definition: LevelCapacity) -> float:
    if definition.centre is not Centre.SIBSON:
        raise NoRoute(
            f"no filter is known that is free for {definition!r}: its orders are split first. {_FREE}"
        )
    return definition.nats


@cost.register
def _(definition: ApproxDP) -> float:
    if definition.delta > 0.0:
        raise NoRoute(f"no filter is known that is free for {definition!r}: convert to zCDP or GDP. {_FREE}")
    return definition.epsilon


def _exact(definition: Definition) -> Fraction:
    """A finite cap in units of `cost`, not rounded."""
    return Fraction(definition.mu) ** 2 if isinstance(definition, GaussianDP) else Fraction(cost(definition))


def _priced(price: Definition) -> float | None:
    asked = cost(price)
    return asked if math.isfinite(asked) else None


def _same_scale(cap: Definition, price: Definition) -> None:
    one_kind([cap, price], "Filter")
    least, order = getattr(cap, "alpha", 0.0), getattr(price, "alpha", 0.0)
    if order < least:
        raise InvalidParameter(
            f"`price` of `Filter` must hold at the cap's order {least!r} or above. Got {order!r}."
        )


@dataclass(frozen=True)
class Filter:
    """A cap on an adaptive sequence of queries; the next price may depend on all earlier answers.

    A value: `after` returns the next one, or raises `BudgetExceeded` and nothing was spent: its `cap` is the
    definition's name, `left` and `asked` are in units of `cost`. Sums are rounded up.

    >>> Filter(PureDP(1.0)).after(PureDP(0.75)).left
    0.25
    """

    cap: Definition
    spent: float = 0.0

    def __post_init__(self) -> None:
        cost(self.cap)
        require(self.spent >= 0 and not math.isnan(self.spent), "spent", "Filter", "be ≥ 0", self.spent)

    @property
    def left(self) -> float:
        """What may still be spent, in units of `cost`; rounded down."""
        if math.isinf(self.spent):
            return 0.0
        return (
            math.inf
            if math.isinf(cost(self.cap))
            else max(float_down(_exact(self.cap) - Fraction(self.spent)), 0.0)
        )

    def allows(self, price: Definition) -> bool:
        """Whether a query at this price may run."""
        _same_scale(self.cap, price)
        total = self._total(price)
        return math.isinf(cost(self.cap)) or (math.isfinite(total) and Fraction(total) <= _exact(self.cap))

    def after(self, price: Definition) -> Filter:
        """The filter once a query at this price has run."""
        if not self.allows(price):
            raise BudgetExceeded(
                f"a query at {price!r} would pass the cap {self.cap!r}: {self.spent!r} is spent. Nothing "
                f"was spent.",
                passed=[Passed(type(self.cap).__name__, cost(self.cap), self.left, _priced(price))],
            )
        return replace(self, spent=self._total(price))

    def _total(self, price: Definition) -> float:
        return sum_up([self.spent, cost(price)])


@dataclass(frozen=True)
class Odometer:
    """How much has been spent at any moment, that moment chosen adaptively.

    For pure privacy the running sum is valid at every moment. For the others a statement made when a level is
    reached covers that level: `reading` is the least level first·2^j that holds the sum, and whoever turns
    readings into (ε, δ) gives level j the share 6δ/(π²(j+1)²). Source: Rogers et al. 2016; Feldman & Zrnic
    2021.

    >>> Odometer(ZeroConcentratedDP(0.1)).after(ZeroConcentratedDP(0.15)).reading
    ZeroConcentratedDP(rho=0.2)
    """

    first: Definition
    spent: float = 0.0

    def __post_init__(self) -> None:
        require(cost(self.first) > 0, "first", "Odometer", "be a positive level", self.first)

    def after(self, price: Definition) -> Odometer:
        """The odometer once a query at this price has run."""
        _same_scale(self.first, price)
        return replace(self, spent=sum_up([self.spent, cost(price)]))

    @property
    def level(self) -> int:
        """j of the present reading."""
        if math.isinf(cost(self.first)):
            return 0
        return (
            (math.ceil(Fraction(self.spent) / _exact(self.first)) - 1).bit_length() if self.spent > 0.0 else 0
        )

    @property
    def reading(self) -> Definition:
        """A guarantee for everything so far."""
        if isinstance(self.first, PureDP):
            return self.first.with_threshold(self.spent)
        scale = Fraction(2) ** self.level
        if isinstance(self.first, GaussianDP) and self.level % 2:
            half = Fraction(2) ** (self.level // 2)
            return self.first.with_threshold(hypot_up([product_up(half, self.first.mu)] * 2))
        root = Fraction(2) ** (self.level // 2) if isinstance(self.first, GaussianDP) else scale
        told = product_up(root, self.first.threshold)
        return self.first.with_threshold(min(told, 1.0) if isinstance(self.first, DeltaDP) else told)

    def share(self, delta: float) -> float:
        """The part of δ that the present level may use: all levels' parts sum to δ.

        >>> round(Odometer(ZeroConcentratedDP(1.0)).share(1e-6), 9)
        6.08e-07
        """
        return 6.0 * delta / (math.pi * (self.level + 1)) ** 2


@dataclass(frozen=True)
class PersonalBudgets:
    """A cap of its own for each record or group of records; who has none left is no longer counted.

    A query is charged to each person at that person's own price (what this record can change), and runs on
    those only who can pay: whether one can depends on one's own record and on answers already given, so each
    person's filter stays valid. Who is still counted is as private as the data: never publish it.
    Source: Feldman & Zrnic 2021, theorem 4.5; Ebadi, Sands & Schneider 2015; Cuff & Yu 2016, section 6.1;
    Wu, Xia & He 2017, definition 5.

    >>> budgets = PersonalBudgets({"ann": PureDP(1.0), "ben": PureDP(0.3)})
    >>> after, counted = budgets.charge({"ann": PureDP(0.5), "ben": PureDP(0.5)})
    >>> sorted(counted), after.left("ben")
    (['ann'], 0.3)
    """

    caps: Mapping[Hashable, Definition]
    spent: Mapping[Hashable, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require(len(self.caps) > 0, "caps", "PersonalBudgets", "hold at least one cap", dict(self.caps))
        one_kind(list(self.caps.values()), "PersonalBudgets")
        strangers = set(self.spent) - set(self.caps)
        require(not strangers, "spent", "PersonalBudgets", "name people with a cap", len(strangers))
        object.__setattr__(self, "caps", dict(self.caps))
        object.__setattr__(self, "spent", dict(self.spent))

    def filter_of(self, person: Hashable) -> Filter:
        """One person's filter."""
        require(person in self.caps, "person", "PersonalBudgets", "have a cap", "a stranger (not shown)")
        return Filter(self.caps[person], self.spent.get(person, 0.0))

    def left(self, person: Hashable) -> float:
        """What this person may still spend."""
        return self.filter_of(person).left

    def able(self, prices: Mapping[Hashable, Definition]) -> frozenset[Hashable]:
        """Those who can pay their price; nothing is spent."""
        return frozenset(who for who, price in prices.items() if self.filter_of(who).allows(price))

    def charge(self, prices: Mapping[Hashable, Definition]) -> tuple[PersonalBudgets, frozenset[Hashable]]:
        """The budgets after a query on all who can pay, and who they are (secret)."""
        counted = self.able(prices)
        spent = {**self.spent, **{who: self.filter_of(who).after(prices[who]).spent for who in counted}}
        return replace(self, spent=spent), counted
