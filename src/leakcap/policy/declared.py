"""What a policy says of columns and of other tables: facts that hold for every table that could have been."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

__all__ = ["Column", "JoinedTable", "Key", "Strict", "check_names"]

Key: TypeAlias = str | int | bool

# Bounds outside ±LARGEST, or closer than 1/LARGEST, would leave the range in which x·2^j is exact in doubles.
LARGEST = 1e90


class Strict(BaseModel):
    """What the owner writes: unknown fields are refused, and nothing is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Column(Strict):
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

    @cached_property
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


class JoinedTable(Strict):
    """Another table that rows may be joined with: a person's own, or a public one.

    With `id` the table belongs to the people of the policy's unit: its column `id` names them, and at most
    one of its rows is used for each. With `public = true` nobody is in it: its column `key` is met by the
    column `on` of the data, and at most one of its rows is used for each key.

    >>> JoinedTable(id="person_id", columns={"sex": Column(keys=("f", "m"))}).key_column
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
        check_names([*self.columns, *({self.key_column} - set(self.columns))])
        return self

    @property
    def key_column(self) -> str:
        """The column of the table by which its rows are met."""
        return self.id or self.key or ""


def check_names(columns: Iterable[str]) -> None:
    """Raise `ValueError` for names of which one is empty, or two are one in an engine.

    >>> check_names(["age", "Age"])
    Traceback (most recent call last):
    ValueError: two `columns` differ only in upper and lower case
    """
    names = [name.lower() for name in columns]
    if len(set(names)) < len(names):
        raise ValueError("two `columns` differ only in upper and lower case")
    if any(not name or "\0" in name for name in names):
        raise ValueError("a name in `columns` is empty or has a null character")
