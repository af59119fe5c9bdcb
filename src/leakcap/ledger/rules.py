"""The caps as the ledger keeps them: in ticks, and as the JSON of its first row; and whether a spend fits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from leakcap.errors import BudgetExceeded, Passed
from leakcap.ledger.caps import Caps, Limits, Period
from leakcap.ledger.curve import epsilon_proved, surcharges
from leakcap.ledger.editions import day_label, period_labels
from leakcap.ledger.ticks import AMOUNTS, Ticks, cap_ticks, decimal, total, units_left, units_spent

__all__ = [
    "GROUP",
    "CapsInTicks",
    "excess",
    "held_against",
    "in_units",
    "period_label",
    "refuse",
    "rules_of",
    "rules_read",
    "unallowed_delta",
]

_COLUMN = 2**63 - 1

GROUP = "group"
"""The scope of the account of a group of analysts."""

Content: TypeAlias = Mapping[str, Any]
"""Caps by name, in ticks but for `queries` and `order`; what is not capped is left out."""


@dataclass(frozen=True)
class CapsInTicks:
    """Caps in ticks: on everything, on each analyst's account, on a group's (and who its `members` are), on a
    period's; the levels of people's own.

    Each is kept as it stands in the JSON, by name; `whole`, `of_analyst`, `of_group` and `of_period` are what
    is held.
    """

    everything: Content
    alpha: float | None
    each_analyst: Content | None
    analysts: Mapping[str, Content]
    each_period: Content | None
    period: Period | None
    each_person: tuple[int, ...] = ()
    by_reference: bool = False
    groups: Mapping[str, Content] = field(default_factory=dict)
    members: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def by_analyst(self) -> bool:
        """Whether analysts have accounts of their own, each for himself or with others in a group."""
        return self.each_analyst is not None or bool(self.analysts) or bool(self.groups)

    @cached_property
    def whole(self) -> Ticks:
        """The caps on everything."""
        return _held(self.everything)

    @property
    def of_period(self) -> Ticks | None:
        """The caps of a period's account; None where there are none."""
        return None if self.each_period is None else _held(self.each_period)

    def of_analyst(self, name: str) -> Ticks | None:
        """The caps of one analyst's account; None where there are none."""
        caps = self.analysts.get(name, self.each_analyst)
        return None if caps is None else _held(caps)

    def of_group(self, name: str) -> Ticks:
        """The caps of a group's account."""
        return _held(self.groups[name])

    def groups_of(self, analyst: str) -> list[str]:
        """The groups that an analyst is in, by their names.

        >>> rules_read('{"groups":{"ward":{"epsilon":1,"members":["ann","bo"]}}}').groups_of("bo")
        ['ward']
        """
        return [name for name, members in self.members.items() if analyst in members]

    def held_by(self, scope: str, name: str) -> Ticks | None:
        """The caps of an account that is on neither everything nor a level of people's own caps."""
        if scope == "analyst":
            return self.of_analyst(name)
        return self.of_group(name) if scope == GROUP else self.of_period

    @property
    def period_scope(self) -> str:
        """The scope of a period's account: ``month``, or ``reference month``."""
        return f"reference {self.period}" if self.by_reference else str(self.period)

    def places(self, analyst: str, time: str, reference: str = "") -> list[tuple[str, str]]:
        """The accounts, beside those of everything and of groups, that a spend is booked on: scope and name.

        Where periods count by reference, these are all that the `reference` period touches; a spend that
        names none, from before they did, counts for the period in which it was asked.

        >>> rules = rules_read('{"each_period":{"epsilon":1},"period":"month"}')
        >>> rules.places("ng", "2026-03-01T12:00:00+00:00")
        [('month', '2026-03')]
        """
        found = [("analyst", analyst)] if self.of_analyst(analyst) is not None else []
        if self.period is not None:
            named = period_labels(reference, self.period) if self.by_reference else []
            asked = [period_label(self.period, datetime.fromisoformat(time))]
            found += [(self.period_scope, name) for name in named or asked]
        return found

    @cached_property
    def text(self) -> str:
        """Canonical JSON, without what is not capped."""
        content: dict[str, Any] = dict(self.everything)
        if self.alpha is not None:
            content["alpha"] = self.alpha
        if self.each_analyst is not None:
            content["each_analyst"] = dict(self.each_analyst)
        if self.analysts:
            content["analysts"] = {name: dict(caps) for name, caps in self.analysts.items()}
        if self.groups:
            content["groups"] = {
                name: {**caps, "members": sorted(self.members[name])} for name, caps in self.groups.items()
            }
        if self.each_period is not None:
            content |= {"period": self.period, "each_period": dict(self.each_period)}
            content |= {"period_by": "reference"} if self.by_reference else {}
        if self.each_person:
            content["each_person"] = list(self.each_person)
        return json.dumps(content, sort_keys=True, separators=(",", ":"))


