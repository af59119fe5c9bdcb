"""Records from published tables: what everything has that agrees with all numbers, exact or protected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from leakcap.attack.tables.crossing import PublishedTables
from leakcap.attack.tables.possible import possible_counts
from leakcap.attack.tables.suppressed import HiddenCount
from leakcap.attack.value import Finding
from leakcap.disclosure.cells import SUPPRESSED, CellMethod
from leakcap.disclosure.known_sums import CountRange, KnownSum, KnownSums
from leakcap.plain import counted

__all__ = ["ReadNumbers", "ReadRecords", "records_from_tables"]

_GUARD = "noise in every count; tables that are exact, or nearly, determine each other"


@dataclass(frozen=True, kw_only=True)
class ReadRecords(Finding):
    """got = people whose whole combination is in every table that agrees with the numbers; at_most = those in
    every one of the tables that were found, which nobody can go beyond.

    `people` is what their number can be, `combinations` how many there are, `records` those that are sure.
    """

    people: str
    combinations: int
    records: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ReadNumbers(Finding):
    """got = counts that are told exactly; at_most = those of which it is not shown that two are possible.

    `numbers` says how many there are, `within_one` of how many two counts next to each other are left at
    most, and `counts` what each can be that is told, or nearly.
    """

    numbers: int
    within_one: int
    counts: tuple[str, ...]


def records_from_tables(
    tables: PublishedTables,
    *,
    method: CellMethod | None = None,
    hidden: Mapping[str, HiddenCount] | None = None,
) -> tuple[Finding, ...]:
    """Reconstruction from published tables: records, counts of combinations, and numbers that were protected.

    `method` is the office's, of which every number is taken to come; without one numbers are exact. `hidden`
    says what is known of a count in whose place a word stands; it comes before the method. Nothing is taken
    to be likely: `got` is proved of every table of whole numbers that agrees, and `at_most` is attained by
    tables that agree. Raises `InvalidInput` where no table agrees.

    >>> from leakcap.attack.tables.crossing import PublishedNumber
    >>> numbers = [PublishedNumber(((0,), None), 4), PublishedNumber(((1,), None), 3),
    ...     PublishedNumber((None, (0,)), 7), PublishedNumber((None, (1,)), 0)]
    >>> found = records_from_tables(PublishedTables(("a", "b"), (("N", "S"), ("f", "m")), tuple(numbers)))
    >>> found[0].got, found[0].records
    (7.0, ('N, f: 4', 'S, f: 3'))
    """
    size = tables.combinations
    between: list[tuple[int, int | None]] = [(0, None)] * size
    sums, protected = list[KnownSum](), list[tuple[int, str]]()
    for number in tables.numbers:
        cells = tables.cells(number)
        count = _possible(number.shown, method, hidden or {})
        if count.low == count.high or len(cells) == 1:
            sums.append(KnownSum(cells, [1] * len(cells), count.low, count.high))
            if count.low != count.high:
                protected.append((cells[0], tables.words(number)))
        else:
            protected.append((len(between), tables.words(number)))
            sums.append(KnownSum([*cells, len(between)], [1] * len(cells) + [-1], 0, 0))
            between.append((count.low, count.high))
    everybody = len(between)
    between.append((0, None))
    sums.append(KnownSum([*range(size), everybody], [1] * size + [-1], 0, 0))
    known = KnownSums(sums, between)
    changed = list(dict(protected))
    found = known.ranges([everybody, *range(size), *(cell for cell in changed if cell >= size)])
    people, counts = found[0], found[1 : size + 1]
    ranges = dict(zip([cell for cell in changed if cell >= size], found[size + 1 :], strict=True))
    results: list[Finding] = [
        _records(
            f"records from {counted(len(tables.numbers), 'published number')}", tables, people, counts, known
        ),
        _numbers(f"counts by {', '.join(tables.dimensions)}", counts, tables.combination),
    ]
    if protected:
        names = dict(protected)
        own = [ranges[cell] if cell >= size else counts[cell] for cell in changed]
        results.append(_numbers("protected numbers", own, lambda at: names[changed[at]]))
    return tuple(results)


def _possible(shown: int | str, method: CellMethod | None, hidden: Mapping[str, HiddenCount]) -> HiddenCount:
    if isinstance(shown, str) and (shown in hidden or method is None):
        return hidden.get(shown, HiddenCount())
    if method is None:
        return HiddenCount(int(shown), int(shown))
    return possible_counts(method, SUPPRESSED if isinstance(shown, str) else shown)


def _records(
    called: str, tables: PublishedTables, people: CountRange, counts: Sequence[CountRange], known: KnownSums
) -> ReadRecords:
    seen = [known.least_seen(cell) for cell in range(len(counts))]
    most = people.high if None in seen else sum(one for one in seen if one is not None)
    sure = sum(one.low for one in counts)
    return ReadRecords(
        attack=called,
        got=float(sure),
        at_most=float("inf") if most is None else float(most),
        unit="records",
        stopped_by=_GUARD,
        people=_told(people),
        combinations=len(counts),
        records=tuple(
            f"{tables.combination(at)}: {_at_least(one)}" for at, one in enumerate(counts) if one.low
        ),
    )


def _numbers(called: str, counts: Sequence[CountRange], name: Callable[[int], str]) -> ReadNumbers:
    open_ = sum(one.low != one.high and all(one.attained) for one in counts)
    near = [one.high is not None and one.high - one.low <= 1 for one in counts]
    return ReadNumbers(
        attack=called,
        got=float(sum(one.low == one.high for one in counts)),
        at_most=float(len(counts) - open_),
        unit="counts",
        stopped_by=_GUARD,
        numbers=len(counts),
        within_one=sum(near),
        counts=tuple(f"{name(at)}: {_told(one)}" for at, one in enumerate(counts) if near[at]),
    )


def _told(one: CountRange) -> str:
    if one.high is None:
        return f"{one.low} or more"
    return str(one.low) if one.low == one.high else f"{one.low} to {one.high}"


def _at_least(one: CountRange) -> str:
    return str(one.low) if one.low == one.high else f"{one.low} or more"
