"""The owner's policy: public facts about a table, and the caps on what may ever be learned from it.

Nothing in a policy may be read off the data. Bounds and keys are facts that hold for every table that could
have been (a radius lies between 0 and 50 µm), the number of units is one the owner publishes anyway.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

from leakcap.errors import InvalidPolicy
from leakcap.ledger import MOST_LEVELS, Caps, Limits
from leakcap.ledger.chain import text_hash
from leakcap.release.validation import complaints, read_toml

__all__ = [
    "Column",
    "EachPeriod",
    "IdUnit",
    "Key",
    "Policy",
    "PolicyCaps",
    "PolicyLimits",
    "RowUnit",
    "Table",
    "coin_flip_epsilon",
    "load_policy",
]

Key: TypeAlias = str | int | bool

# Bounds outside ±LARGEST, or closer than 1/LARGEST, would leave the range in which x·2^j is exact in doubles.
LARGEST = 1e90
# More units than this is a typing error; it keeps whole-table totals far inside 128 bits.
MOST_UNITS = 10**12
_FIRST_CAPS = ("epsilon", "delta", "nats_per_person", "nats_table")
_KEY_TYPES = {str: "text", int: "integer", bool: "boolean"}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Column(_Strict):
    """What is publicly known of one column: `bounds` of a number, or the `keys` of a category.

    `keys = "private"` says that the keys themselves are not public: groups by such a column need a threshold
    and a δ (`type = "integer"` where they are not text).
    `fill` is the public value that stands in for a missing one; without it missing values are left out of
    sums, means and histograms, so that whether a value is missing is protected like the value itself.
    `bounds = "unknown"` says that no range is publicly known: the query `bounds` looks for one, at a price.

    >>> Column(bounds=(0.0, 50.0)).kind
    'number'
    >>> Column(keys=("benign", "malignant")).kind
    'text'
    """

    bounds: tuple[float, float] | None = None
    fill: float | None = None
    keys: tuple[Key, ...] | None = None
    private: Literal["text", "integer"] | None = None
    unknown: bool = False

    @model_validator(mode="before")
    @classmethod
    def _private_keys(cls, content: object) -> object:
        """`keys = "private"`, with `type = "integer"` where they are no text; `bounds = "unknown"`."""
        if isinstance(content, Mapping) and content.get("bounds") == "unknown":
            return {**{name: value for name, value in content.items() if name != "bounds"}, "unknown": True}
        if not isinstance(content, Mapping) or content.get("keys") != "private":
            return content
        rest = {name: value for name, value in content.items() if name not in ("keys", "type")}
        return {**rest, "private": content.get("type", "text")}

    @field_validator("bounds", "keys", mode="before")
    @classmethod
    def _as_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.unknown:
            if (self.bounds, self.keys, self.fill, self.private) == (None,) * 4:
                return self
            raise ValueError('`bounds = "unknown"` stands alone: no `keys`, no `fill`')
        if self.private is not None and (self.bounds, self.keys, self.fill) == (None, None, None):
            return self
        if self.private is not None or (self.bounds is None) == (self.keys is None):
            raise ValueError("a column needs either `bounds = [low, high]` or `keys = [...]`, and not both")
        if self.bounds is not None:
            _check_bounds(self.bounds, self.fill)
        if self.keys is not None:
            _check_keys(self.keys)
            if self.fill is not None:
                raise ValueError("`fill` goes with `bounds` only")
        return self

    @property
    def kind(self) -> Literal["number", "text", "integer", "boolean"]:
        """How the engine reads the column."""
        if self.private is not None:
            return self.private
        if self.keys is None:
            return "number"
        first = self.keys[0]
        if isinstance(first, bool):
            return "boolean"
        return "text" if isinstance(first, str) else "integer"


def _check_bounds(bounds: tuple[float, float], fill: float | None) -> None:
    low, high = bounds
    if not low < high:
        raise ValueError("`bounds` must be [low, high] with low < high")
    if max(abs(low), abs(high)) > LARGEST or high - low < 1.0 / LARGEST:
        raise ValueError(f"`bounds` must lie within ±{LARGEST:g} and at least {1.0 / LARGEST:g} apart")
    if fill is not None and not low <= fill <= high:
        raise ValueError("`fill` must lie within `bounds`")


def _check_keys(keys: tuple[Key, ...]) -> None:
    if not keys:
        raise ValueError("`keys` must name at least one key")
    if len({type(key) for key in keys}) > 1:
        raise ValueError("`keys` must be all text, all integers or all true/false")
    if len(set(keys)) < len(keys):
        raise ValueError("`keys` must not repeat a key")
    if any(isinstance(key, int) and abs(key) >= 2**63 for key in keys):
        raise ValueError("`keys` that are integers must fit in 64 bits")
    if any(isinstance(key, str) and not _storable(key) for key in keys):
        raise ValueError(
            "`keys` must be text that a database can hold: no null characters, no half surrogates"
        )


def _storable(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)


class IdUnit(_Strict):
    """The unit is a person with an id: all rows that carry it, of which at most `max_rows` are used.

    With `max_groups` they are used in that many groups of a `by` at most. `caps` names the column in which
    each person has a cap of their own, if there is one: see `PolicyCaps.each_person`.
    """

    id: str = Field(min_length=1)
    max_rows: int = Field(default=1, ge=1, le=10**6)
    max_groups: int | None = Field(default=None, ge=1, le=10**6)
    caps: str | None = Field(default=None, min_length=1)


class RowUnit(_Strict):
    """The unit is a row, with a cap of its own in the column `caps`."""

    caps: str = Field(min_length=1)


def _told(unit: object) -> str:
    """Which of the two a unit is that is more than a word: a person with an id, unless it has only caps."""
    alone = (
        isinstance(unit, Mapping) and "caps" in unit and not {"id", "max_rows", "max_groups"} & unit.keys()
    )
    return "RowUnit" if alone or isinstance(unit, RowUnit) else "IdUnit"


_PersonOrRow = Annotated[
    Annotated[IdUnit, Tag("IdUnit")] | Annotated[RowUnit, Tag("RowUnit")], Discriminator(_told)
]


class Table(_Strict):
    """Another table that rows may be joined with: a person's own, or a public one.

    With `id` the table belongs to the people of the policy's unit: its column `id` names them, and at most
    one of its rows is used for each. With `public = true` nobody is in it: its column `key` is met by the
    column `on` of the data, and at most one of its rows is used for each key.

    >>> Table(id="person_id", columns={"sex": Column(keys=("f", "m"))}).key_column
    'person_id'
    """

    id: str | None = Field(default=None, min_length=1)
    public: bool = False
    key: str | None = Field(default=None, min_length=1)
    on: str | None = Field(default=None, min_length=1)
    columns: Annotated[dict[str, Column], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.public and (self.id is not None or self.key is None or self.on is None):
            raise ValueError("a public table needs `key` and `on`, and no `id`")
        if not self.public and (self.id is None or (self.key, self.on) != (None, None)):
            raise ValueError("a table needs the `id` of its people, or `public = true` with `key` and `on`")
        _check_names([*self.columns, *({self.key_column} - set(self.columns))])
        return self

    @property
    def key_column(self) -> str:
        """The column of the table by which its rows are met."""
        return self.id or self.key or ""


def _check_names(columns: Iterable[str]) -> None:
    names = [name.lower() for name in columns]
    if len(set(names)) < len(names):
        raise ValueError("two `columns` differ only in upper and lower case")
    if any(not name or "\0" in name for name in names):
        raise ValueError("a name in `columns` is empty or has a null character")


class PolicyLimits(_Strict):
    """Caps on one account: an analyst's, a period's."""

    epsilon: float | None = Field(default=None, gt=0.0, le=1e6)
    delta: float | None = Field(default=None, ge=0.0, lt=1.0)
    nats_per_person: float | None = Field(default=None, gt=0.0, le=1e6)
    nats_table: float | None = Field(default=None, gt=0.0, le=1e6)
    nats_level: float | None = Field(default=None, gt=0.0, le=1e6)
    queries: int | None = Field(default=None, ge=0, le=10**15)

    @property
    def limits(self) -> dict[str, Any]:
        """The caps under the ledger's names."""
        named = {name: getattr(self, name) for name in PolicyLimits.model_fields}
        return {"nats_person": named.pop("nats_per_person"), **named}


