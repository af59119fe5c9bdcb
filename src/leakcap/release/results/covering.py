"""Intervals that hold the table's figure where the policy cuts rows: with a private count of the rows cut.

A count K of the rows kept and the number C of rows cut add up to T, the table's figure, as long as nobody
has more than the `up_to` rows that C looks at. Both come with noise of their own. Where both were asked about
the same rows in the same groups, the noisy numbers are added up. Otherwise C still bounds from above what was
cut: fewer rows of a person are cut where fewer are asked about. Then ends move outward by as much as the rows
cut can add, and values stay. An interval misses with probability 5 % in all, half of it on each side.

Only releases are seen, so it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from leakcap.cards import Shown
from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.columns.people import Coverage
from leakcap.release.conditions.condition import Condition, Junction, to_text
from leakcap.release.numbers.answers import Answers, Rows
from leakcap.release.numbers.exact_integers import doubles, plus
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import plan_query
from leakcap.release.results.consistent import ConsistentRelease
from leakcap.release.results.result import Release
from leakcap.release.statistics import statistic_of

__all__ = ["CoveringRelease", "covered", "covering"]

_COUNTS = ("count", "histogram")
_FIT = (*_COUNTS, "sum")


@dataclass(frozen=True)
class CoveringRelease(Release):
    """A release whose intervals hold the table's figure; `raw` are its rows as they were before."""

    raw: Rows = field(default_factory=lambda: Rows.of([]))
    done: str = ""

    @property
    def post_processing(self) -> str:
        """What was done, which costs nothing."""
        return self.done


def covering(releases: Sequence[Release], cut: Release, policy: Policy) -> list[Release]:
    """The releases in their order: counts, histograms and sums with intervals of the table's figure.

    `cut` is an answer to `rows_cut` about the same version of the table, of all the rows that the others ask
    about: without `where`, or with theirs. A count in the groups of `cut`, or both without groups, gets the
    rows cut added to it; of the others the intervals become wider. What `cut` cannot speak of stays as it is,
    and its `coverage` says so. Raises `InvalidQuery` where `cut` is none.

    >>> import pyarrow
    >>> from leakcap.release import PrivateTable, load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0},
    ...     "unit": {"id": "person", "max_rows": 2}, "columns": {"ward": {"keys": ["a", "b"]}}})
    >>> visits = pyarrow.table({"person": [i // 4 for i in range(4000)], "ward": ["a", "b"] * 2000})
    >>> table = PrivateTable(visits, policy=policy, ledger="sqlite://")
    >>> count, = covering([table.count(epsilon=1.0)], table.rows_cut(up_to=10, epsilon=1.0), policy)
    >>> count.coverage.covers, count.interval[0] < 4000 < count.interval[1]
    ('table', True)
    """
    if cut.query.statistic != "rows_cut":
        raise InvalidQuery(
            f"`cut` of `covering` must be an answer to `rows_cut`. `{cut.name}` is a "
            f"{statistic_of(cut.query).label}."
        )
    about = plan_query(cut.query, policy)
    return Shown(_covered(release, cut, about, policy) for release in releases)


def covered(releases: Sequence[Release], name: str | None, policy: Policy) -> list[Release]:
    """`covering` by the release called `name`; without a name the releases are returned unchanged."""
    found = {release.name: release for release in releases}
    return list(releases) if name is None else covering(releases, found[name], policy)


def _covered(release: Release, cut: Release, about: Plan, policy: Policy) -> Release:
    rightly = release.people_from == cut.people_from and not isinstance(release, ConsistentRelease)
    if release.coverage.covers == "table" or release.query.statistic not in _FIT or not rightly:
        return release
    if release.query.delta is not None or release.arranged or release.totals:
        return release
    plan = plan_query(release.query, policy)
    if release.price.rows_per_unit != cut.price.rows_per_unit or not _asked_about(plan, about):
        return release
    if _same(plan, about):
        return _added(release, cut, plan, about)
    limited = bool(plan.query.by) and policy.groups_per_unit < policy.rows_per_unit
    return release if limited or about.query.by else _widened(release, cut, plan, about)


