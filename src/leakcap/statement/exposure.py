"""What has been shown about one person so far: the numbers a statement is made from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from leakcap.bound import Bound
from leakcap.errors import require
from leakcap.numeric.rounding import sum_up, up
from leakcap.statement.capped import Capped
from leakcap.statement.proving import Proven, proven_pairs, two_steps_of
from leakcap.statement.record import ExposureRecord, Information
from leakcap.statement.tally import Composed, Tally

__all__ = ["Exposure", "compose"]


@dataclass(frozen=True)
class Exposure:
    """The guarantees of one query, or of all queries so far, about one privacy unit.

    `epsilon` is in the policy's neighbouring relation. `epsilon_contents` bounds the log-ratio between any
    two possible contents of one unit's data, absence included; it equals `epsilon` under replace-one and
    lies between ε and 2ε under add/remove-one. `nats` is the MI-DP of the mechanisms themselves: the
    Shannon capacity from one unit's contents to the answers, all other data known. `table_nats` is an
    upper bound on the information about the whole table, ∞ when no public number of units is known.
    `delta` and `delta_contents` are the slacks that go with the two ε. `exact_totals` says that totals were
    published exactly beside the noise: all numbers here are then those of the noise alone.
    `composed` is what the answers' composed curves are computed from, where it is known; every line takes the
    least of what they prove and of what `epsilon` with `delta` says. `capped` are the caps under
    which answers are asked one after another.
    """

    title: str
    epsilon: float
    epsilon_contents: float
    nats: Bound
    table_nats: float
    relation: str
    unit: str = "row"
    units: int | None = None
    queries: int = 1
    delta: float = 0.0
    delta_contents: float = 0.0
    exact_totals: bool = False
    composed: Composed | None = None
    capped: Capped | None = None

    def __post_init__(self) -> None:
        for name in ("epsilon", "epsilon_contents"):
            value = getattr(self, name)
            require(value >= 0 and math.isfinite(value), name, "Exposure", "be a finite number ≥ 0", value)
        for name in ("delta", "delta_contents"):
            value = getattr(self, name)
            require(0 <= value <= 1, name, "Exposure", "be a probability", value)
        below = self.delta <= self.delta_contents * (1 + 1e-9)
        require(below, "delta_contents", "Exposure", "not be below `delta`", self.delta_contents)
        ok = self.epsilon <= self.epsilon_contents <= 2 * self.epsilon * (1 + 1e-9)
        require(ok, "epsilon_contents", "Exposure", "lie between ε and 2ε", self.epsilon_contents)

    def least_of(self, formula: str) -> str:
        """The formula of a line, and that it is taken where it says least, if there is a composed curve."""
        return formula if self.composed is None else f"{formula}, least over the composed curve's (ε, δ)"

    @cached_property
    def pairs(self) -> Proven:
        """Pairs of an ε and a δ between neighbours, each of which holds; the first as it is said."""
        told = ((self.epsilon, self.delta),)
        return told if self.composed is None else (*told, *self._of(self.composed.neighbours))

    @cached_property
    def pairs_contents(self) -> Proven:
        """The same between two contents of one unit's data."""
        told = ((self.epsilon_contents, self.delta_contents),)
        if self.composed is None:
            return told
        if self.relation == "replace-one":
            return (*told, *self._of(self.composed.neighbours))
        contents = self.composed.contents
        by_absence = two_steps_of(self._of(self.composed.neighbours))
        return (*told, *by_absence, *(() if contents is None else self._of(contents)))

    @property
    def capped_pairs(self) -> Proven:
        """Pairs between neighbours that hold of all that the caps allow; empty where none does."""
        return () if self.capped is None else self.capped.pairs

    @property
    def capped_contents(self) -> Proven:
        """The same between two contents of one unit's data."""
        return () if self.capped is None else self.capped.contents(self.relation)

    def _of(self, tally: Tally) -> Proven:
        assert self.composed is not None
        return proven_pairs(tally, self.composed.at_once)

    def record(self) -> ExposureRecord:
        """The numbers as a record; ∞ is null. What is exact, and what is composed, is told only where there
        is such."""
        known: dict[str, Any] = {} if self.composed is None else {"composed": self.composed.record()}
        known |= {"exact_totals": True} if self.exact_totals else {}
        known |= {} if self.capped is None else {"capped": self.capped.record()}
        return ExposureRecord(
            **known,
            epsilon=self.epsilon,
            epsilon_contents=self.epsilon_contents,
            delta=self.delta,
            delta_contents=self.delta_contents,
            nats_person=Information(
                lower=self.nats.lower,
                upper=self.nats.upper,
                method=self.nats.method,
                source=self.nats.source,
            ),
            nats_table=self.table_nats,
            units=self.units,
        )

    def repeated(self, times: int) -> Exposure:
        """The same spend `times` over, each with fresh noise.

        >>> one = Exposure("q", 0.1, 0.1, Bound.exact(0.001, method="m"), 1.0, "replace-one")
        >>> round(one.repeated(3).epsilon, 12)
        0.3
        """
        require(times >= 1, "times", "Exposure.repeated", "be at least 1", times)
        nats = Bound(self.nats.lower, up(self.nats.upper * times), method=f"sum over {times} repetitions")
        return replace(
            self,
            epsilon=self.epsilon * times,
            epsilon_contents=self.epsilon_contents * times,
            nats=nats,
            table_nats=self.table_nats * times,
            delta=min(self.delta * times, 1.0),
            delta_contents=min(self.delta_contents * times, 1.0),
            queries=self.queries * times,
            composed=None if self.composed is None else self.composed.times(times),
        )


def compose(exposures: Sequence[Exposure], title: str, *, at_once: bool = False) -> Exposure:
    """Everything in `exposures` seen together: ε, δ, MI-DP and table information add up, and totals are exact
    where they are in any of them.

    With `at_once` all of it was fixed before any of it was seen, so that curves compose exactly.

    The lower end of the information is that of the most telling query alone; the upper end is the sum.
    Source: McSherry 2009; Cuff & Yu 2016, Corollary 6. All must protect the same unit under the same
    relation: anything else is refused, never mixed.
    """
    require(len(exposures) > 0, "exposures", "compose", "hold at least one query", len(exposures))
    first = exposures[0]
    for name in ("relation", "unit", "units"):
        kinds = {getattr(e, name) for e in exposures}
        require(len(kinds) == 1, name, "compose", "be the same for all queries", sorted(map(str, kinds)))
    total = sum_up(e.nats.upper for e in exposures)
    return replace(
        first,
        title=title,
        epsilon=sum_up(e.epsilon for e in exposures),
        epsilon_contents=sum_up(e.epsilon_contents for e in exposures),
        nats=Bound(
            max(e.nats.lower for e in exposures),
            total,
            method=first.nats.method if len(exposures) == 1 else "sum over the queries",
            source=first.nats.source,
        ),
        table_nats=sum_up(e.table_nats for e in exposures),
        delta=min(sum_up(e.delta for e in exposures), 1.0),
        delta_contents=min(sum_up(e.delta_contents for e in exposures), 1.0),
        queries=sum(e.queries for e in exposures),
        exact_totals=any(e.exact_totals for e in exposures),
        composed=Composed.total([e.composed for e in exposures], at_once=at_once),
    )
