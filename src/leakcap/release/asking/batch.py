"""Several questions that share one budget, which is divided before anything is spent.

visits.batch(epsilon=1.0).add(stays, weight=2).add(people, error=30).release()
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from leakcap.release.asking.budget import divided
from leakcap.release.asking.currency import Objective
from leakcap.release.asking.selection import Question
from leakcap.release.asking.templates import QueryTemplate
from leakcap.release.planning.queries import Query

if TYPE_CHECKING:
    from leakcap.release.asking.accuracy import Preview
    from leakcap.release.asking.answering import Answering
    from leakcap.release.results.result import Release

__all__ = ["Batch"]


@dataclass(frozen=True)
class Batch:
    """Questions, and the budget of ε, or of `rho`, that they share. `add` returns a new batch.

    `release` pays for all of them in one entry of the ledger's, all or none, and reads the table once for
    those over the same rows and groups.
    """

    table: Answering = field(repr=False)
    epsilon: float | None = None
    delta: float | None = None
    objective: Objective = "shares by weight"
    templates: tuple[QueryTemplate, ...] = ()
    rho: float | None = None

    def add(
        self,
        question: Question,
        *,
        weight: float | None = None,
        error: float | None = None,
        noise: str = "laplace",
    ) -> Batch:
        """With one more question: by `weight` (1 where nothing is said), or to stay within `error`; with this
        law of `noise`."""
        return replace(
            self, templates=(*self.templates, question.template(weight=weight, error=error, noise=noise))
        )

    def queries(self) -> list[Query]:
        """The questions with their prices. Raises `InvalidQuery`; touches neither data nor ledger."""
        policy = self.table.policy
        return divided(
            self.templates,
            policy,
            epsilon=self.epsilon,
            rho=self.rho,
            delta=self.delta,
            objective=self.objective,
        )

    def preview(self) -> list[Preview]:
        """Accuracy and price of each at its share. Touches neither data nor ledger."""
        return self.table.preview(self.queries())

    def release(self, *, fresh: bool = False) -> list[Release]:
        """All answers, or none."""
        return self.table.release(self.queries(), fresh=fresh)