def _asked_about(plan: Plan, about: Plan) -> bool:
    """Whether every row that the plan asks about is one that the rows cut were counted of."""
    joined = set(about.query.join) <= set(plan.query.join)
    return joined and (
        about.condition is None or _text(about.condition) in map(_text, _parts(plan.condition))
    )


def _parts(condition: Condition | None) -> list[Condition]:
    """What is true of every row that meets the condition."""
    if condition is None:
        return []
    if isinstance(condition, Junction) and condition.word == "AND":
        return [condition, *(one for part in condition.parts for one in _parts(part))]
    return [condition]


def _text(condition: Condition | None) -> str:
    return "" if condition is None else to_text(condition)


def _same(plan: Plan, about: Plan) -> bool:
    """Whether both are about the same rows, chosen in the same way, in the same groups."""
    one, other = plan.query, about.query
    alike = all(getattr(one, name) == getattr(other, name) for name in ("by", "cut", "join"))
    alike = alike and _text(plan.condition) == _text(about.condition)
    return alike and one.statistic == "count"


def _added(release: Release, cut: Release, plan: Plan, about: Plan) -> CoveringRelease:
    """The rows cut are added to the count, and so is the noise: half of the 5 % for each."""
    answers, more = release.rows.answers, cut.rows.answers.values[1::2]
    values = plus(answers.values, more)
    off = float(plan.parts[0].error(0.025) + about.parts[1].error(0.025))
    rows = Rows(release.rows.labels, Answers(values, doubles(values) - off, doubles(values) + off))
    return _changed(release, rows, cut, f"the rows cut, `{cut.name}`, were added")


def _widened(release: Release, cut: Release, plan: Plan, about: Plan) -> CoveringRelease:
    """An end moves by what the rows cut can add beyond it; where they can add nothing, it stays.

    Each end misses with 2.5 %. One that moves leaves half of that to its own noise, half to that of the cut.
    """
    left_out = max(0.0, float(cut.rows[1].value) + about.parts[1].error(0.025))
    low, high = _each(plan)
    answers, step = release.rows.answers, float(plan.parts[0].unit)
    near, far = (plan.parts[0].error(beyond) * step for beyond in (0.05, 0.025))
    values = doubles(answers.values)
    below = near if low == 0.0 else far - low * left_out
    above = near if high == 0.0 else far + high * left_out
    ends = values - below, values + above
    if plan.query.statistic not in _COUNTS:
        # Counts are whole. What the steps above round is less than the last of 27 bits, which go outward.
        ends = np.nextafter(ends[0], -np.inf), np.nextafter(ends[1], np.inf)
    rows = Rows(release.rows.labels, Answers(answers.values, *ends).steady())
    return _changed(release, rows, cut, f"intervals were widened by the rows cut, `{cut.name}`")


def _each(plan: Plan) -> tuple[float, float]:
    """The least and the most that a row can add; 0 where its value is missing."""
    if plan.query.statistic in _COUNTS:
        return 0.0, 1.0
    bounds = plan.policy.columns[plan.query.column or ""].bounds
    assert bounds is not None
    return min(bounds[0], 0.0), max(bounds[1], 0.0)


def _changed(release: Release, rows: Rows, cut: Release, done: str) -> CoveringRelease:
    known = {one.name: getattr(release, one.name) for one in fields(Release)}
    about = (
        f"About all rows that have an id, if no {release.price.unit} has more than {cut.query.up_to:,}: the "
        "95 % are over the noise and the rows cut."
    )
    known |= {"rows": rows, "coverage": Coverage("table", about), "drawn": None}
    raw = release.raw if isinstance(release, CoveringRelease) else release.rows
    return CoveringRelease(**known, raw=raw, done=done)
