"""Whether what is made of answers afterwards fits the questions: known before anything is paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leakcap.release import Policy, QueryFile

__all__ = ["require_fit"]


def require_fit(queries: QueryFile, policy: Policy) -> None:
    """Whether answers can be made to agree, have margins and be laid out is known without data, and before
    anything is paid."""
    from leakcap.release import agreeing, dry_run, layout_of_query, margins_fit

    named = {name for group in queries.consistent for name in group}
    if named:
        chosen = [query for query in queries.queries if query.name in named]
        agreeing(dry_run(chosen, policy), queries.consistent)
    for query in queries.queries:
        if query.name in queries.margins:
            margins_fit(query, policy, queries.margins[query.name])
        if query.name in queries.pivots:
            layout_of_query(query, policy, queries.pivots[query.name])
