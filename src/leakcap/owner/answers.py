"""What the owner says is public about a table, in answer to questions that no value may answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

__all__ = ["KeysWithin", "PublicAnswers"]


class KeysWithin(NamedTuple):
    """Keys that lie within those of another column: its name, and for each key the way to it from there."""

    column: str
    paths: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class PublicAnswers:
    """Public answers; what is left out becomes a TODO of the draft.

    `id` is the column that names people, `max_rows` how many rows of one person count at most, `people` how
    many people (without an `id`, rows) there are where that is published, and `epsilon` the cap. `bounds` and
    `keys` are those of columns, and `within` keys that lie within another column's; bounds are numbers or
    dates, the latter with or without a time.
    """

    dataset: str
    id: str | None = None
    max_rows: int | None = None
    people: int | None = None
    epsilon: float | None = None
    bounds: Mapping[str, tuple[float, float] | tuple[date, date]] = field(default_factory=dict)
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    within: Mapping[str, KeysWithin] = field(default_factory=dict)
