"""From the policy and the question of a record to the tables and their noise, planned anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from leakcap.errors import InvalidParameter
from leakcap.policy.document import Policy
from leakcap.report.records.tables import ChoiceRecord

if TYPE_CHECKING:
    from leakcap.synthesis.choice import TableChoice
    from leakcap.tables.question import PlannedTables
    from leakcap.tables.workload import Places

__all__ = ["chosen_places", "planned_anew"]


def planned_anew(
    policy: Policy, question: Mapping[str, Any], told: ChoiceRecord | None
) -> tuple[PlannedTables, TableChoice | None]:
    """The tables and their noise; where they were chosen those of the choice, with what it was made among.

    Raises `LeakcapError` or `ValidationError` where the question is none under this policy.
    """
    from leakcap.tables.question import TablesQuestion

    asked = TablesQuestion.model_validate(question)
    if told is None:
        return asked.planned(policy), None
    from leakcap.synthesis.choice import TableChoice

    choice = TableChoice.of(asked, policy, len(told.chosen))
    return choice.made(chosen_places(choice, told)), choice


def chosen_places(choice: TableChoice, told: ChoiceRecord) -> tuple[Places, ...]:
    """The chosen tables. Raises `InvalidParameter` where one could not be chosen, or was twice."""
    named = {choice.planned.plan.workload.named(table): table for table in choice.candidates}
    found = tuple(named[columns] for columns in told.chosen if columns in named)
    if len(set(found)) < len(told.chosen):
        raise InvalidParameter("`chosen` of a record must be tables to choose from, each once.")
    return found