class EachPeriod(PolicyLimits):
    """Caps on what is spent within one calendar period (UTC); the next period starts afresh."""

    length: Literal["day", "week", "month", "year"]


class PolicyCaps(PolicyLimits):
    """The most that may ever be learned: `epsilon` always, other currencies where the owner wants them.

    `coin_flip` says ε in odds: no guess between two equally likely possibilities about a person is right more
    often than this. δ would add to it, so `delta` is then 0 and nothing else.
    `nats_level` caps the level-α capacity about one person at order `alpha`.
    `each_analyst` caps every analyst's own account, `analysts` those of the named ones instead,
    `each_period` what is spent within a day, week, month or year. All hold at once.
    `each_person` are the public levels, rising, of the caps on ε that people bring themselves, in the column
    that `unit.caps` names. A cap is worth the largest level that is not above it.
    """

    epsilon: float = Field(gt=0.0, le=1e6)
    coin_flip: float | None = Field(default=None, gt=0.5, lt=1.0)
    alpha: float | None = Field(default=None, ge=1 + 1e-6, le=1e6)
    each_analyst: PolicyLimits | None = None
    analysts: dict[str, PolicyLimits] = Field(default_factory=dict)
    each_period: EachPeriod | None = None
    each_person: tuple[float, ...] | None = None

    @model_validator(mode="before")
    @classmethod
    def _pure_odds(cls, content: object) -> object:
        """(ε, δ) lets a coin-flip guess succeed with (e^ε + δ)/(1 + e^ε): odds hold only without δ."""
        if not isinstance(content, Mapping) or content.get("coin_flip") is None:
            return content
        delta = content.get("delta")
        if isinstance(delta, int | float) and delta > 0:
            raise ValueError(
                "`delta` > 0 lets a guess succeed more often than `coin_flip` says; remove `delta`, or give "
                "`epsilon` in place of `coin_flip`"
            )
        return {**content, "delta": 0.0} if delta is None else content

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
    def _check_level(self) -> Self:
        parts = [self, self.each_analyst, self.each_period, *self.analysts.values()]
        capped = any(part is not None and part.nats_level is not None for part in parts)
        if capped and self.alpha is None:
            raise ValueError("`alpha`, the level of `nats_level`, is missing")
        return self

    def ledger_caps(self) -> Caps:
        """The caps as the ledger keeps them."""
        period = self.each_period
        return Caps(
            **self.limits,
            alpha=self.alpha,
            each_analyst=None if self.each_analyst is None else Limits(**self.each_analyst.limits),
            analysts={name: Limits(**part.limits) for name, part in self.analysts.items()},
            each_period=None if period is None else Limits(**period.limits),
            period=None if period is None else period.length,
            each_person=self.each_person or (),
        )


