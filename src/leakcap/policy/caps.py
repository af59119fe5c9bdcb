"""The caps of a policy: the most that may ever be learned."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from leakcap.ledger import MOST_GROUPS, MOST_LEVELS, Caps, Group, Limits
from leakcap.ledger.chain import require_text
from leakcap.ledger.curve import ORDERS
from leakcap.policy.validation import Strict

__all__ = ["EachPeriod", "GroupCaps", "PolicyCaps", "PolicyLimits", "coin_flip_epsilon"]

_PROMISES = ("epsilon", "rho", "nats_per_person", "nats_level")
"""Caps of which one on everything is a promise to each person."""


class PolicyLimits(Strict):
    """Caps on one account: an analyst's, a group's, a period's.

    With a `delta` above 0 all answers together are (ε, δ)-DP: their Rényi curves are added up. Answers with a
    δ of their own may use `delta_of_answers` of it (half, where it is left out), adding up the rest; `order`
    is the one order that is looked at, named beforehand (all of them, where it is left out). `rho` caps
    zero-concentrated privacy (zCDP), which adds up; without a `delta` beside it nothing may have one.
    """

    epsilon: float | None = Field(default=None, gt=0.0, le=1e6)
    delta: float | None = Field(default=None, ge=0.0, lt=1.0)
    delta_of_answers: float | None = Field(default=None, ge=0.0, lt=1.0)
    order: float | None = Field(default=None, gt=1.0, le=256.0)
    nats_per_person: float | None = Field(default=None, gt=0.0, le=1e6)
    nats_table: float | None = Field(default=None, gt=0.0, le=1e6)
    nats_level: float | None = Field(default=None, gt=0.0, le=1e6)
    rho: float | None = Field(default=None, gt=0.0, le=1e6)
    queries: int | None = Field(default=None, ge=0, le=10**15)

    @property
    def limits(self) -> dict[str, Any]:
        """The caps under the ledger's names."""
        named = {name: getattr(self, name) for name in PolicyLimits.model_fields}
        return {"nats_person": named.pop("nats_per_person"), **named}

    @model_validator(mode="after")
    def _check_composition(self) -> Self:
        if self.delta_of_answers is None and self.order is None:
            return self
        if self.epsilon is None or not self.delta:
            raise ValueError("`delta_of_answers` and `order` need `epsilon` and a `delta` above 0")
        if (self.delta_of_answers or 0.0) > self.delta:
            raise ValueError("`delta_of_answers` is a part of `delta`, and cannot be more")
        if self.order is not None and self.order not in ORDERS:
            raise ValueError(f"`order` is one of {', '.join(f'{one:g}' for one in ORDERS[1:])}")
        return self


class EachPeriod(PolicyLimits):
    """Caps on what is spent within one calendar period; the next period starts afresh.

    It is the period (UTC) in which an answer is asked (`by` is ``date``), or with ``by = "reference"`` the
    one that the answer is about, as `publication.period` of the query file says.
    """

    length: Literal["day", "week", "month", "year"]
    by: Literal["date", "reference"] = "date"


class GroupCaps(PolicyLimits):
    """Caps on what several analysts were told together, who may put their answers together.

    `members` are analysts' names, compared as they are, character by character. The empty name is that of
    whoever gives none.
    """

    members: tuple[str, ...] = Field(min_length=1)

    @field_validator("members", mode="before")
    @classmethod
    def _as_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("members")
    @classmethod
    def _check_members(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"names `{twice}` twice")
        for name in names:
            require_text(name, "members", "caps.groups")
        return names

    @model_validator(mode="after")
    def _check_capped(self) -> Self:
        if all(cap is None for cap in self.limits.values()):
            raise ValueError("a group needs a cap, such as `epsilon`")
        return self


