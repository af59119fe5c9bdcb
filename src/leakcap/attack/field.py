"""Fixing the broken wifi against a real table: read a field of one person, or of everybody at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from leakcap.attack.finite import finite_length_rate
from leakcap.attack.matching import Span, match_posterior
from leakcap.attack.parities import Decoded, Masks, decode_parities, parities, parity
from leakcap.attack.use import Use
from leakcap.attack.value import Finding
from leakcap.errors import require

if TYPE_CHECKING:
    from leakcap.release import PrivateTable, Query, Release

__all__ = ["FieldRead", "read_everybody", "read_field", "search_field"]

_MOST_LISTED = 8
"""A parity of k bits lists 2^(k−1) values, and a condition has 600 words at most."""
_GUARD = "caps on ε and nats a person; across people the cap on nats of the table"


@dataclass(frozen=True, kw_only=True)
class FieldRead(Finding):
    """What was read: values by key, and how sure the reader is of each.

    got = nats read an answer: k·ln 2 times the expected number of fields that are right, over the number of
    answers; at_most = the capacity of one answer. `finite_length` is what the best code of this length gets
    at frame error 1e-2, in the same unit.
    """

    values: Mapping[object, int]
    confidence: Mapping[object, float]
    uses: int
    epsilon_spent: float
    nats_person_spent: float
    nats_table_spent: float
    finite_length: float


def read_field(
    table: PrivateTable,
    column: str | Sequence[str],
    *,
    person: str,
    bits: int,
    epsilon: float,
    uses: int,
    generator: np.random.Generator,
) -> FieldRead:
    """Read a field of `bits` bits of the one row where `person` holds, by noisy counts of parities.

    A column has 8 bits at most. A longer field lies in several columns of equally many bits, the most
    significant first; each is read by itself with an equal part of the `uses`, since a parity of n columns is
    no short condition: with AND, OR and NOT alone it takes n² comparisons. All answers are asked for in one
    batch, which the ledger grants whole or not at all. Raises `BudgetExceeded` with nothing spent when a cap
    stops it.

    Source: the broken-wifi article, 2022; Khrapchenko 1971 for the n².
    """
    return _read(table, column, bits, (person, ()), epsilon, uses, generator)


def read_everybody(
    table: PrivateTable,
    column: str | Sequence[str],
    *,
    by: str,
    bits: int,
    epsilon: float,
    uses: int,
    generator: np.random.Generator,
) -> FieldRead:
    """The same for every person at once, by GROUP BY the column that names them.

    It costs each person the same ε as one person's field costs, and n times the nats of the table.

    Source: the broken-wifi article, 2022.
    """
    return _read(table, column, bits, ("", (by,)), epsilon, uses, generator)


def search_field(
    table: PrivateTable,
    column: str,
    *,
    person: str,
    bits: int,
    epsilon: float,
    confidence: float = 0.99,
) -> FieldRead:
    """Read a field of one person by posterior matching: each BETWEEN depends on the answers so far.

    Every answer is drawn afresh and paid for, also where a question comes again: the ledger's memo would
    repeat an old answer, which tells nothing new. What was asked before a cap stops it stays spent.
    """
    start = _spent(table)
    asked: list[Release] = []

    def ask(span: Span) -> float:
        where = f"({person}) AND {column} BETWEEN {span.low} AND {span.high - 1}"
        release = table.count(where=where, epsilon=epsilon, fresh=True)
        asked.append(release)
        return float(Use(1.0 / release.noise_scale).ratios(release.rows[0].value))

    found = match_posterior(ask, bits, confidence=confidence)
    use = Use(1.0 / asked[0].noise_scale)
    return _found(
        table, start, use, bits, found.uses, {person: Decoded(found.message, found.confidence)}, "matching"
    )


def _read(
    table: PrivateTable,
    column: str | Sequence[str],
    bits: int,
    whom: tuple[str, tuple[str, ...]],
    epsilon: float,
    uses: int,
    generator: np.random.Generator,
) -> FieldRead:
    columns = (column,) if isinstance(column, str) else tuple(column)
    each, length = _shares(columns, bits, uses)
    person, by = whom
    masks = [parities(each, length, generator) for _ in columns]
    asked = [_queries(name, each, m, person, by, epsilon) for name, m in zip(columns, masks, strict=True)]
    start = _spent(table)
    releases = table.release([query for part in asked for query in part], fresh=True)
    use = Use(1.0 / releases[0].noise_scale)
    names: list[object] = [next(iter(row.keys.values()), person) for row in releases[0].rows]
    answers = np.array([[row.value for row in release.rows] for release in releases], dtype=np.float64)
    ratios = use.ratios(answers).T.reshape(len(names), len(columns), length)
    decoded = {
        name: _joined([decode_parities(each, m, soft) for m, soft in zip(masks, part, strict=True)], each)
        for name, part in zip(names, ratios, strict=True)
    }
    return _found(table, start, use, bits, uses, decoded, "parities")


def _shares(columns: tuple[str, ...], bits: int, uses: int) -> tuple[int, int]:
    """Bits and uses of one column."""
    count = len(columns)
    require(count >= 1, "column", "read_field", "name at least one column", count)
    most = _MOST_LISTED * count
    require(1 <= bits <= most, "bits", "read_field", f"be from 1 to {most}, {_MOST_LISTED} a column", bits)
    require(bits % count == 0, "bits", "read_field", f"be a multiple of the {count} columns", bits)
    good = uses >= count and uses % count == 0
    require(good, "uses", "read_field", f"be a positive multiple of the {count} columns", uses)
    return bits // count, uses // count


def _queries(
    column: str, bits: int, masks: Masks, person: str, by: tuple[str, ...], epsilon: float
) -> list[Query]:
    from leakcap.release import Query

    prefix = f"({person}) AND " if person else ""
    ones = [np.flatnonzero(parity(mask, np.arange(1 << bits))).tolist() for mask in masks]
    return [
        Query(
            name=f"{column} symbol {j}",
            statistic="count",
            where=f"{prefix}{column} IN ({', '.join(map(str, listed))})",
            by=by,
            epsilon=epsilon,
        )
        for j, listed in enumerate(ones)
    ]


def _joined(parts: Sequence[Decoded], bits: int) -> Decoded:
    """The columns side by side, the most significant first; they err independently."""
    message = 0
    for part in parts:
        message = (message << bits) | part.message
    return Decoded(message, math.prod(part.confidence for part in parts))


def _spent(table: PrivateTable) -> tuple[float, float, float]:
    totals = table.ledger.totals()
    return totals.epsilon, totals.nats_person, totals.nats_table


def _found(
    table: PrivateTable,
    start: tuple[float, float, float],
    use: Use,
    bits: int,
    uses: int,
    read: Mapping[object, Decoded],
    how: str,
) -> FieldRead:
    sure = math.fsum(d.confidence for d in read.values())
    spent = [now - before for now, before in zip(_spent(table), start, strict=True)]
    return FieldRead(
        attack=f"broken wifi, {how}",
        got=sure * bits * math.log(2.0) / uses,
        at_most=len(read) * use.capacity,
        unit="nats an answer",
        stopped_by=_GUARD,
        values={name: d.message for name, d in read.items()},
        confidence={name: d.confidence for name, d in read.items()},
        uses=uses,
        epsilon_spent=spent[0],
        nats_person_spent=spent[1],
        nats_table_spent=spent[2],
        finite_length=len(read) * finite_length_rate(use, uses, 1e-2),
    )