def coin_flip_epsilon(success: float, *, contents_apart: int) -> float:
    """The largest ε under which a coin-flip guess succeeds at most so often: ln(p/(1−p)) per step, rounded
    down.

    Under add/remove-one two possible contents of a person are two steps apart, so that each gets half.
    Source: Tu 2013, the guessing game, sharpened.

    >>> coin_flip_epsilon(0.6, contents_apart=1), coin_flip_epsilon(0.6, contents_apart=2)
    (0.405465108108, 0.202732554054)
    """
    # It stands in the policy's fingerprint: in decimals, which are the same on every processor.
    with localcontext(Context(prec=60)):
        p = Decimal(repr(float(success)))
        ticks = (p / (1 - p)).ln() * 10**12 / contents_apart
        return float(ticks.to_integral_value(ROUND_FLOOR).scaleb(-12))


class Policy(_Strict):
    """The whole policy.

    `neighbours` says who is hidden from whom: under ``replace-one`` the number of units is public (`rows`),
    and one unit's data is replaced by any other; under ``add-remove-one`` whether a unit is in the table at
    all is hidden as well. `rows` (exact, public) or `max_rows` (a public upper bound) counts privacy units:
    rows when the unit is a row, distinct ids when it is an id.

    >>> policy = Policy(
    ...     dataset="ward", neighbours="replace-one", rows=20,
    ...     columns={"age": Column(bounds=(0.0, 120.0))}, caps=PolicyCaps(epsilon=1.0),
    ... )
    >>> policy.rows_per_unit, policy.units
    (1, 20)
    """

    dataset: str = Field(min_length=1)
    unit: Literal["row"] | _PersonOrRow = "row"
    neighbours: Literal["replace-one", "add-remove-one"]
    rows: int | None = Field(default=None, ge=1, le=MOST_UNITS)
    max_rows: int | None = Field(default=None, ge=1, le=MOST_UNITS)
    columns: Annotated[dict[str, Column], Field(min_length=1)]
    tables: dict[str, Table] = Field(default_factory=dict)
    caps: PolicyCaps

    @model_validator(mode="before")
    @classmethod
    def _from_odds(cls, content: object) -> object:
        """Fill in the ε that `coin_flip` stands for; with both given they must agree."""
        caps = content.get("caps") if isinstance(content, Mapping) else None
        if not isinstance(content, Mapping) or not isinstance(caps, Mapping):
            return content
        success = caps.get("coin_flip")
        if not isinstance(success, float) or not 0.5 < success < 1.0:
            return content
        apart = 2 if content.get("neighbours") == "add-remove-one" else 1
        epsilon = coin_flip_epsilon(success, contents_apart=apart)
        if caps.get("epsilon", epsilon) != epsilon:
            raise ValueError(
                f"`caps.coin_flip` = {success:g} means `caps.epsilon` = {epsilon}; give only one"
            )
        return {**content, "caps": {**caps, "epsilon": epsilon}}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _check_names(self.columns)
        self._check_units()
        self._check_people()
        self._check_tables()
        return self

    def _check_people(self) -> None:
        """People's own caps need a column and levels, and neighbours that keep a person's cap."""
        if self.caps_column is None and self.caps.each_person is None:
            return
        if self.caps_column is None:
            raise ValueError("`unit.caps`, the column of the caps in `caps.each_person`, is missing")
        if self.caps.each_person is None:
            raise ValueError("`caps.each_person`, the levels of the caps in `unit.caps`, is missing")
        if self.neighbours == "replace-one":
            raise ValueError(
                "`unit.caps` goes with add-remove-one neighbours only: under replace-one whoever takes a "
                "person's place may bring another cap, and would be counted where the person is not"
            )
        _check_names(
            dict.fromkeys((*self.columns, *([self.id_column] if self.id_column else []), self.caps_column))
        )

    def _check_tables(self) -> None:
        """Names of tables are plain words, so that `people.sex` can mean one thing only."""
        names = [name.lower() for name in self.tables]
        if len({*names, self.dataset.lower()}) <= len(names):
            raise ValueError("two of `tables` and `dataset` differ only in upper and lower case")
        own = {name.lower() for name in (*self.columns, self.id_column or "")}
        for name, table in self.tables.items():
            if not (name.isascii() and name.isidentifier()):
                raise ValueError(f"`tables.{name}` must be called by a plain word")
            # PostgreSQL cuts longer names, and two could become one.
            if len(name) > 30 or any(len(f"{name}.{one}".encode()) > 63 for one in table.columns):
                raise ValueError(f"`tables.{name}`, or a column of it, has too long a name")
            if any(column.startswith(f"{name.lower()}.") for column in own):
                raise ValueError(f"a column is called like a column of `tables.{name}`")
            self._check_reference(name, table)

    def _check_reference(self, name: str, table: Table) -> None:
        if table.id is not None and self.id_column is None:
            raise ValueError(f"`tables.{name}` has an `id`, but the unit is a row; give `unit` an id")
        if table.on is not None:
            known = self.columns.get(table.on)
            if known is None or known.kind == "number":
                raise ValueError(f"`tables.{name}.on` must name a column of `columns` that has keys")

    def _check_units(self) -> None:
        replace = self.neighbours == "replace-one"
        if replace and self.rows is None:
            raise ValueError("`rows`, the public number of units, is required under replace-one neighbours")
        if replace and self.max_rows is not None:
            raise ValueError("`max_rows` goes with add-remove-one neighbours; under replace-one give `rows`")
        if not replace and self.rows is not None:
            raise ValueError(
                "`rows` is not public under add-remove-one neighbours; give `max_rows`, a public upper bound"
            )
        parts = [self.caps, self.caps.each_analyst, self.caps.each_period, *self.caps.analysts.values()]
        if any(part is not None and part.nats_table is not None for part in parts) and self.units is None:
            raise ValueError("`max_rows` is required when `caps.nats_table` is set")

    @property
    def rows_per_unit(self) -> int:
        """How many rows of one unit are used at most."""
        return self.unit.max_rows if isinstance(self.unit, IdUnit) else 1

    @property
    def groups_per_unit(self) -> int:
        """In how many groups of a `by` rows of one unit are used at most."""
        groups = self.unit.max_groups if isinstance(self.unit, IdUnit) else None
        return self.rows_per_unit if groups is None else min(groups, self.rows_per_unit)

    @property
    def id_column(self) -> str | None:
        """The column that names the unit; None when a row is the unit."""
        return self.unit.id if isinstance(self.unit, IdUnit) else None

    @property
    def caps_column(self) -> str | None:
        """The column of the caps that people bring themselves; None where they bring none."""
        return None if self.unit == "row" else self.unit.caps

    @property
    def units(self) -> int | None:
        """The public number of units, or the public upper bound on it; None when there is neither."""
        return self.rows if self.rows is not None else self.max_rows

    def text(self) -> str:
        """The policy as canonical JSON: what the fingerprint is of, and what a ledger keeps of it."""
        content = self.model_dump(mode="json")
        # What came later counts only where it is used, so that older policies keep their fingerprints.
        caps = content["caps"]
        content["caps"] = {
            name: cap for name, cap in caps.items() if name in _FIRST_CAPS or cap not in (None, {})
        }
        if isinstance(content["unit"], dict):
            unit = content["unit"].items()
            content["unit"] = {n: v for n, v in unit if n not in ("max_groups", "caps") or v is not None}
        for column in content["columns"].values():
            if column["private"] is None:
                del column["private"]
            if not column["unknown"]:
                del column["unknown"]
        if not content["tables"]:
            del content["tables"]
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)

    def fingerprint(self) -> str:
        """SHA-256 of the policy's text: it binds a ledger to the policy."""
        return text_hash(self.text())


def load_policy(source: Policy | str | Path | Mapping[str, Any]) -> Policy:
    """A policy from a TOML file, a mapping, or as it is. Raises `InvalidPolicy`, one line per broken rule.

    >>> load_policy({"dataset": "d", "neighbours": "add-remove-one", "colums": {}})
    Traceback (most recent call last):
    leakcap.errors.InvalidPolicy: `caps` of `policy` is missing.
    `columns` of `policy` is missing.
    `colums` of `policy` is not a known field. Remove it or check its spelling.
    """
    if isinstance(source, Policy):
        return source
    if isinstance(source, Mapping):
        owner, content = "policy", dict(source)
    else:
        owner, content = str(source), read_toml(Path(source), InvalidPolicy)
    try:
        return Policy.model_validate(content)
    except ValidationError as error:
        raise InvalidPolicy(complaints(error, owner)) from None
