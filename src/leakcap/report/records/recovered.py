"""From a record of tables back to what was released, with nothing but the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from leakcap.errors import InvalidParameter, LeakcapError
from leakcap.report.records.planned_anew import chosen_places, planned_anew
from leakcap.report.records.stated_account import account_fault
from leakcap.report.records.tables import BetweenRecord, ChoiceRecord, TablesRecord, WorkloadRecord

if TYPE_CHECKING:
    from leakcap.synthesis.choice import TableChoice
    from leakcap.tables.answer import ReleasedTables

__all__ = ["released_of"]


def released_of(record: TablesRecord) -> ReleasedTables:
    """The tables that a record is of: no data, no ledger is read, and nothing is paid.

    The noise and its price are planned anew from the record's policy and question, the noisy integers found
    from its estimates, and everything that the record says of the tables made from these: one that says
    something else anywhere is refused with `InvalidParameter`. So its numbers agree with each other, and its
    account, of everything so far and of the caps, can hold the tables. That a ledger paid for them, and what
    else it paid for, is the word of whoever hands the record over.
    """
    from leakcap.tables.recovery import recovered_tables

    if record.policy is None or record.question is None:
        raise InvalidParameter(
            "A record that tables are taken from must have its `policy` and its `question`, which records of "
            "earlier versions lack. Make it anew: `leakcap tables FILE --json` repeats it for free."
        )
    try:
        planned, choice = planned_anew(record.policy, record.question, record.choice)
    except ValidationError:
        raise _edited(record, "its `question` is none") from None
    except LeakcapError as error:
        raise _edited(record, str(error).removesuffix(".")) from None
    workload = planned.plan.workload
    if [(one.columns, len(one.cells)) for one in record.tables] != [
        (workload.named(table), workload.cells_of(table)) for table in workload.closure
    ]:
        raise _edited(record, "its tables are not those of its `question`")
    values = {
        table: [cell.value for cell in one.cells]
        for table, one in zip(workload.closure, record.tables, strict=True)
    }
    found = recovered_tables(planned, values, record.entry)
    if choice is not None and record.choice is not None:
        found = _of_choice(choice, record.choice, found)
    made = WorkloadRecord.of_released(found)
    for name in WorkloadRecord.model_fields:
        if name != "repeated" and getattr(made, name) != getattr(record, name):
            raise _edited(record, f"`{name}` does not follow from the rest")
    if record.entry < 1:
        raise _edited(record, "its `entry` is none that a ledger has")
    if record.dataset != record.policy.dataset:
        raise _edited(record, "its `dataset` is not that of its policy")
    if not all(_adds_up(one, found) for one in record.between):
        raise _edited(record, "`between` does not follow from the rest")
    if fault := account_fault(record.so_far, record.caps, record.policy, found.charge):
        raise _edited(record, fault)
    return found


def _adds_up(told: BetweenRecord, found: ReleasedTables) -> bool:
    """Whether it is what the tables say of its keys."""
    cells: dict[str, Any] = {name: own[0] if len(own) == 1 else own for name, own in told.keys.items()}
    try:
        return told == BetweenRecord.of(cells, found.between(cells))
    except LeakcapError:
        return False


def _of_choice(choice: TableChoice, told: ChoiceRecord, found: ReleasedTables) -> ReleasedTables:
    """The tables as chosen ones, with the price of choosing and intervals that hold for all candidates."""
    from leakcap.synthesis.choosing import tables_of_choice

    spend = choice.charge().spend
    return tables_of_choice(
        choice, chosen_places(choice, told), found.integers, spend, found.entry, repeated=found.repeated
    )


def _edited(record: TablesRecord, why: str) -> InvalidParameter:
    again = "`leakcap tables FILE --json` repeats it"
    if record.choice is not None:
        again = "`leakcap synthesize FILE --output rows.csv --tables tables.json` repeats it"
    return InvalidParameter(
        f"The record of tables `{record.name}` does not agree with itself: {why}. It was edited, or another "
        f"version of leakcap wrote it. Make it anew: {again} for free."
    )
