"""The owner's policy: public facts about a table, and the caps on what may ever be learned from it.

Nothing in a policy may be read off the data. Bounds and keys are facts that hold for every table that could
have been (a radius lies between 0 and 50 µm), the number of units is one the owner publishes anyway.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, ValidationError, field_validator, model_validator

from leakcap.errors import InvalidPolicy
from leakcap.ledger.chain import text_hash
from leakcap.policy.caps import PolicyCaps, coin_flip_epsilon
from leakcap.policy.column_rules import check_names
from leakcap.policy.declared import Column
from leakcap.policy.key_files import with_key_files
from leakcap.policy.planned import PolicyPlan, check_deltas, check_plans
from leakcap.policy.resolving import check_not_derived, resolved
from leakcap.policy.survey import SurveyDesign, check_survey
from leakcap.policy.tables import JoinedTable
from leakcap.policy.validation import Strict, complaints, read_toml

__all__ = ["IdUnit", "Policy", "RowUnit", "load_policy"]

# More units than this is a typing error; it keeps whole-table totals far inside 128 bits.
MOST_UNITS = 10**12
_FIRST_CAPS = ("epsilon", "delta", "nats_per_person", "nats_table")


class IdUnit(Strict):
    """The unit is a person with an id: all rows that carry it, of which at most `max_rows` are used.

    With `max_groups` they are used in that many groups of a `by` at most. `row` names a column that tells the
    rows of a person apart, by which those that are used are chosen: the same ones in every answer. `caps`
    names the column in which each person has a cap of their own, if there is one: see
    `PolicyCaps.each_person`.
    """

    id: str = Field(min_length=1)
    max_rows: int = Field(default=1, ge=1, le=10**6)
    max_groups: int | None = Field(default=None, ge=1, le=10**6)
    caps: str | None = Field(default=None, min_length=1)
    row: str | None = Field(default=None, min_length=1)


class RowUnit(Strict):
    """The unit is a row, with a cap of its own in the column `caps`."""

    caps: str = Field(min_length=1)


def _told(unit: object) -> str:
    """Which of the two a unit is that is more than a word: a person with an id, unless it has only caps."""
    alone = (
        isinstance(unit, Mapping)
        and "caps" in unit
        and not {"id", "max_rows", "max_groups", "row"} & unit.keys()
    )
    return "RowUnit" if alone or isinstance(unit, RowUnit) else "IdUnit"


_PersonOrRow = Annotated[
    Annotated[IdUnit, Tag("IdUnit")] | Annotated[RowUnit, Tag("RowUnit")], Discriminator(_told)
]


class Policy(Strict):
    """The whole policy.

    `neighbours` says who is hidden from whom: under ``replace-one`` the number of units is public (`rows`),
    and one unit's data is replaced by any other; under ``add-remove-one`` whether a unit is in the table at
    all is hidden as well. `rows` (exact, public) or `max_rows` (a public upper bound) counts privacy units:
    rows when the unit is a row, distinct ids when it is an id. `plan` are answers that are fixed and paid for
    beforehand: see `PolicyPlan`. `survey` says how the rows were
    drawn, if they are a sample: see `SurveyDesign`.

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
    tables: dict[str, JoinedTable] = Field(default_factory=dict)
    caps: PolicyCaps
    plan: tuple[PolicyPlan, ...] = ()
    survey: SurveyDesign | None = None

    @field_validator("plan", mode="before")
    @classmethod
    def _as_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

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
        delta = caps.get("delta")
        if delta is not None and not (isinstance(delta, int | float) and 0.0 <= delta < 1.0):
            return content
        epsilon = coin_flip_epsilon(success, contents_apart=apart, delta=delta or 0.0)
        if caps.get("epsilon", epsilon) != epsilon:
            raise ValueError(
                f"`caps.coin_flip` = {success:g} means `caps.epsilon` = {epsilon}; give only one"
            )
        return {**content, "caps": {**caps, "epsilon": epsilon}}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_names(self.columns)
        object.__setattr__(self, "columns", resolved(self.columns))
        named = {"`unit.id`": self.id_column, "`unit.row`": self.row_key, "`unit.caps`": self.caps_column}
        check_not_derived(self.columns, named)
        if self.row_key is not None and self.row_key == self.id_column:
            raise ValueError("`unit.row` must name another column than `unit.id`: one that tells rows apart")
        self._check_units()
        self._check_people()
        self._check_tables()
        check_survey(self.survey, self.columns, self.rows_per_unit)
        check_plans(self.plan, self.neighbours)
        check_deltas(self.plan, self.caps.delta)
        if self.plan and self.caps.each_person is not None:
            raise ValueError("a `plan` goes without `caps.each_person`: people's own caps are on ε added up")
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
        check_names(
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

    def _check_reference(self, name: str, table: JoinedTable) -> None:
        if table.id is not None and self.id_column is None:
            raise ValueError(f"`tables.{name}` has an `id`, but the unit is a row; give `unit` an id")
        if table.on is not None:
            known = self.columns.get(table.on)
            if known is None or known.kind not in ("text", "integer", "boolean") or not known.stored:
                raise ValueError(f"`tables.{name}.on` must name a stored column of `columns` that has keys")

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
        parts = [self.caps, *self.caps.accounts]
        if any(part.nats_table is not None for part in parts) and self.units is None:
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
    def row_key(self) -> str | None:
        """The column that tells the rows of a person apart; None where the policy names none."""
        return self.unit.row if isinstance(self.unit, IdUnit) else None

    @property
    def caps_column(self) -> str | None:
        """The column of the caps that people bring themselves; None where they bring none."""
        return None if self.unit == "row" else self.unit.caps

    @property
    def units(self) -> int | None:
        """The public number of units, or the public upper bound on it; None when there is neither."""
        return self.rows if self.rows is not None else self.max_rows

    @property
    def has_cases(self) -> bool:
        """Whether a column of it, or of its tables, is a `case`, whose text is still to be read."""
        columns = (self.columns, *(table.columns for table in self.tables.values()))
        return any(one.case is not None for each in columns for one in each.values())

    def followed(self, names: Iterable[str]) -> set[str]:
        """These columns, and all that they are derived from."""
        found, left = set[str](), list(names)
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                known = self.columns[name]
                left += () if known.stored else known.sources
        return found

    def stored_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """The stored columns among these, or that these are derived from, in the policy's order.

        >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
        ...     "columns": {"net": {"bounds": [0, 9]}, "gross": {"from": ["net", 1.19], "compute": "*"}}})
        >>> policy.stored_of(["gross"])
        ('net',)
        """
        found = self.followed(names)
        return tuple(name for name, known in self.columns.items() if name in found and known.stored)

    def text(self) -> str:
        """The policy as canonical JSON: what the fingerprint is of, and what a ledger keeps of it."""
        content = self.model_dump(mode="json")
        # What came later counts only where it is used, so that older policies keep their fingerprints.
        caps = content["caps"]
        content["caps"] = {
            name: cap for name, cap in caps.items() if name in _FIRST_CAPS or cap not in (None, {})
        }
        if content["caps"].get("each_period", {}).get("by") == "date":
            del content["caps"]["each_period"]["by"]
        if isinstance(content["unit"], dict):
            unit = content["unit"].items()
            content["unit"] = {
                n: v for n, v in unit if n not in ("max_groups", "caps", "row") or v is not None
            }
        for column in content["columns"].values():
            if column["private"] is None:
                del column["private"]
            if not column["unknown"]:
                del column["unknown"]
        for columns in (content["columns"], *(one["columns"] for one in content["tables"].values())):
            for name in columns:
                columns[name] = _without_keys(columns[name])
                if not columns[name]["integers"]:
                    del columns[name]["integers"]
        for slot in (slot for plan in content["plan"] for slot in plan["slots"]):
            if slot["descent"] is None:
                del slot["descent"]
        for name in ("tables", "plan", "survey"):
            if not content[name]:
                del content[name]
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)

    def fingerprint(self) -> str:
        """SHA-256 of the policy's text: it binds a ledger to the policy."""
        return text_hash(self.text())


def _without_keys(column: dict[str, Any]) -> dict[str, Any]:
    """A column's content; keys are left out where the rest of it implies them."""
    # Of groups they say the order, in which answers are recorded: a text has its names sorted.
    follow = ("from" in column and set(column) & {"truncate", "part", "compare"}) or "case" in column
    return {name: value for name, value in column.items() if name != "keys" or not follow}


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
        content = with_key_files(content, Path(source).resolve().parent)
    try:
        return Policy.model_validate(content)
    except ValidationError as error:
        raise InvalidPolicy(complaints(error, owner)) from None