def rules_of(caps: Caps) -> CapsInTicks:
    """The caps in ticks, rounded down.

    >>> rules_of(Caps(epsilon=0.9)).text
    '{"epsilon":900000000000}'
    """
    return CapsInTicks(
        everything=_content(caps),
        alpha=caps.alpha,
        each_analyst=None if caps.each_analyst is None else _content(caps.each_analyst),
        analysts={name: _content(limits) for name, limits in caps.analysts.items()},
        each_period=None if caps.each_period is None else _content(caps.each_period),
        period=caps.period,
        each_person=tuple(cap_ticks(level) or 0 for level in caps.each_person),
        by_reference=caps.period_by == "reference",
        groups={name: _content(group) for name, group in caps.groups.items()},
        members={name: frozenset(group.members) for name, group in caps.groups.items()},
    )


@lru_cache(maxsize=64)
def rules_read(text: str) -> CapsInTicks:
    """The rules that `CapsInTicks.text` wrote, in this version or an older one.

    >>> rules_read('{"delta":null,"epsilon":900000000000}') == rules_of(Caps(epsilon=0.9))
    True
    """
    content = json.loads(text)
    analyst, period = content.get("each_analyst"), content.get("each_period")
    return CapsInTicks(
        everything=_read(content),
        alpha=content.get("alpha"),
        each_analyst=None if analyst is None else _read(analyst),
        analysts={name: _read(caps) for name, caps in content.get("analysts", {}).items()},
        each_period=None if period is None else _read(period),
        period=content.get("period"),
        each_person=tuple(content.get("each_person", ())),
        by_reference=content.get("period_by") == "reference",
        groups={name: _read(caps) for name, caps in content.get("groups", {}).items()},
        members={name: frozenset(caps["members"]) for name, caps in content.get("groups", {}).items()},
    )


def period_label(period: Period, moment: datetime) -> str:
    """The name of the calendar period (UTC) that holds a moment.

    >>> from datetime import UTC
    >>> new_year = datetime(2027, 1, 1, tzinfo=UTC)
    >>> [period_label(period, new_year) for period in ("day", "week", "month", "year")]
    ['2027-01-01', '2026-W53', '2027-01', '2027']
    """
    return day_label(period, moment.date())


def _content(limits: Limits) -> Content:
    amounts = {name: cap_ticks(getattr(limits, name)) for name in (*AMOUNTS, "delta_of_answers")}
    content = {**amounts, "queries": limits.queries, "order": limits.order}
    return {name: cap for name, cap in content.items() if cap is not None}


def _read(content: Content) -> Content:
    names = (*AMOUNTS, "delta_of_answers", "queries", "order")
    return {name: content[name] for name in names if content.get(name) is not None}


