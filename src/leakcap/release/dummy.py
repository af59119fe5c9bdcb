"""A dry run: the whole path of a release, on a table made from the policy alone and with a ledger of its own.

What comes back says nothing about the real table, and costs nothing. It shows whether the queries are
allowed, what their answers look like, and what they would cost from an untouched budget.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping

import duckdb
import numpy as np
from numpy.typing import NDArray

from leakcap.policy.declared import Column, Key
from leakcap.policy.document import Policy
from leakcap.policy.nesting import outer_columns
from leakcap.policy.tables import JoinedTable
from leakcap.release.columns.typed import SOURCE, joined_source
from leakcap.release.engine import DuckDB, Origin
from leakcap.release.engine.duck import fresh_database

__all__ = ["UNITS", "dummy_engine"]

UNITS = 1_000
"""So many units has a dummy table at most: the noise does not depend on their number."""


def dummy_engine(policy: Policy, *, seed: int = 0) -> DuckDB:
    """A table with every column of the policy, filled evenly from its bounds and keys.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"ward": {"keys": ["a", "b"]}}})
    >>> dummy_engine(policy).columns()
    {'ward': 'VARCHAR'}
    """
    generator = np.random.default_rng(seed)
    units = UNITS if policy.units is None else min(policy.units, UNITS)
    size = units * min(policy.rows_per_unit, 10)
    columns = _drawn(policy.columns, size, generator)
    if policy.id_column is not None:
        known = policy.columns.get(policy.id_column)
        ids = np.arange(size) % units
        as_text = known is not None and known.kind == "text"
        columns[policy.id_column] = np.array([str(i) for i in ids], object) if as_text else ids
    if policy.row_key is not None and policy.row_key not in columns:
        columns[policy.row_key] = np.arange(size)
    if policy.caps_column is not None:
        # One cap for each unit, so that a dry run counts as many people at each level.
        levels = np.array(policy.caps.each_person or (), dtype=np.float64)
        columns[policy.caps_column] = levels[np.arange(size) % units % len(levels)]
    connection = fresh_database()
    _stored(connection, SOURCE, columns)
    for name, table in policy.tables.items():
        keys = _keys(table, policy, columns)
        others = _drawn(table.columns, len(keys), generator)
        _stored(connection, joined_source(name), {**others, table.key_column: keys})
    return DuckDB(connection, origins=dict.fromkeys(policy.tables, Origin()))


def _keys(
    table: JoinedTable, policy: Policy, columns: Mapping[str, NDArray[np.generic]]
) -> NDArray[np.generic]:
    """Every key that the data has, once."""
    keys = columns[table.on or policy.id_column or ""]
    return np.array(list(dict.fromkeys(keys.tolist())), dtype=keys.dtype)


def _stored(
    connection: duckdb.DuckDBPyConnection, name: str, columns: Mapping[str, NDArray[np.generic]]
) -> None:
    connection.register("leakcap_dummy", dict(columns))
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM leakcap_dummy")
    connection.unregister("leakcap_dummy")


def _drawn(
    columns: Mapping[str, Column], size: int, generator: np.random.Generator
) -> dict[str, NDArray[np.generic]]:
    """The stored columns. What others lie within is one of its keys, where it may have other values, too."""
    heads = {one for name in columns for one in outer_columns(name, columns)}
    found = {
        name: _values(
            known.model_copy(update={"bounds": None}) if name in heads and known.keys is not None else known,
            size,
            generator,
        )
        for name, known in columns.items()
        if known.stored
    }
    _nest(found, columns, generator)
    return found


def _values(known: Column, size: int, generator: np.random.Generator) -> NDArray[np.generic]:
    if known.places is not None and known.keys is not None:
        return np.array(known.keys, dtype=np.float64)[generator.integers(len(known.keys), size=size)]
    if known.bounds is not None:
        low, high = known.bounds
        share = generator.random(size)
        return low * (1.0 - share) + high * share
    if known.moments is not None:
        texts = _moments(*known.moments, generator.random(size))
        # Their text needs an offset; one that holds somewhere in the bounds will do.
        return (
            texts if known.offsets is None else np.array([f"{one}{_offset(known)}" for one in texts], object)
        )
    if known.unknown:
        return 100.0 * generator.standard_normal(size)
    keys = known.keys or ([f"key {i}" for i in range(5)] if known.private == "text" else list(range(5)))
    types = {"text": object, "integer": np.int64, "boolean": np.bool_}
    return np.array(keys, dtype=types[known.kind])[generator.integers(len(keys), size=size)]


def _nest(
    values: dict[str, NDArray[np.generic]], columns: Mapping[str, Column], generator: np.random.Generator
) -> None:
    """Give columns within stored others keys that lie within theirs."""
    for name in sorted(values, key=lambda one: len((columns[one].paths or ((),))[0])):
        outer = outer_columns(name, columns)
        if not outer or not all(one in values for one in outer):
            continue
        decimal = [columns[one].places is not None for one in outer]
        within: dict[tuple[object, ...], list[Key]] = {}
        for path in columns[name].paths or ():
            # As they are drawn: a decimal is a number there, and a text among the keys.
            head = (float(key) if own else key for key, own in zip(path, decimal, strict=False))
            within.setdefault(tuple(head), []).append(path[-1])
        lists = [within[head] for head in zip(*(values[one].tolist() for one in outer), strict=True)]
        picked = generator.random(len(lists))
        drawn = [keys[int(one * len(keys))] for keys, one in zip(lists, picked.tolist(), strict=True)]
        values[name] = np.array(drawn, dtype=values[name].dtype)


def _offset(known: Column) -> str:
    seconds = (known.offsets or ((0, 0),))[0][1]
    sign, minutes = "-" if seconds < 0 else "+", abs(seconds) // 60
    return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"


def _moments(first: datetime.date, last: datetime.date, shares: NDArray[np.float64]) -> NDArray[np.generic]:
    """Evenly spread days, or moments to the second, as texts that the column's kind is read from."""
    timed = isinstance(first, datetime.datetime)
    step = datetime.timedelta(seconds=1) if timed else datetime.timedelta(days=1)
    steps = np.floor(shares * ((last - first) // step + 1)).astype(np.int64)
    return np.array([str(first + int(count) * step) for count in steps], dtype=object)
