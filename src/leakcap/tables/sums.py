"""Counts of several keys together that somebody names in words: `week = W03..W10, sex = f`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Key
from leakcap.tables.question import PlannedTables

__all__ = ["cells_named"]


def cells_named(planned: PlannedTables, words: str) -> dict[str, Key | tuple[Key, Key]]:
    """What `ReleasedTables.between` asks for, from `column = key` and `column = first..last`, with commas
    between them.

    Known from the question alone. Raises `InvalidQuery`.

    >>> from leakcap.release import Policy
    >>> from leakcap.tables import TablesQuestion
    >>> policy = Policy.model_validate({"dataset": "d", "neighbours": "add-remove-one", "caps": {"rho": 1.0},
    ...     "columns": {"sex": {"keys": ["f", "m"]}, "week": {"keys": [1, 2, 3]}}})
    >>> planned = TablesQuestion(columns=("sex", "week"), ways=2, rho=0.1).planned(policy)
    >>> cells_named(planned, "week = 1..3, sex = f")
    {'week': (1, 3), 'sex': 'f'}
    """
    found: dict[str, Key | tuple[Key, Key]] = {}
    for part in words.split(","):
        column, equals, wanted = (one.strip() for one in part.partition("="))
        if not equals or not column or not wanted:
            raise InvalidQuery(
                "`--between` must be like `week = W03..W10, sex = f`: a column, and a key or a first and a "
                f"last one. Got `{words}`."
            )
        if column in found:
            raise InvalidQuery(f"`--between` must name each column once. Got `{column}` twice.")
        first, ranged, last = wanted.partition("..")
        start = _key(planned, column, wanted if not ranged else first.strip())
        found[column] = start if not ranged else (start, _key(planned, column, last.strip()))
        ends = found[column]
        if isinstance(ends, tuple):
            keys = _keys(planned, column)
            if keys.index(ends[0]) > keys.index(ends[1]):
                raise InvalidQuery(
                    f"`--between` must have a last key of `{column}` that is not before the first, in the "
                    f"policy's order. Got `{wanted}`."
                )
    asked = planned.plan.workload
    table = asked.chains.innermost(sorted(list(asked.columns).index(column) for column in found))
    _check_nested(planned, table, found)
    if table not in asked.closure:
        raise InvalidQuery(
            "`--between` must have columns that are a table of the file together, or a margin of one. Got "
            f"{', '.join(f'`{column}`' for column in found)}."
        )
    return found


def _check_nested(
    planned: PlannedTables, table: Sequence[int], found: Mapping[str, Key | tuple[Key, Key]]
) -> None:
    """Raise `InvalidQuery` unless what is said of columns within others is one of their cells."""
    for place in table:
        columns = planned.nested_columns(place)
        own = {name: found[name] for name in columns if name in found}
        if len(columns) == 1 or not own:
            continue
        ends = {name: key if isinstance(key, tuple) else (key,) for name, key in own.items()}
        said = ", ".join(f"{name} = {'..'.join(map(str, keys))}" for name, keys in ends.items())
        cells = [
            path
            for path in planned.keys_of(place)
            if all(own.get(name, key) == key for name, key in zip(columns, path, strict=True))
        ]
        if any(isinstance(key, tuple) for key in own.values()) or len(cells) != 1:
            raise InvalidQuery(
                f"`--between` must have one key of each of {', '.join(f'`{name}`' for name in columns)}, "
                f"which can occur together. Got `{said}`."
            )


def _keys(planned: PlannedTables, column: str) -> list[Key]:
    for axis in planned.axes:
        if axis.column == column:
            return list(axis.labels.values())
    known = ", ".join(f"`{axis.column}`" for axis in planned.axes)
    raise InvalidQuery(f"`--between` must name columns of the tables: {known}. Got `{column}`.")


def _key(planned: PlannedTables, column: str, text: str) -> Key:
    """The key that is written so; truth as in TOML, too."""
    for key in _keys(planned, column):
        if text == str(key) or (isinstance(key, bool) and text == str(key).lower()):
            return key
    raise InvalidQuery(f"`--between` must have public keys of `{column}`. Got `{text}`.")
