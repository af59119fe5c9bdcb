"""Totals that are published exactly, by law: what the fit takes from them, and what they tell by themselves.

leakcap does not publish them. Their numbers stand in the question, as they were published elsewhere, so that
nothing is read from the data for them, no noise is saved by looking, and every check of them is a computation
on public numbers. What they tell is a channel of its own, noiseless: whoever knows all other records sees
from them whether a record is counted, and under which of the nodes that have an exact total. No ε holds for
that. What the noise promises holds between tables that agree in the exact totals, and the answer says so.

Source: He, Machanavajjhala & Ding 2014 (constraints that are public); Bailie, Gong & Meng 2025 (invariants).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from leakcap.errors import InvalidQuery
from leakcap.numeric import up
from leakcap.policy.declared import Key
from leakcap.tables.hierarchies.tree import Hierarchy

__all__ = ["ExactTotals", "Invariants"]

Floats = NDArray[np.float64]
Whole = Annotated[int, Field(strict=True, ge=0, le=2**50)]


class ExactTotals(BaseModel):
    """Counts of nodes of one level that are published exactly, and the `reason` that they have to be.

    `minimum` is the least count that is taken for one that names nobody; 0 may stand beside it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: str
    counts: Annotated[dict[str, Whole], Field(min_length=1)]
    reason: Annotated[str, Field(min_length=1, max_length=1000)]
    minimum: Annotated[int, Field(strict=True, ge=1)] = 10


@dataclass(frozen=True, eq=False)
class Invariants:
    """The exact totals of a tree: for each level the counts by place, and what follows from them.

    `limits` are, for each level, the least and the most that its nodes can have. `cases` is how many contents
    of one record the totals tell apart, absence among them.
    """

    hierarchy: Hierarchy
    counts: tuple[dict[int, int], ...]
    limits: tuple[tuple[Floats, Floats], ...]
    reasons: tuple[ExactTotals, ...]
    cases: int

    @classmethod
    def of(cls, hierarchy: Hierarchy, given: Sequence[ExactTotals], name: str = "hierarchy") -> Invariants:
        """The totals that were given. Raises `InvalidQuery` for a node that is not, for totals that
        contradict each other, and for counts, or remainders between them, that are below the minimum.

        >>> land = Hierarchy.of(["land", "town"], [("l", "a"), ("l", "b")])
        >>> totals = ExactTotals(level="land", counts={"l": 50}, reason="census act, § 5")
        >>> found = Invariants.of(land, [totals])
        >>> found.cases, found.whole_levels, [most.tolist() for _, most in found.limits]
        (2, ('land',), [[50.0], [inf, inf]])
        """
        owner = f"`exact` of hierarchy `{name}`"
        counts: tuple[dict[int, int], ...] = tuple({} for _ in hierarchy.levels)
        for one in given:
            for word, count in one.counts.items():
                level, place = _placed(hierarchy, one.level, word, owner)
                if place in counts[level]:
                    raise InvalidQuery(
                        f"{owner} must give each node once. Got {word!r} of `{one.level}` twice."
                    )
                if 0 < count < one.minimum:
                    raise InvalidQuery(
                        f"{owner} must be 0 or at least {one.minimum}, its `minimum`: a smaller total names "
                        f"people. {word!r} of `{one.level}` has {count:,}."
                    )
                counts[level][place] = count
        least = max((one.minimum for one in given), default=1)
        limits = _limits(hierarchy, counts, least, owner)
        return cls(hierarchy, counts, limits, tuple(given), _cases(hierarchy, counts))

    @property
    def whole_levels(self) -> tuple[str, ...]:
        """The levels all of whose nodes are known exactly: they get no noise, and cost nothing."""
        return tuple(
            name
            for name, own, size in zip(self.hierarchy.levels, self.counts, self.hierarchy.sizes, strict=True)
            if len(own) == size
        )

    @property
    def nats(self) -> float:
        """What the totals tell alone about one record, to one who knows all others: ln `cases`, rounded
        up."""
        return up(math.log(self.cases), 2) if self.cases > 1 else 0.0

    @property
    def statement(self) -> str:
        """What the totals tell alone, and between which tables the noise promises anything; without any,
        nothing."""
        if not self.reasons:
            return ""
        nodes = sum(map(len, self.counts))
        totals = "One total is" if nodes == 1 else f"{nodes:,} totals are"
        return (
            f"{totals} published exactly, and no ε holds for that. Whoever knows all other records sees from "
            f"the exact totals alone whether a record is counted, and under which of them: {self.cases:,} "
            "cases, absence among them. What the noise promises holds between tables that agree in the exact "
            "totals, and only between these; chances, odds and information are said of the "
            "noise alone."
        )


def _placed(hierarchy: Hierarchy, level: str, word: str, owner: str) -> tuple[int, int]:
    """A node by its name in a file, where whole numbers are text."""
    try:
        known = hierarchy.levels.index(level)
        label: Key = word if isinstance(hierarchy.labels[known][0], str) else int(word)
        return hierarchy.place(level, label)
    except (ValueError, InvalidQuery):
        raise InvalidQuery(f"{owner} must name nodes of the tree. It has no {word!r} of `{level}`.") from None


def _limits(
    hierarchy: Hierarchy, counts: Sequence[dict[int, int]], minimum: int, owner: str
) -> tuple[tuple[Floats, Floats], ...]:
    """Upwards: what the nodes below have at least, and at most where all of them are exact."""
    found: list[tuple[Floats, Floats]] = []
    last = len(hierarchy.levels) - 1
    for level in range(last, -1, -1):
        size = hierarchy.sizes[level]
        if level == last:
            least, most = np.zeros(size), np.full(size, np.inf)
        else:
            least, most = (np.asarray(hierarchy.added(level + 1, one), dtype=np.float64) for one in found[-1])
        for place, count in counts[level].items():
            rest = count - int(least[place])
            closed = math.isfinite(most[place])
            if rest < 0 or (closed and rest):
                raise InvalidQuery(
                    f"{owner} must not contradict each other. {hierarchy.labels[level][place]!r} of "
                    f"`{hierarchy.levels[level]}` has {count:,}, and the nodes below it have "
                    f"{int(least[place]):,}."
                )
            if level < last and 0 < rest < minimum and least[place] > 0:
                raise InvalidQuery(
                    f"{owner} must leave 0 or at least {minimum} for the other nodes. Of "
                    f"{hierarchy.labels[level][place]!r} of `{hierarchy.levels[level]}` they leave {rest:,}."
                )
            least[place] = most[place] = count
        found.append((least, most))
    return tuple(found[::-1])


def _cases(hierarchy: Hierarchy, counts: Sequence[dict[int, int]]) -> int:
    """The sets of exact nodes that a record can stand in: those above some leaf, and none, when it is
    absent."""
    above = np.zeros(1, dtype=np.int64)
    used = 1
    for level, own in enumerate(counts):
        if level:
            above = above[hierarchy.parents[level]]
        places = np.fromiter(own, np.int64, len(own))
        above = above.copy()
        above[places] = np.arange(used, used + len(places))
        used += len(places)
    return len(set(above.tolist()) | {0})