def _held(content: Content) -> Ticks:
    """What an account is held to: with ε and a δ the one that answers may use, and each order's surcharge.
    ρ says nothing of a δ: beside it one that is left out is 0."""
    plain = Ticks.of([*(content.get(name) for name in AMOUNTS), content.get("queries")])
    if plain.rho is not None and plain.delta is None:
        plain = plain._replace(delta=0)
    if plain.epsilon is None or not plain.delta:
        return plain
    own = content.get("delta_of_answers", plain.delta // 2)
    curve = surcharges(plain.delta - own, content.get("order")) if own < plain.delta else ()
    return plain._replace(delta=own, curve=curve)


def excess(spent: Ticks, asked: Ticks, caps: Ticks, owner: str, **whose: str) -> list[tuple[Passed, str]]:
    """Each cap that would be passed, and a sentence that says so. The account is that of `owner`; `whose`
    names it as `Passed` has it: an analyst's, a group's, a period's, or the level of people's own caps.

    >>> tenth = Ticks(100_000_000_000, 0, 0, 0)
    >>> caps = Ticks(150_000_000_000, None, None, None)
    >>> (passed, sentence), = excess(tenth, tenth, caps, "dataset `patients`")
    >>> passed.cap, passed.limit, passed.left, passed.asked, passed.group
    ('epsilon', 0.15, 0.05, 0.1, None)
    >>> sentence
    '`epsilon` cap of dataset `patients` would be exceeded: 0.05 left of 0.15, 0.1 asked.'
    """
    before, after = held_against(spent, caps), held_against(total([spent, asked]), caps)
    found = []
    for name, was, ask, cap, sum_ in zip(
        Ticks._fields[:-1], before.numbers, asked.numbers, caps.numbers, after.numbers, strict=True
    ):
        if _passes(sum_, cap):
            more = sum_ - was if name == "epsilon" and sum_ is not None and was is not None else ask
            together = " (all answers together)" if name == "epsilon" and caps.curve else ""
            sentence = _sentence(name, was, more, cap, owner, together)
            found.append((_passed(name, was, more, cap, whose), sentence))
    return found


def unallowed_delta(asked: Ticks, caps: Ticks, owner: str, **whose: str) -> list[tuple[Passed, str]]:
    """A δ that is asked under a cap on ε beside which there is none: the cap promises ε alone.

    >>> (_, sentence), = unallowed_delta(Ticks(0, 10**6, 0, 0), Ticks(10**12, None, None, None), "us")
    >>> sentence
    'The caps of us have an `epsilon` and no `delta`, so that no answer may have a δ: one of 0.000001 is ...'
    """
    if caps.epsilon is None or caps.delta is not None or asked.delta == 0:
        return []
    wish = "without a bound" if asked.delta is None else f"of {decimal(asked.delta)}"
    told = (
        f"The caps of {owner} have an `epsilon` and no `delta`, so that no answer may have a δ: one {wish} "
        "is asked."
    )
    return [(_passed("delta", 0, asked.delta, 0, whose), told)]


def refuse(found: Sequence[tuple[Passed, str]], own: Sequence[tuple[Passed, str]] = ()) -> None:
    """Raise `BudgetExceeded` if any cap would be passed; `own` are those that people set themselves.

    >>> refuse([])
    """
    if found or own:
        text = " ".join(sentence for _, sentence in (*found, *own))
        may = " The data's owner may raise a cap: `leakcap ledger amend`." if found else ""
        set_ = " What people set themselves nobody may raise." if own else ""
        # Where no δ is allowed a smaller one is refused too.
        none = found and not own and all(one.cap == "delta" and one.limit == 0.0 for one, _ in found)
        less = "Ask without a δ." if none else "Ask for less."
        raise BudgetExceeded(
            f"{text} Nothing was spent. {less}{may}{set_}",
            passed=[passed for passed, _ in (*found, *own)],
        )


def held_against(spent: Ticks, caps: Ticks) -> Ticks:
    """What is held against the caps: of ε the least that the sums of the curves prove under these caps."""
    if not caps.curve:
        return spent
    return spent._replace(epsilon=epsilon_proved(spent.epsilon, spent.curve, caps.curve))


def _passes(sum_: int | None, cap: int | None) -> bool:
    if sum_ is None:
        return cap is not None
    # Without a cap the column's width is one: a sum that does not fit must not wrap around.
    return sum_ > (_COLUMN if cap is None else cap)


def _passed(
    name: str, spent: int | None, asked: int | None, cap: int | None, whose: Mapping[str, str]
) -> Passed:
    ceiling = _COLUMN if cap is None else cap
    left = 0 if spent is None else max(0, ceiling - spent)
    return Passed(
        name,
        in_units(name, ceiling, units_left),
        in_units(name, left, units_left),
        None if asked is None else in_units(name, asked, units_spent),
        **whose,
    )


def _sentence(
    name: str, spent: int | None, asked: int | None, cap: int | None, owner: str, together: str
) -> str:
    say = str if name == "queries" else decimal
    ceiling = _COLUMN if cap is None else cap
    left = "nothing" if spent is None else say(max(0, ceiling - spent))
    wish = "and no bound is known for what was asked" if asked is None else f"{say(asked)} asked"
    return f"`{name}` cap of {owner} would be exceeded: {left} left of {say(ceiling)}{together}, {wish}."


def in_units(name: str, amount: int, shown: Callable[[int], float]) -> float:
    """So many ticks of a currency in its unit, as `shown` rounds them; queries are counted one by one."""
    return float(amount) if name == "queries" else shown(amount)
