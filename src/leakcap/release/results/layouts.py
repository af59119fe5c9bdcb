"""Answers that a query file lays out in rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from leakcap.policy.document import Policy
from leakcap.release.planning.plan import plan_query
from leakcap.release.query import QueryFields
from leakcap.release.results.pivot import Layout, layout_named
from leakcap.release.results.result import Release
from leakcap.release.statistics import statistic_of

__all__ = ["layout_of_query", "with_layouts"]

Ways = Mapping[str, Sequence[str]]


def layout_of_query(query: QueryFields, policy: Policy, ways: Ways) -> Layout:
    """How an answer to this query is laid out, `across` and `down`; raises `InvalidQuery` where it cannot be.
    Touches no data."""
    plan = plan_query(query, policy)
    open_ = [axis.column for axis in plan.cells.axes]
    names = open_ if plan.cells.open else list(statistic_of(plan.query).labels(plan))
    return layout_named(names, query.name, ways.get("across", ()), ways.get("down", ()))


def with_layouts(releases: Sequence[Release], ways: Mapping[str, Ways], policy: Policy) -> list[Release]:
    """The releases in their order, those that are named laid out."""
    return [
        replace(release, layout=layout_of_query(release.query, policy, ways[release.name]))
        if release.name in ways
        else release
        for release in releases
    ]