class PolicyCaps(PolicyLimits):
    """The most that may ever be learned: `epsilon`, or `rho`, `nats_per_person` or `nats_level` in its place;
    other currencies where the owner wants them.

    `coin_flip` says ε in odds: no guess between two equally likely possibilities about a person is right more
    often than this, after all answers together. A `delta` takes its part of it; left out it is then 0.
    `nats_level` caps the level-α capacity about one person at order `alpha`.
    `each_analyst` caps every analyst's own account, `analysts` those of the named ones instead, `groups` what
    the members of each were told together, `each_period` what is spent within a day, week, month or year.
    All hold at once.
    `each_person` are the public levels, rising, of the caps on ε that people bring themselves, in the column
    that `unit.caps` names. A cap is worth the largest level that is not above it.
    """

    coin_flip: float | None = Field(default=None, gt=0.5, lt=1.0)
    alpha: float | None = Field(default=None, ge=1 + 1e-6, le=1e6)
    each_analyst: PolicyLimits | None = None
    analysts: dict[str, PolicyLimits] = Field(default_factory=dict)
    groups: dict[Annotated[str, Field(min_length=1)], GroupCaps] = Field(
        default_factory=dict, max_length=MOST_GROUPS
    )
    each_period: EachPeriod | None = None
    each_person: tuple[float, ...] | None = None

    @model_validator(mode="before")
    @classmethod
    def _pure_odds(cls, content: object) -> object:
        """Odds without a `delta` are those of ε alone, and then nothing may have a δ."""
        if not isinstance(content, Mapping) or content.get("coin_flip") is None:
            return content
        return {**content, "delta": 0.0} if content.get("delta") is None else content

    @field_validator("each_person", mode="before")
    @classmethod
    def _as_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("each_person")
    @classmethod
    def _check_people(cls, levels: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if levels is None:
            return None
        fits = 0 < len(levels) <= MOST_LEVELS and all(1e-9 <= one <= 1e6 for one in levels)
        if not fits or any(two - one < 1e-9 for one, two in pairwise(levels)):
            raise ValueError(
                f"give 1 to {MOST_LEVELS} rising levels of ε from 1e-9 to 1e6, at least 1e-9 apart"
            )
        return levels

    @model_validator(mode="after")
    def _check_promise(self) -> Self:
        """One cap on everything has to bound what all answers tell about a person."""
        if all(getattr(self, name) is None for name in _PROMISES):
            raise ValueError("`epsilon` is missing; or give `rho`, `nats_per_person` or `nats_level`")
        if self.epsilon is None and self.each_person is not None:
            raise ValueError("`each_person` needs `epsilon`: people's own caps are on ε")
        return self

    @model_validator(mode="after")
    def _check_level(self) -> Self:
        parts: list[PolicyLimits] = [self, *self.accounts]
        capped = any(part is not None and part.nats_level is not None for part in parts)
        if capped and self.alpha is None:
            raise ValueError("`alpha`, the level of `nats_level`, is missing")
        return self

    @property
    def accounts(self) -> list[PolicyLimits]:
        """The caps beside those on everything: on accounts of analysts, of groups of them, and of periods."""
        either = [one for one in (self.each_analyst, self.each_period) if one is not None]
        return [*either, *self.analysts.values(), *self.groups.values()]

    @property
    def has_room_for_gaussian(self) -> bool:
        """Whether answers without an ε of their own fit: a cap on ε reads it off the curves, which needs a δ,
        or there is none."""
        caps = self.ledger_caps()
        return caps.epsilon is None or caps.delta_together > 0.0

    @property
    def every_account_takes_gaussian(self) -> bool:
        """Whether they fit the accounts of analysts, groups and periods as well."""
        caps = self.ledger_caps()
        parts = [caps.each_analyst, caps.each_period, *caps.analysts.values(), *caps.groups.values()]
        accounts = all(one is None or one.epsilon is None or one.delta_together > 0.0 for one in parts)
        return self.has_room_for_gaussian and accounts and not self.each_person

    def ledger_caps(self) -> Caps:
        """The caps as the ledger keeps them."""
        period = self.each_period
        return Caps(
            **self.limits,
            alpha=self.alpha,
            each_analyst=None if self.each_analyst is None else Limits(**self.each_analyst.limits),
            analysts={name: Limits(**part.limits) for name, part in self.analysts.items()},
            groups={name: Group(**part.limits, members=part.members) for name, part in self.groups.items()},
            each_period=None if period is None else Limits(**period.limits),
            period=None if period is None else period.length,
            period_by="date" if period is None else period.by,
            each_person=self.each_person or (),
        )


def coin_flip_epsilon(success: float, *, contents_apart: int, delta: float = 0.0) -> float:
    """The largest ε with which, beside δ, a coin-flip guess succeeds at most so often; rounded down.

    Two contents one step apart: p ≤ (x + δ)/(1 + x) with x = e^ε. Under add/remove-one two possible contents
    of a person are two steps apart, hence (2ε, (1 + x)δ): p ≤ (x² + δ(1 + x))/(1 + x²). Raises `ValueError`
    where δ alone lets a guess succeed as often.
    Source: Tu 2013, the guessing game, sharpened; Dwork & Roth 2014, theorem 2.2 for groups.

    >>> coin_flip_epsilon(0.6, contents_apart=1), coin_flip_epsilon(0.6, contents_apart=2)
    (0.405465108108, 0.202732554054)
    >>> coin_flip_epsilon(0.72, contents_apart=1, delta=0.3)
    0.405465108108
    """
    # It stands in the policy's fingerprint: in decimals, which are the same on every processor.
    with localcontext(Context(prec=60)):
        p, d = Decimal(repr(float(success))), Decimal(repr(float(delta)))
        odds = (p - d) / (1 - p)
        if contents_apart == 2:
            root = max(d * d + 4 * (1 - p) * (p - d), Decimal(0)).sqrt()
            odds = (root - d) / (2 * (1 - p))
        ticks = (odds.ln() * 10**12).to_integral_value(ROUND_FLOOR) if odds > 0 else Decimal(0)
        if ticks < 1:
            raise ValueError(
                f"`delta` = {delta:g} alone lets a guess succeed as often as `coin_flip` = {success:g} "
                "says; make one of them smaller or larger"
            )
        return float(ticks.scaleb(-12))
