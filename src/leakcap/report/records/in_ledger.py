"""Whether a ledger has what a record says: the same noisy numbers under the same entry, and as much spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from leakcap.errors import InvalidParameter
from leakcap.release.results.exposure import exposure_so_far
from leakcap.report.records.agreement import require_agreement
from leakcap.report.records.base import CapRecord, Record
from leakcap.report.records.planned_anew import planned_anew
from leakcap.report.records.stated_account import nearly_same
from leakcap.report.records.synthesis import SynthesisRecord, columns_of_file, tables_of_file
from leakcap.report.records.tables import TablesRecord, WorkloadRecord, choice_told
from leakcap.statement.covering import shortfall
from leakcap.statement.restated import restated

if TYPE_CHECKING:
    from leakcap.ledger import Ledger
    from leakcap.tables.answer import ReleasedTables

__all__ = ["require_in_ledger"]

_ROUNDED = 1e-9


def require_in_ledger(record: Record, ledger: Ledger) -> None:
    """Raise `InvalidParameter` unless the ledger remembers the answer that a record of tables, or of a file
    made of them, says it is of: its tables number by number, a file drawn again from its seed.

    What everything so far tells is held against the entries up to that answer, and what was spent of each
    cap against what was spent by now. Whether the ledger itself is whole its `verify` says. Of a regression
    with a price of its own nothing is compared.
    """
    if not isinstance(record, TablesRecord | SynthesisRecord) or None in (record.policy, record.question):
        raise InvalidParameter(
            "`--ledger` compares a record of tables, leakcap/tables/1, or of a file made of them, "
            f"leakcap/synthesis/1, that has its `policy` and its `question`. Got {record.schema_name()}."
        )
    require_agreement(record)
    found = _remembered(record, ledger)
    if found is None:
        raise InvalidParameter(
            f"The ledger does not remember `{record.name}` of `{record.dataset}` under entry {record.entry}: "
            "it is not where the record is from, or no longer has that answer."
        )
    if name := _other(record, _made(record, found)):
        raise InvalidParameter(
            f"`{name}` of the record `{record.name}` is not what the ledger has under entry {record.entry}. "
            "The record was edited, or is of another ledger."
        )
    _require_account(record, ledger)


def _remembered(record: TablesRecord | SynthesisRecord, ledger: Ledger) -> ReleasedTables | None:
    from leakcap.synthesis.choosing import remembered_choices
    from leakcap.tables.release import remembered_tables

    assert record.policy is not None
    planned, choice = planned_anew(record.policy, record.question or {}, record.choice)
    if choice is not None:
        return remembered_choices(ledger, choice, record.entry).get(record.entry)
    return remembered_tables(ledger, planned, record.entry).get(record.entry)


def _made(record: TablesRecord | SynthesisRecord, found: ReleasedTables) -> Mapping[str, Any]:
    """What the record's fields are of what the ledger has."""
    if isinstance(record, TablesRecord):
        made = WorkloadRecord.of_released(found)
        return {name: getattr(made, name) for name in WorkloadRecord.model_fields if name != "repeated"}
    from leakcap.synthesis import synthesize

    rules: Any = record.impossible
    file = synthesize(found, rows=record.rows, seed=record.seed, impossible=rules)
    return {
        "columns": columns_of_file(file),
        "tables": tables_of_file(file),
        "weight": file.weight,
        "misfit": file.generator.misfit,
        "choice": choice_told(found).get("choice"),
    }


def _other(record: TablesRecord | SynthesisRecord, made: Mapping[str, Any]) -> str:
    """The first field that says something else; of a file numbers may differ in their last digits."""
    exact = isinstance(record, TablesRecord)
    for name, own in made.items():
        told = getattr(record, name)
        if told != own and (exact or not nearly_same(_plain(told), _plain(own), _ROUNDED)):
            return name
    return ""


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value.model_dump(mode="json") if hasattr(value, "model_dump") else value


def _require_account(record: TablesRecord | SynthesisRecord, ledger: Ledger) -> None:
    assert record.policy is not None
    before = [one for one in ledger.entries() if one.id <= record.entry]
    told = restated(record.so_far).exposure
    if number := shortfall(told, exposure_so_far(before, record.policy)):
        raise InvalidParameter(
            f"`so_far` of the record `{record.name}` says less than the ledger's entries up to "
            f"{record.entry} tell, in `{number}`. The record was edited, or is of another ledger."
        )
    now = {one.cap: one for one in map(CapRecord.of, ledger.balances())}
    for one in record.caps:
        own = now.get(one.cap)
        if own is None or _more(one.spent, own.spent):
            raise InvalidParameter(
                f"`caps` of the record `{record.name}` say that more was spent of `{one.cap}` than the "
                "ledger has. The record was edited, or is of another ledger."
            )


def _more(told: float | None, own: float | None) -> bool:
    return own is not None and (told is None or told > own * (1.0 + _ROUNDED) + 1e-12)
