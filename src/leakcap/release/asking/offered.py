"""What a plan may want beside what it asks for: how many rows the policy's bound cuts."""

from __future__ import annotations

from collections.abc import Sequence

from leakcap.policy.document import Policy
from leakcap.release.asking.accuracy import Preview, preview
from leakcap.release.planning.queries import Query

__all__ = ["cut_offered"]

_TIMES = 10


def cut_offered(previews: Sequence[Preview], policy: Policy) -> str | None:
    """What `rows_cut` would cost and how far it would be off; None where no rows can be cut, or it is asked.

    At a tenth of the plan's ε, with `up_to` ten times `max_rows`: these follow from public numbers alone.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0},
    ...     "unit": {"id": "person", "max_rows": 3}, "columns": {"age": {"bounds": [0.0, 120.0]}}})
    >>> plan = preview([Query(name="n", statistic="count", epsilon=1.0)], policy=policy)
    >>> str(cut_offered(plan, policy)).partition(". ")[2]
    '`rows_cut` with `up_to` = 30, for ε = 0.1, tells it within ± 1,078 rows.'
    """
    cut = any(one.coverage.covers == "rows kept" for one in previews)
    if not cut or any(one.statistic == "rows_cut" for one in previews):
        return None
    epsilon = sum(one.price.epsilon for one in previews) / _TIMES
    up_to = min(_TIMES * policy.rows_per_unit, 10**6)
    if up_to <= policy.rows_per_unit or not 1e-9 < epsilon < 1e3:
        return None
    asked = Query(name="cut", statistic="rows_cut", up_to=up_to, epsilon=float(f"{epsilon:.2g}"))
    (found,) = preview([asked], policy=policy)
    return (
        f"How many rows are cut is not in these errors. `rows_cut` with `up_to` = {up_to:,}, for ε = "
        f"{asked.epsilon:g}, tells it within ± {round(found.error):,} rows."
    )
