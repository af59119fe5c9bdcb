"""Tables, trees and running counts as the ledger remembers them, laid out by their question alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leakcap.errors import LeakcapError
from leakcap.ledger import Entry, Ledger
from leakcap.ledger.details import STREAM
from leakcap.release import Policy, exposure_so_far
from leakcap.report.pages.hierarchy import hierarchy_blocks
from leakcap.report.pages.running import running_blocks
from leakcap.report.pages.workload import not_all_shown, table_by_table, workload_blocks
from leakcap.report.records.hierarchies import HierarchyRecord
from leakcap.report.records.running import RunningRecord
from leakcap.report.records.tables import WorkloadRecord
from leakcap.report.render.document import Block, Paragraph, Plot
from leakcap.running.release import remembered_running
from leakcap.statement import statement_of
from leakcap.synthesis.choice import ChoiceQuestion
from leakcap.synthesis.choosing import remembered_choices
from leakcap.tables import ReleasedTables
from leakcap.tables.hierarchies.question import HierarchyQuestion
from leakcap.tables.hierarchies.release import remembered_hierarchies
from leakcap.tables.question import TablesQuestion
from leakcap.tables.release import remembered_tables
from leakcap.web.figures import Figure, named_colours
from leakcap.web.releasing.ledger_view import policy_of, require_this_policy
from leakcap.web.serving.settings import Settings

__all__ = ["TOO_LARGE", "DrawnAnswer", "drawn_answer"]


@dataclass(frozen=True)
class DrawnAnswer:
    """The blocks of a report's page that show an answer; `note` is what a reader has to know first."""

    blocks: tuple[Block | Figure, ...] = ()
    note: str = ""


def drawn_answer(settings: Settings, entry: Entry) -> DrawnAnswer:
    """What the ledger remembers of an entry, as the report's page shows it to a reviewer.

    It is laid out by the question in a file that the explorer was started with; without that nothing is
    known of its columns, and the note says so. Raises `LeakcapError`.
    """
    policy = policy_of(settings)
    if settings.ledger is None:
        return DrawnAnswer()
    steps, series = int(entry.details.get(STREAM, 0)), int(entry.details.get("series", 0))
    if max(int(entry.details.get("cells", 0)), steps * series) > _MOST_NUMBERS:
        return DrawnAnswer(note=TOO_LARGE)
    with Ledger.read(settings.ledger) as book:
        require_this_policy(book, policy)
        for question in settings.questions:
            # A choice is planned for each table that it is among, which can take longer than a page waits.
            if isinstance(question, ChoiceQuestion) != ("among" in entry.details):
                continue
            found = _blocks(book, question, policy, entry)
            if found is not None:
                return DrawnAnswer(tuple(map(_shown, found)))
    return DrawnAnswer(note=_NO_QUESTION)


_MOST_NUMBERS = 20_000
TOO_LARGE = (
    "This answer has more numbers than a page waits for. `--report` of the command that asked draws it, and "
    "`--tables` of `leakcap synthesize` writes tables that were chosen; both are free."
)
_IN_JSON = "Every cell of every table, with its interval, is in `--json` of the command that asked, for free."
_IN_TABLES = (
    "Every cell of every table, with its interval, is in `--tables` of `leakcap synthesize`, for free."
)
_NO_QUESTION = (
    "The ledger keeps the numbers of this answer, and not which cell each belongs to. Start the explorer "
    "with the file that asked, too: `leakcap serve FILE FILE`. It must ask the same at the same price."
)


def _blocks(book: Ledger, question: Any, policy: Policy, entry: Entry) -> list[Block] | None:
    """None where the entry does not answer the question."""
    number = entry.id
    try:
        planned = question.planned(policy)
    except LeakcapError:
        # Under an amended policy an old question may have no meaning; other files may ask this one.
        return None
    if isinstance(question, TablesQuestion):
        found = remembered_tables(book, planned, number).get(number)
        if found is None and planned.nested and question.nested is None:
            # Of a file of rows all pairs of keys were cells, also where one column lies within another.
            found = remembered_tables(book, question.flat(policy).planned(policy), number).get(number)
        return _of_tables(found, _IN_JSON)
    if isinstance(question, ChoiceQuestion):
        return _of_tables(remembered_choices(book, planned, number).get(number), _IN_TABLES)
    told = statement_of(exposure_so_far([entry], policy))
    if isinstance(question, HierarchyQuestion):
        tree = remembered_hierarchies(book, planned, number).get(number)
        if tree is None:
            return None
        record = HierarchyRecord.of(tree, told, book.balances())
        exact = [Paragraph(record.exact_statement)] if record.exact_statement else []
        return [*exact, *hierarchy_blocks(record, "reviewer")]
    stream = remembered_running(book, planned, number).get(number)
    if stream is None:
        return None
    return list(running_blocks(RunningRecord.of(stream, told, book.balances()), "reviewer"))


def _of_tables(tables: ReleasedTables | None, where: str) -> list[Block] | None:
    """Small tables with their margins; where there are large ones the errors of all, and `where` they are."""
    if tables is None:
        return None
    if tables.plan.workload.cells > _MOST_NUMBERS:
        return [Paragraph(TOO_LARGE)]
    workload = WorkloadRecord.of_released(tables)
    blocks = list(workload_blocks(workload, "reviewer"))
    if not_all_shown(workload, "reviewer"):
        blocks += [*table_by_table(workload), Paragraph(where, soft=True)]
    return blocks


def _shown(block: Block) -> Block | Figure:
    """The block, its plot in the explorer's colours."""
    if not isinstance(block, Plot):
        return block
    spec = named_colours(block.spec)
    title = spec.pop("title", {})
    return Figure(block.name, title.get("text", ""), title.get("subtitle", ""), block.label, spec, wide=True)
