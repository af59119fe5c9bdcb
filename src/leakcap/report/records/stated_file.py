"""Whether what the record of a file of rows says follows from its policy, its question and its counts.

The released tables are not in it, so that their distances from the file's cannot be made anew: that they are
at least those of the columns, which are in it, is all that is seen of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from leakcap.errors import LeakcapError
from leakcap.policy.declared import Key
from leakcap.release.results.exposure import exposure_of_plan, proven_of_spend
from leakcap.report.records.planned_anew import planned_anew
from leakcap.report.records.stated_account import account_fault, statement_fault
from leakcap.report.records.synthesis import FileColumnRecord, RegressionRecord, SynthesisRecord, type_of_keys
from leakcap.report.records.tables import ChoiceRecord
from leakcap.statement.risks import games_of_one

if TYPE_CHECKING:
    from leakcap.ledger import Charge
    from leakcap.synthesis.choice import TableChoice
    from leakcap.tables.question import PlannedTables

__all__ = ["file_fault"]

_ROUNDED = 1e-9


def file_fault(record: SynthesisRecord) -> str:
    """What is wrong with the record of a file, in words; empty where nothing is.

    Its question is planned and priced anew. That a ledger paid for it, what else it paid for, and how far the
    file is from tables of two columns or more is the word of whoever hands the record over.
    Raises `InvalidParameter` where its question is none, or its sentences do not follow from its numbers.
    """
    from leakcap.synthesis.targets import check_fits
    from leakcap.tables.charge import charge_of_tables

    planned, choice = planned_anew(record.policy, record.question or {}, record.choice)
    check_fits(planned)
    charge = charge_of_tables(planned) if choice is None else choice.charge()
    if name := next(_other_facts(record, planned, choice, charge), ""):
        return f"`{name}` does not follow from the rest"
    among = 1 if choice is None else choice.at_once
    for fault in (_columns_fault(record, planned, among), _tables_fault(record, planned, among)):
        if fault:
            return fault
    own = exposure_of_plan((), (), record.policy, [charge])
    if fault := statement_fault(record.statement, own, "statement", "file's tables"):
        return fault
    if fault := account_fault(record.so_far, record.caps, record.policy, charge):
        return fault
    return "" if record.regression is None else _regression_fault(record.regression, record.entry)


def _other_facts(
    record: SynthesisRecord, planned: PlannedTables, choice: TableChoice | None, charge: Charge
) -> Iterator[str]:
    """The fields that say something else than what is planned anew."""
    from leakcap.synthesis.impossible import Impossible
    from leakcap.synthesis.microdata import check_draw, check_weights

    workload, spend = planned.plan.workload, charge.spend
    proven = proven_of_spend(planned.question.name, spend, record.policy)
    chosen = () if record.choice is None else record.choice.chosen
    sizes = [[workload.sizes[place] for place in table] for table in planned.plan.variances if table]
    facts = {
        "dataset": record.policy.dataset,
        "name": planned.question.name,
        "rho": _or_none(spend.rho),
        "nats_person": _or_none(spend.nats_person),
        "nats_table": _or_none(spend.nats_table),
        "freedom": sum(math.prod(size - 1 for size in own) for own in sizes),
        "covers": planned.counted.coverage.covers,
        "about": planned.about,
        "choice": choice and ChoiceRecord(among=len(choice.candidates), chosen=chosen),
        "proven": proven,
        "games": games_of_one(proven, record.policy.neighbours, record.policy.units, spend.nats_person),
    }
    for name, made in facts.items():
        if getattr(record, name) != made:
            yield name
    if record.entry < 1:
        yield "entry"
    if not record.misfit >= 0.0:
        yield "misfit"
    rules: Any = record.impossible
    try:
        named = Impossible.of(planned, rules).named
        check_draw(record.rows, record.seed, len(planned.axes), named)
        if record.weights:
            check_weights(planned)
    except LeakcapError as error:
        yield next((name for name in ("impossible", "rows", "seed", "weights") if name in str(error)), "rows")


def _or_none(number: float) -> float | None:
    """As a record has it: ∞ is null."""
    return number if math.isfinite(number) else None


def _columns_fault(record: SynthesisRecord, planned: PlannedTables, among: int) -> str:
    """Its columns and their counts: keys of the policy, whole rows of the file, one released total."""
    from leakcap.tables.answer import error_of_cells

    total = record.rows * record.weight
    if not (math.isfinite(total) and total >= 1.0 - _ROUNDED):
        return "`weight` does not follow from the rest"
    if [one.name for one in record.columns] != [axis.column for axis in planned.axes]:
        return "its columns are not those of its `question`"
    for place, (axis, one) in enumerate(zip(planned.axes, record.columns, strict=True)):
        keys: tuple[Key, ...] = tuple(axis.labels.values())
        told = [(type(cell.key), cell.key) for cell in one.margin]
        if (one.type, one.keys) != (type_of_keys(keys), len(keys)) or told != [(type(k), k) for k in keys]:
            return f"column `{one.name}` does not have the keys of its policy"
        if not _whole_rows(one, record):
            return f"the counts of `{one.name}` in the file are not those of whole rows"
        released = math.fsum(cell.released for cell in one.margin)
        size = math.fsum(abs(cell.released) for cell in one.margin)
        if not math.isclose(max(released, 1.0), total, rel_tol=_ROUNDED, abs_tol=_ROUNDED * size):
            return f"the released counts of `{one.name}` do not add up to the total"
        half = error_of_cells(planned.plan, (place,), among)
        for cell in one.margin:
            ends = ((cell.lower, cell.released - half), (cell.upper, cell.released + half))
            if not all(math.isclose(*end, rel_tol=_ROUNDED, abs_tol=_ROUNDED * half) for end in ends):
                return f"an interval of `{one.name}` does not follow from its noise"
    return ""


def _whole_rows(column: FileColumnRecord, record: SynthesisRecord) -> bool:
    counts = [cell.file / record.weight for cell in column.margin]
    near = all(abs(one - round(one)) <= _ROUNDED * record.rows for one in counts)
    return near and min(counts) > -0.5 and sum(map(round, counts)) == record.rows


def _tables_fault(record: SynthesisRecord, planned: PlannedTables, among: int) -> str:
    """Its tables: bounds that follow from distances and noise, distances no less than those of columns."""
    from leakcap.synthesis.errors import noise_bound

    workload = planned.plan.workload
    if [one.columns for one in record.tables] != [workload.named(table) for table in workload.weights]:
        return "its tables are not those of its `question`"
    off = {
        one.name: math.fsum(abs(cell.file - cell.released) for cell in one.margin) for one in record.columns
    }
    for table, one in zip(workload.weights, record.tables, strict=True):
        named, cells = ", ".join(one.columns), workload.cells_of(table)
        least = max((off[name] for name in one.columns), default=0.0)
        if not one.distance >= least * (1.0 - _ROUNDED) - _ROUNDED:
            return f"the distance of table `{named}` is less than that of its columns"
        bound = one.distance + noise_bound(planned.plan, table, among)
        if not math.isclose(one.bound, bound, rel_tol=_ROUNDED):
            return f"the bound of table `{named}` does not follow from its distance and noise"
        inside = one.inside * cells
        if not (-0.5 < inside < cells + 0.5 and abs(inside - round(inside)) <= _ROUNDED * cells):
            return f"the share of cells of table `{named}` in their interval is none"
        if one.cramers_v is not None and not (len(table) == 2 and 0.0 <= one.cramers_v <= 1.0):
            return f"the association of table `{named}` is none"
    return ""


def _regression_fault(told: RegressionRecord, entry: int) -> str:
    """What of a regression follows from the rest: how many coefficients lie inside, and that tables which
    were paid for with the file have no price of their own."""
    ends = [
        (one, one.lower, one.upper)
        for one in told.coefficients
        if one.lower is not None and one.upper is not None
    ]
    if any(one.released is not None and not low <= one.released <= high for one, low, high in ends):
        return "a coefficient of its regression lies outside of its own interval"
    inside = [low <= one.file <= high for one, low, high in ends if one.file is not None]
    if told.inside != (sum(inside) if inside else None):
        return "`inside` of its regression does not follow from the coefficients"
    if told.priced == (told.entry == entry) or (not told.priced and (told.rho or told.nats_person)):
        return "the price of its regression is not that of its entry"
    return ""
