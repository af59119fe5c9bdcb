"""The most that may ever be spent: by all, by one analyst, by a group of them, within one period."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from itertools import pairwise
from numbers import Real
from typing import Literal, TypeAlias, get_args

from leakcap.errors import require
from leakcap.ledger.chain import require_text
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.ticks import LARGEST, cap_ticks

__all__ = ["MOST_GROUPS", "MOST_LEVELS", "Caps", "Group", "Limits", "Period"]

Period: TypeAlias = Literal["day", "week", "month", "year"]
MOST_LEVELS = 100
"""Every spend is booked on each level of people's own caps."""
MOST_GROUPS = 100
"""Every spend is booked on each group that its analyst is in."""
_REMEDY = "Leave the cap out where there is none."


@dataclass(frozen=True)
class Limits:
    """A cap in each currency; None: not capped.

    `epsilon` and `delta` of differential privacy and `nats_person` of MI-DP, per privacy unit; `nats_table`
    about the whole table; `nats_level`, the level-α capacity about one person; `rho` of zero-concentrated
    privacy (zCDP), the least with D_α ≤ αρ at every order α > 1; `queries`, how many may be answered.
    ρ says nothing of an answer's δ: beside `rho` a `delta` that is left out is held as 0. So it is beside the
    `epsilon` on everything: without a `delta` no answer may have one. The δ of an analyst or a period is held
    by the caps on everything; where these have neither, an account with an `epsilon` alone takes none.

    With both `epsilon` and a `delta` above 0 all answers together are (ε, δ)-DP, however they were chosen:
    their Rényi curves are added up, which allows many more small answers than ε added up does. Answers that
    have a δ of their own may use `delta_of_answers` of it, half where it is left out; the rest is for adding
    up. `order`, one of the ledger's orders named beforehand, is looked at alone, and needs less. See
    `docs/ledger.md`.

    >>> Limits(epsilon=1.0, queries=20).queries
    20
    """

    epsilon: float | None = None
    delta: float | None = None
    nats_person: float | None = None
    nats_table: float | None = None
    nats_level: float | None = None
    rho: float | None = None
    queries: int | None = None
    delta_of_answers: float | None = None
    order: float | None = None

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for name in ("epsilon", "delta", "nats_person", "nats_table", "nats_level", "rho"):
            value, largest = getattr(self, name), 1 if name == "delta" else LARGEST
            if value is not None:
                number = isinstance(value, Real) and not isinstance(value, bool)
                rule = f"be a number from 0 to {largest:,}"
                require(number and 0 <= value <= largest, name, owner, rule, value, _REMEDY)
                object.__setattr__(self, name, float(value))
        if self.queries is not None:
            count = isinstance(self.queries, int) and not isinstance(self.queries, bool)
            rule = "be a whole number from 0 to 10¹⁵"
            require(count and 0 <= self.queries <= 10**15, "queries", owner, rule, self.queries, _REMEDY)
        self._check_composition(owner)

    def _check_composition(self, owner: str) -> None:
        share, order = self.delta_of_answers, self.order
        if share is not None:
            number = isinstance(share, Real) and not isinstance(share, bool)
            rule = "be a number from 0 to `delta`, given with `epsilon` and `delta`"
            most = self.delta if self.composes else -1.0
            require(number and 0 <= share <= (most or 0.0), "delta_of_answers", owner, rule, share, _REMEDY)
            object.__setattr__(self, "delta_of_answers", float(share))
        if order is not None:
            rule = (
                f"be one of {', '.join(f'{one:g}' for one in ORDERS[1:])}, given with `epsilon` and `delta`"
            )
            known = not isinstance(order, bool) and order in ORDERS[1:] and self.composes
            require(known, "order", owner, rule, order, "Leave it out to have all of them looked at.")

    @property
    def composes(self) -> bool:
        """Whether the cap is on what all answers are together, (ε, δ), rather than on ε added up."""
        return self.epsilon is not None and bool(self.delta)

    @property
    def delta_together(self) -> float:
        """How much of δ is for adding answers up; 0 where ε is added up."""
        if not self.composes or self.delta is None:
            return 0.0
        return self.delta / 2 if self.delta_of_answers is None else self.delta - self.delta_of_answers


