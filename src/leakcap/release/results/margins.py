"""Margins of a grouped answer: sums over some of its columns, and over all. They cost nothing.

The noisy integers of the cells, which were paid for, are added up; value and interval of a margin are what
the statistic makes of the sums. So margins agree with the cells and with each other, and a sum over k cells
carries k noises, the law of whose sum is exact (`mechanism/noise_sums.py`). A mean or a ratio is the sum over
the sum, not the mean of the means.

Margins are about the rows whose keys the policy lists, and lists together where one column lies within
another: no other row is in a cell.

Source: Barak, Chaudhuri, Dwork, Kale, McSherry & Talwar 2007 for why margins should agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import MOST_CELLS, Axis, total_word
from leakcap.release.columns.summing import SummedCells, lone_axis, summed_size
from leakcap.release.measurements.measurement import noisy_of
from leakcap.release.numbers.answers import Answers, Labels, Rows
from leakcap.release.numbers.exact_integers import ExactIntegers, exact_integers, objects
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import plan_query
from leakcap.release.query import QueryFields
from leakcap.release.results.consistent import ConsistentRelease
from leakcap.release.results.covering import CoveringRelease
from leakcap.release.results.result import Release
from leakcap.release.statistics import statistic_of, statistics
from leakcap.release.statistics.cross_tables import Margin, margins_of

__all__ = ["MarginRelease", "largest_margin", "margins_fit", "with_all_margins", "with_margins"]

_MOST_COLUMNS = 10
"""Of which all margins are made; of more they have to be named."""

Kept = Sequence[Sequence[str]]


@dataclass(frozen=True)
class MarginRelease(Release):
    """A release with margins after its cells, or in place of them; `raw` are its rows as they were before."""

    raw: Rows = field(default_factory=lambda: Rows.of([]))
    cells: bool = True
    within: bool = False
    """Whether one of the columns lies within another, so that keys are listed together."""

    @property
    def post_processing(self) -> str:
        """What was done, which costs nothing."""
        made = "sums of the noisy cells" if self.cells else "sums of noisy cells, which are not shown"
        of = made if statistic_of(self.query).from_zero else f"of {made}"
        about = "and about rows whose keys are listed in every column"
        return f"margins are {of}, {about}{', and listed together' if self.within else ''}"


def with_margins(
    release: Release, policy: Policy, kept: Kept | None = None, *, cells: bool = True
) -> MarginRelease:
    """The release with margins after its cells: all of them and the total, or those that keep the columns
    named in `kept`, of which `[]` is the total. Without `cells` the margins stand alone; `raw` has the cells.

    In a margin `totals` of the release says what stands in place of a key that is summed over. Only sums of
    released numbers are seen. Raises `InvalidQuery` for a statistic whose groups do not add up, for groups
    with private keys, of which those with few rows are missing, and for an answer that was changed before.

    >>> import pyarrow
    >>> from leakcap.release import PrivateTable
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0},
    ...     "columns": {"ward": {"keys": ["a", "b"]}, "sex": {"keys": ["f", "m"]}, "old": {"keys": [0, 1]}}}
    >>> data = pyarrow.table({"ward": ["a", "b"] * 50, "sex": ["f"] * 60 + ["m"] * 40, "old": [1] * 100})
    >>> table = PrivateTable(data, policy=policy, ledger="sqlite://")
    >>> stays = with_margins(table.count(by=["ward", "sex", "old"], epsilon=1.0), table.policy)
    >>> len(stays.rows), sum(row.value for row in stays.raw) == stays.rows[-1].value
    (27, True)
    >>> stays.rows[-1].keys
    {'ward': 'total', 'sex': 'total', 'old': 'total'}
    """
    plan = _plan(release.query, policy, kept)
    noisy = _noisy(release, plan)
    groups, wanted = statistic_of(plan.query).groups(plan), _wanted(plan, kept)
    axes = groups.axes
    if not (cells or wanted):
        raise InvalidQuery("`cells` of `with_margins` must be true where `kept` names no margin.")
    answers, labels = ([release.rows.answers], [release.rows.labels]) if cells else ([], [])
    for margin in wanted:
        summed = SummedCells.of(groups, margin.kept)
        answers.append(_answered(plan, summed, [summed.sums(numbers) for numbers in noisy]))
        labels.append(_labels(plan, axes, margin.kept, summed))
    rows = Rows({name: np.concatenate([one[name] for one in labels]) for name in labels[0]}, _joined(answers))
    known = {one.name: getattr(release, one.name) for one in fields(Release)}
    known |= {"rows": rows, "totals": {axis.column: total_word(axis) for axis in axes}}
    if not cells:
        known["drawn"] = None  # its integers are those of the cells
    return MarginRelease(**known, raw=release.rows, cells=cells, within=groups.nested)


def with_all_margins(
    releases: Sequence[Release], margins: Mapping[str, Kept | None], policy: Policy
) -> list[Release]:
    """The releases in their order, those that are named with these margins."""
    return [
        with_margins(release, policy, margins[release.name]) if release.name in margins else release
        for release in releases
    ]


def margins_fit(query: QueryFields, policy: Policy, kept: Kept | None = None) -> None:
    """Raise `InvalidQuery` where an answer to this query can have no such margins. Touches no data."""
    _wanted(_plan(query, policy, kept), kept)


def largest_margin(query: QueryFields, policy: Policy, kept: Kept) -> tuple[Plan, Margin]:
    """Of these margins the one whose numbers are sums of most cells, and the plan with the noise of such a
    sum. Raises `InvalidQuery` as `with_margins` does; touches no data."""
    plan = _plan(query, policy, kept)
    largest = max(_wanted(plan, kept), key=lambda margin: margin.cells)
    parts = tuple(replace(part, added=largest.cells) for part in noisy_of(plan.parts))
    return replace(plan, parts=parts), largest


def _plan(query: QueryFields, policy: Policy, kept: Kept | None) -> Plan:
    plan, statistic = plan_query(query, policy), statistic_of(query)
    owner = f"`margins` of query `{query.name}`"
    if not statistic.adds_up:
        known = ", ".join(one.label for one in statistics().values() if one.adds_up)
        own = statistic.totals(plan)
        remedy = "It has its margins already." if own else f"Margins go with {known}."
        raise InvalidQuery(
            f"{owner} must be left out: groups of a {statistic.label} are not added up. {remedy}"
        )
    if plan.cells.open:
        raise InvalidQuery(
            f"{owner} must be left out: groups with few rows are missing where keys are private. Ask for "
            "each margin by itself."
        )
    if not statistic.groups(plan).axes:
        raise InvalidQuery(f"{owner} must be left out: it has one number. Give columns in `by`.")
    return plan


def _wanted(plan: Plan, kept: Kept | None) -> list[Margin]:
    """The margins that are made, in an order of their own."""
    groups = statistic_of(plan.query).groups(plan)
    sizes, names = groups.sizes, [axis.column for axis in groups.axes]
    owner = f"`margins` of query `{plan.query.name}`"
    if kept is None:
        if len(names) > _MOST_COLUMNS:
            raise InvalidQuery(
                f"{owner} must be named: of {len(names)} columns there are {2 ** len(names) - 1:,}. List the "
                "columns that each keeps."
            )
        found = [one for one in margins_of(sizes)[1:] if lone_axis(groups, one.kept) is None]
    else:
        if isinstance(kept, str) or any(isinstance(one, str) for one in kept):
            raise InvalidQuery(
                f'{owner} must be a list of lists of columns, as [["{names[0]}"], []]. '
                f"Got {kept if isinstance(kept, str) else list(kept)!r}."
            )
        for one in kept:
            stranger = next((name for name in one if name not in names), None)
            if stranger is not None or len(set(one)) != len(one) or len(one) == len(names):
                raise InvalidQuery(
                    f"{owner} must each keep some of the columns {', '.join(names)}, each once, and "
                    f"not all of them. Got {list(one)}."
                )
        chosen = dict.fromkeys(tuple(name in one for name in names) for one in kept)
        for own in chosen:
            lone = lone_axis(groups, own)
            if lone is not None:
                raise InvalidQuery(
                    f"{owner} must not keep `{lone[0]}` without `{lone[1]}`, within whose keys its own lie: "
                    f"such sums are the groups themselves. In SQL write ROLLUP, `{lone[1]}` first."
                )
        found = [Margin(own, _cells(sizes, own, keep=False)) for own in sorted(chosen, reverse=True)]
    if groups.nested:
        found = [Margin(one.kept, SummedCells.of(groups, one.kept).most) for one in found]
    rows = sum(summed_size(groups, margin.kept) for margin in found)
    if rows > MOST_CELLS:
        raise InvalidQuery(
            f"{owner} have {rows:,} rows; at most {MOST_CELLS:,} are allowed. Name those that you need."
        )
    return found


def _cells(sizes: Sequence[int], kept: Sequence[bool], *, keep: bool) -> int:
    return math.prod(size for size, own in zip(sizes, kept, strict=True) if own is keep)


def _noisy(release: Release, plan: Plan) -> list[ExactIntegers]:
    """The noisy integers of all cells. Raises `InvalidQuery` where they are not those that are shown."""
    changed = isinstance(release, ConsistentRelease | CoveringRelease | MarginRelease) or release.arranged
    drawn = release.drawn
    if drawn is None or any(len(part.numbers) != plan.cells.size for part in drawn.parts) or changed:
        raise InvalidQuery(
            f"`release` of `with_margins` must be a whole answer as it was given. `{release.name}` was "
            "made to agree or to cover, ordered or shortened by SQL, has margins already, or is kept "
            "without its parts."
        )
    return [exact_integers(part.numbers) for part in drawn.parts]


def _answered(plan: Plan, summed: SummedCells, sums: Sequence[ExactIntegers]) -> Answers:
    """What the statistic makes of the sums: each has the law of as many noises as cells were added up."""
    statistic, parts = statistic_of(plan.query), noisy_of(plan.parts)

    def answers(added: int, numbers: Sequence[ExactIntegers]) -> Answers:
        own = tuple(replace(part, added=added) for part in parts)
        return statistic.answers(replace(plan, parts=own), numbers).steady()

    if summed.uniform:
        return answers(summed.most, sums)
    found: list[Answers] = []
    order: list[NDArray[np.int64]] = []
    for added in np.unique(summed.added).tolist():
        mine = np.flatnonzero(summed.added == added)
        own = answers(added, [one.reshape(len(summed.added), -1)[mine].ravel() for one in sums])
        found.append(own)
        each = len(own.values) // len(mine)
        rows = np.arange(each) + mine[:, None] * each
        order.append(rows.ravel())
    joined, places = _joined(found), np.argsort(np.concatenate(order))
    return Answers(joined.values[places], joined.lower[places], joined.upper[places])


def _labels(plan: Plan, axes: Sequence[Axis], kept: Sequence[bool], summed: SummedCells) -> Labels:
    """The keys of a margin's rows, first axis slowest."""
    own = statistic_of(plan.query).labels_of(summed.cells, plan)
    rows = len(next(iter(own.values()))) if own else summed.cells.size
    found = {
        axis.column: own[axis.column] if keep else objects([total_word(axis)] * rows)
        for axis, keep in zip(axes, kept, strict=True)
    }
    return found | {name: column for name, column in own.items() if name not in found}


def _joined(answers: Sequence[Answers]) -> Answers:
    values = [one.values for one in answers]
    counts = all(one.dtype.kind in "iO" for one in values)
    lower, upper = (
        np.concatenate(ends) for ends in zip(*((one.lower, one.upper) for one in answers), strict=True)
    )
    whole = [number for one in values for number in one.tolist()] if counts else []
    return Answers(exact_integers(whole) if counts else np.concatenate(values), lower, upper)
