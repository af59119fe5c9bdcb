"""The largest categories of a key column, with noisy counts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

from leakcap.arrays import NDArray, np
from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import Axis, Cells, key_axis
from leakcap.release.measurements.aggregates import RowCount
from leakcap.release.measurements.measurement import measured, total_range
from leakcap.release.measurements.permute_and_flip import TopMeasurement
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.numbers.answers import Answers, Labels
from leakcap.release.numbers.exact_integers import ExactIntegers, objects
from leakcap.release.plan import Plan, QueryContext
from leakcap.release.query import QueryFields
from leakcap.release.statistics.base import Expected, Statistic, require
from leakcap.release.statistics.counts import around
from leakcap.sampling import rational_scale

__all__ = ["Top"]


class Top(Statistic):
    """The keys of a column that most rows have, in the order of their noisy counts."""

    name: ClassVar[str] = "top"
    from_zero: ClassVar[bool] = True
    fields: ClassVar[frozenset[str]] = frozenset({"column", "top"})
    released_keys: ClassVar[bool] = True
    has_noise: ClassVar[bool] = False
    nests_in_groups: ClassVar[bool] = True

    @property
    def label(self) -> str:
        """The name as it stands in a sentence."""
        return "choice of the largest categories"

    def check(self, query: QueryFields) -> None:
        """How many, and of what."""
        super().check(query)
        require(query.top is not None and 1 <= query.top <= 100, "top", query.name, "be from 1 to 100")
        require("rank" not in (*query.by, query.column), "by", query.name, "not name a column `rank`")

    def axes(self, query: QueryFields, policy: Policy, groups: int) -> list[Axis]:
        """The keys, which are public."""
        name = query.column or ""
        known = policy.columns.get(name)
        if known is None or known.keys is None:
            raise InvalidQuery(f"A {self.label} needs public `keys` in the policy; `{name}` has none.")
        fewer = len(known.keys) >= 2 and len(known.keys) >= (query.top or 0)
        require(fewer, "top", query.name, f"be at most the number of keys of `{name}`, which are two or more")
        return [key_axis(name, policy, query)]

    def plan(self, asked: QueryContext) -> Plan:
        """Half of ε chooses, half counts: a histogram of which only the chosen cells are shown."""
        policy, cells, top = asked.policy, asked.cells, asked.query.top or 1
        contribution = Contribution(1, 1, policy.rows_per_unit, cells.size)
        sizes = tuple(_sizes(cells).tolist())
        most = f"be at most {max(sizes)}, the most keys that a group has"
        require(top <= max(sizes), "top", asked.query.name, most)
        half = asked.epsilon / 2
        rational_scale(1, half)  # ε within the range of all the other statistics
        sensitivity = top * contribution.sensitivity(replace=policy.neighbours == "replace-one")
        choice = TopMeasurement(
            role="choice",
            aggregate=RowCount(),
            epsilon=half,
            contribution=contribution,
            sensitivity=sensitivity,
            scale=Fraction(sensitivity) / half,
            total=total_range(contribution, policy),
            covers=False,
            top=top,
            sizes=sizes,
        )
        counts = measured("count", RowCount(), contribution, asked.offer / 2, covers=False, one_hot=True)
        return asked.plan([choice, counts])

    def groups(self, plan: Plan) -> Cells:
        """The keys of `by`."""
        return Cells(plan.cells.axes[:-1])

    def labels(self, plan: Plan) -> Labels:
        """The keys of `by` and the ranks; which key has a rank is told by the answer."""
        sizes = _sizes(plan.cells)
        few = np.minimum(sizes, plan.query.top or 1)
        picks = _counted(few)
        return self.labelled(plan, [picks, np.zeros(plan.cells.size, np.int64)])

    def labelled(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Labels:
        """The keys of `by`, the rank by noisy count, and the key that has it."""
        few = np.minimum(_sizes(plan.cells), plan.query.top or 1)
        cells, _ = _ranked(plan, noisy)
        own = plan.cells.indices[-1][cells]
        names = objects(list(plan.cells.axes[-1].labels.values()))
        groups = {name: np.repeat(words, few) for name, words in self.groups(plan).labels().items()}
        return {**groups, "rank": objects((_counted(few) + 1).tolist()), plan.query.column or "": names[own]}

    def answers(self, plan: Plan, noisy: Sequence[ExactIntegers]) -> Answers:
        """The noisy counts of the chosen keys, whose noise knows nothing of the choice."""
        _, counts = _ranked(plan, noisy)
        return around(counts, plan.parts[1].error(0.05))

    def expected(self, plan: Plan) -> Expected:
        """Of the counts; and how close two categories may be that change places."""
        apart = plan.parts[0].error(0.05)
        return Expected(float(plan.parts[1].error(0.05)), remark=f"each; told apart from {apart:,} rows on")


def _sizes(cells: Cells) -> NDArray[np.int64]:
    """How many keys the column has in each group; where they lie within the groups', not always as many."""
    if not cells.nested:
        return np.full(cells.size // cells.sizes[-1], cells.sizes[-1], dtype=np.int64)
    groups = cells.indices[:-1]
    first = np.ones(groups.shape[1], dtype=bool)
    first[1:] = (groups[:, 1:] != groups[:, :-1]).any(axis=0)
    return np.diff(np.append(np.flatnonzero(first), groups.shape[1]))


def _counted(few: NDArray[np.int64]) -> NDArray[np.int64]:
    """From 0 on in each group of so many."""
    return np.arange(few.sum()) - np.repeat(np.cumsum(few) - few, few)


def _ranked(plan: Plan, noisy: Sequence[ExactIntegers]) -> tuple[NDArray[np.int64], ExactIntegers]:
    """The chosen cells of each group and their noisy counts, the largest first.

    They were chosen in the order of other noise, which beside the counts would look like a mistake. Where
    counts are equal the order is that of the policy's keys.
    """
    picks, counts = noisy
    sizes = _sizes(plan.cells)
    few = np.minimum(sizes, plan.query.top or 1)
    groups = np.repeat(np.arange(len(sizes)), few)
    cells = (np.cumsum(sizes) - sizes)[groups] + picks.astype(np.int64)
    found = counts[cells]
    # The counts may be integers of any size, which NumPy does not sort by several columns.
    places = zip(groups.tolist(), (-found).tolist(), cells.tolist(), range(len(cells)), strict=True)
    order = [place for *_, place in sorted(places)]
    return cells[order], found[order]
