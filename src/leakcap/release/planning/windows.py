"""Window functions over a unit's rows, and the keyed hashes that put rows and groups in order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sqlglot import exp

from leakcap.release.columns.typed import Hashed

__all__ = ["GROUPS", "ROWS", "keyed", "window"]

ROWS, GROUPS = 1, 2
"""What a hash is for: the two orders do not depend on each other."""


def window(
    function: exp.Expression,
    within: Sequence[exp.Expression],
    order: Sequence[exp.Expression],
    *,
    alike: bool = False,
) -> exp.Window:
    """A window function over a unit's rows in this order; with `alike`, over rows that tie with this one.

    >>> from leakcap.release.columns.typed import column
    >>> window(exp.RowNumber(), [column("id")], [column("x")]).sql()
    'ROW_NUMBER() OVER (PARTITION BY "id" ORDER BY "x" NULLS LAST)'
    """
    ordered = [exp.Ordered(this=one.copy(), nulls_first=False) for one in order]
    ties = exp.WindowSpec(kind="RANGE", start="CURRENT ROW", end="CURRENT ROW")
    return exp.Window(
        this=function,
        partition_by=[one.copy() for one in within],
        order=exp.Order(expressions=ordered) if ordered else None,
        spec=ties if alike and ordered else None,
    )


def keyed(unit: exp.Expression, contents: Sequence[exp.Expression], purpose: int, seed: str) -> Hashed:
    """A hash of the unit and of these contents, under the ledger's secret."""
    given = [one.copy() for one in contents]
    return Hashed(this=unit.copy(), expressions=given, purpose=purpose, seed=_number(seed))


def _number(seed: str) -> int:
    """The seed as a signed integer of 64 bits, which every engine has."""
    digest = hashlib.sha256(seed.encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)