@dataclass(frozen=True)
class Group(Limits):
    """Caps on what several analysts were told together, who may put their answers together.

    `members` are analysts' names, which are compared as they are, character by character: two that look alike
    are two analysts. The empty name is that of whoever gives none.

    >>> Group(epsilon=0.5, members=("local:ann", "local:bo")).members
    ('local:ann', 'local:bo')
    """

    _: KW_ONLY
    members: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        several = isinstance(self.members, Iterable) and not isinstance(self.members, str)
        names = tuple(self.members) if several else ()
        for name in names:
            require_text(name, "members", "Group")
        rule = "be one name or more, none of them twice"
        require(bool(names) and len(set(names)) == len(names), "members", "Group", rule, self.members)
        capped = any(getattr(self, part.name) is not None for part in fields(Limits))
        require(capped, "members", "Group", "stand beside at least one cap", self.members)
        object.__setattr__(self, "members", names)


@dataclass(frozen=True)
class Caps(Limits):
    """All caps of a ledger, which hold at once.

    The fields of `Limits` cap all spending together. `alpha` is the order of every `nats_level`.
    `each_analyst` caps every analyst's own account, `analysts` those of the named ones instead, `groups` what
    the members of each were told together (an analyst may be in several, and all of their caps hold), and
    `each_period` what is spent within one calendar `period` (UTC). A period's account starts afresh with
    the next: only the caps on everything limit what a person risks in the end. It is the period in which an
    answer is asked, or with ``period_by="reference"`` the one that it is about (`Charge.edition`).
    `each_person` are the levels, rising, of the caps on ε that people set themselves: see `docs/ledger.md`.

    >>> monthly = Caps(epsilon=1.0, period="month", each_period=Limits(epsilon=0.2))
    >>> monthly.epsilon, monthly.each_analyst
    (1.0, None)
    """

    alpha: float | None = None
    each_analyst: Limits | None = None
    analysts: Mapping[str, Limits] = field(default_factory=dict)
    each_period: Limits | None = None
    period: Period | None = None
    each_person: tuple[float, ...] = ()
    period_by: Literal["date", "reference"] = "date"
    groups: Mapping[str, Group] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.analysts:
            require_text(name, "analysts", "Caps")
        object.__setattr__(self, "analysts", dict(self.analysts))
        few = len(self.groups) <= MOST_GROUPS
        require(few, "groups", "Caps", f"be {MOST_GROUPS} groups at most", len(self.groups))
        for name, group in self.groups.items():
            require_text(name, "groups", "Caps")
            require(bool(name), "groups", "Caps", "have names", name)
            require(isinstance(group, Group), "groups", "Caps", "be `Group`s by name", group)
        object.__setattr__(self, "groups", dict(self.groups))
        known = self.period in (None, *get_args(Period))
        require(known, "period", "Caps", "be day, week, month or year", self.period)
        both = (self.period is None) == (self.each_period is None)
        require(both, "period", "Caps", "be given together with `each_period`", self.period)
        counts = self.period_by == "date" or (self.period_by == "reference" and self.period is not None)
        rule = "be `date`, or with a `period` `reference`"
        require(counts, "period_by", "Caps", rule, self.period_by)
        self._check_people()
        self._check_level()

    def _check_people(self) -> None:
        levels = tuple(self.each_person)
        numbers = all(isinstance(one, Real) and not isinstance(one, bool) for one in levels)
        rule = f"be rising numbers above 0 and up to {LARGEST:,}, {MOST_LEVELS} at most"
        fits = numbers and len(levels) <= MOST_LEVELS and all(0 < one <= LARGEST for one in levels)
        ticks = [cap_ticks(float(one)) or 0 for one in levels] if fits else []
        rising = fits and all(one < other for one, other in pairwise([0, *ticks]))
        require(rising, "each_person", "Caps", rule, list(levels), _REMEDY)
        object.__setattr__(self, "each_person", tuple(map(float, levels)))

    def _check_level(self) -> None:
        parts = [self, *self.analysts.values(), *self.groups.values()]
        parts += [part for part in (self.each_analyst, self.each_period) if part is not None]
        if self.alpha is None:
            capped = any(part.nats_level is not None for part in parts)
            require(not capped, "alpha", "Caps", "be given with `nats_level`: it is the level", self.alpha)
            return
        number = isinstance(self.alpha, Real) and not isinstance(self.alpha, bool)
        rule = "be above 1 (by at least 10⁻⁶) and at most 1,000,000"
        remedy = "Level 1 is `nats_person`, level ∞ is `epsilon`."
        require(number and 1 + 1e-6 <= self.alpha <= LARGEST, "alpha", "Caps", rule, self.alpha, remedy)
        object.__setattr__(self, "alpha", float(self.alpha))

    @property
    def whole(self) -> Limits:
        """The caps on everything, without those of analysts, groups of them and periods."""
        return Limits(**{part.name: getattr(self, part.name) for part in fields(Limits)})
