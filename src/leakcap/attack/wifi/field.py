"""Fixing the broken wifi against a real table: read a field of one person, or of everybody at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from leakcap.attack.codes.code import Bits, Code, as_integers
from leakcap.attack.codes.matching import Span, match_posterior
from leakcap.attack.codes.parities import Decoded, parity
from leakcap.attack.codes.use import Use
from leakcap.attack.value import Finding
from leakcap.attack.wifi.choice import code_for
from leakcap.attack.wifi.finite import fano_told, finite_length_rate, least_uses, luck
from leakcap.errors import require
from leakcap.sampling import rational_scale

if TYPE_CHECKING:
    from leakcap.release import PrivateTable, Query, Release

__all__ = ["FieldRead", "read_everybody", "read_field", "search_field"]

_MOST_LISTED = 8
"""A parity of k bits of a number lists 2^(k−1) values, and a condition has 600 words at most."""
_MOST_BITS = 63
"""Of an integer column, whose masks are not negative."""
_TOGETHER = 60
"""Columns in one condition: a parity over n columns has some eight words a column, of 600."""
_MOST_COLUMNS = 6000
_GUARD = "caps on ε and nats a person; across people the cap on nats of the table"


@dataclass(frozen=True, kw_only=True)
class FieldRead(Finding):
    """What was read: values by key, and how sure the reader is of each.

    got = what these answers told, in nats an answer: ln 2ᵏ − h(e) − e·ln(2ᵏ − 1) a field that is believed to
    be wrong with probability e. at_most = the capacity of an answer, which limits the average over the noise:
    lucky answers may tell more, but by more than `got` − `got_lower` with probability 1 % at most
    (`luck`). `finite_length` is what the best code of this length gets at frame error 1e-2, in the same unit.
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

    A field of many bits lies in integer columns of up to 63 bits, equally many in each, the most significant
    first: each question is a parity of masked bits, `bit_count(a & 5) % 2 = 1`. One column that is a number
    has 8 bits at most, whose parities are lists of values. `code_for` picks the code by the number of bits.
    More than 60 columns, beyond which a parity is too long for a condition, are read in blocks of equal
    length, each by a code of its own.
    All answers are asked for in one batch, which the ledger grants whole or not at all. Raises
    `BudgetExceeded` with nothing spent when a cap stops it.

    Source: the broken-wifi article, 2022.
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

    Every answer is drawn afresh and paid for, also where a question comes again: the ledger would
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
    each = _bits_of_each(table, columns, bits)
    require(uses >= 1, "uses", "read_field", "be at least 1", uses)
    person = whom[0]
    use = Use(float(1 / rational_scale(1, epsilon)))
    blocks = _blocks(columns, uses)
    codes = [code_for(each * len(block), share, use, generator) for block, share in blocks]
    queries: list[Query] = []
    for (block, _), code in zip(blocks, codes, strict=True):
        masks = _masks(code.encode(np.eye(code.bits, dtype=np.uint8)), len(block))
        queries += _queries(table, block, masks, each, whom, epsilon, first=len(queries))
    start = _spent(table)
    releases = table.release(queries, fresh=True)
    use = Use(1.0 / releases[0].noise_scale)
    names: list[object] = [next(iter(row.keys.values()), person) for row in releases[0].rows]
    answers = np.array([[row.value for row in release.rows] for release in releases], dtype=np.float64)
    ratios = np.split(use.ratios(answers).T, np.cumsum([share for _, share in blocks])[:-1], axis=1)
    decoded = {name: Decoded(0, 1.0) for name in names}
    for code, soft in zip(codes, ratios, strict=True):
        read = code.decode(soft)
        for name, message, sure in zip(names, as_integers(read.messages), read.confidences, strict=True):
            before = decoded[name]
            decoded[name] = Decoded(before.message << code.bits | message, before.confidence * float(sure))
    return _found(table, start, use, bits, uses, decoded, _called(codes))


def _blocks(columns: tuple[str, ...], uses: int) -> list[tuple[tuple[str, ...], int]]:
    """The columns in as few parts as conditions allow, the most significant first, with the uses of each."""
    parts = -(-len(columns) // _TOGETHER)
    require(uses >= parts, "uses", "read_field", f"be at least {parts}, one for each block", uses)
    cuts = [part * len(columns) // parts for part in range(parts + 1)]
    ends = [uses * cut // len(columns) for cut in cuts]
    return [
        (columns[low:high], after - before)
        for low, high, before, after in zip(cuts, cuts[1:], ends, ends[1:], strict=False)
    ]


def _called(codes: Sequence[Code]) -> str:
    return codes[0].name if len(codes) == 1 else f"{codes[0].name}, {len(codes)} blocks"


def _bits_of_each(table: PrivateTable, columns: tuple[str, ...], bits: int) -> int:
    """How many bits of the field lie in one column."""
    count = len(columns)
    require(1 <= count <= _MOST_COLUMNS, "column", "read_field", f"name 1 to {_MOST_COLUMNS} columns", count)
    whole = all(
        table.policy.columns[name].kind == "integer" for name in columns if name in table.policy.columns
    )
    rule = "be one column, or all be integer columns"
    require(
        count == 1 or whole, "column", "read_field", rule, count, "A parity has no other short condition."
    )
    most = (_MOST_BITS if whole else _MOST_LISTED) * count
    require(1 <= bits <= most, "bits", "read_field", f"be from 1 to {most}, {most // count} a column", bits)
    require(bits % count == 0, "bits", "read_field", f"be a multiple of the {count} columns", bits)
    return bits // count


def _masks(generators: Bits, columns: int) -> list[list[int]]:
    """For each use the mask of each column: which bits of the field its symbol is the parity of.

    Row i of `generators` are the symbols of a message with bit i alone, the least significant first.
    """
    parts = np.split(generators, columns)[::-1]
    return [list(masks) for masks in zip(*(as_integers(part.T) for part in parts), strict=True)]


def _queries(
    table: PrivateTable,
    columns: tuple[str, ...],
    masks: list[list[int]],
    bits: int,
    whom: tuple[str, tuple[str, ...]],
    epsilon: float,
    *,
    first: int,
) -> list[Query]:
    from leakcap.release import Query

    person, by = whom
    prefix = f"({person}) AND " if person else ""
    known = table.policy.columns.get(columns[0])
    say = _listed if known is not None and known.kind == "number" else _counted
    return [
        Query(
            name=f"symbol {j}",
            statistic="count",
            where=prefix + say(columns, mask, bits),
            by=by,
            epsilon=epsilon,
        )
        for j, mask in enumerate(masks, first)
    ]


def _counted(columns: tuple[str, ...], masks: list[int], bits: int) -> str:
    counts = [f"bit_count({name} & {mask})" for name, mask in zip(columns, masks, strict=True)]
    return f"({' + '.join(counts)}) % 2 = 1"


def _listed(columns: tuple[str, ...], masks: list[int], bits: int) -> str:
    ones = np.flatnonzero(parity(masks[0], np.arange(1 << bits))).tolist()
    return f"{columns[0]} IN ({', '.join(map(str, ones))})" if ones else f"{columns[0]} < 0"


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
    told = math.fsum(fano_told(bits, 1.0 - d.confidence) for d in read.values()) / uses
    lucky = luck(use, least_uses(use, bits, 1e-2), uses, len(read))
    spent = [now - before for now, before in zip(_spent(table), start, strict=True)]
    return FieldRead(
        attack=f"broken wifi, {how}",
        got=told,
        got_lower=max(told - lucky, 0.0),
        got_upper=math.inf,
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
