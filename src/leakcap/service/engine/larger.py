"""Models and tables: what takes long, and is done as a job.

A synthetic file needs no operation of its own: whoever has the record of released tables makes files of it,
for free (`leakcap synthesize --from`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from leakcap.errors import InvalidQuery
from leakcap.models.files import Descent, asked_fit
from leakcap.models.summary import summary_of
from leakcap.policy.validation import complaints
from leakcap.release import PrivateTable, exposure_so_far
from leakcap.report.records.base import CapRecord
from leakcap.report.records.releases import FittedRecord
from leakcap.report.records.tables import TablesRecord
from leakcap.service.engine.call import EngineCall
from leakcap.statement import Statement, statement_of
from leakcap.synthesis.choosing import release_chosen_tables
from leakcap.tables.answer import ReleasedTables
from leakcap.tables.question import TablesQuestion
from leakcap.tables.release import release_tables

__all__ = ["model_fitted", "require_work", "tabled"]


def require_work(call: EngineCall) -> dict[str, Any]:
    """Refuse a body that is no fit or no tables, before it becomes a job and takes a turn; nothing is read,
    and what takes long to plan is not planned."""
    kind, asked = call.body.get("kind"), call.body.get("asked")
    if kind not in ("fit", "tables") or not isinstance(asked, Mapping):
        raise InvalidQuery("What is looked at needs a `kind`, `fit` or `tables`, and what is `asked`.")
    looked = replace(call, operation=str(kind), body=asked)

    def ask(table: PrivateTable) -> None:
        if kind == "tables":
            _tables_asked(looked)
        else:
            _fit_asked(looked).model(table.policy, call.analyst)

    call.asked(ask)
    return {"dataset": call.dataset}


def model_fitted(call: EngineCall) -> dict[str, Any]:
    """A model whose fit is a private release."""

    def ask(table: PrivateTable) -> dict[str, Any]:
        call.require_approved_policy(table)
        asked = _fit_asked(call)
        model: Any = asked.model(table.policy, call.analyst)
        fresh = call.body.get("fresh") is True
        model.fit_table(table, **asked.columns(), fresh=fresh, request=call.paid_once)
        summary = summary_of(model, asked.features, neighbours=table.policy.neighbours, delta=None)
        return {
            "dataset": call.dataset,
            "answers": [{"entry": summary.entry, "repeated": summary.repeated}],
            "fit": FittedRecord.of(summary).to_dict(),
            "caps": [CapRecord.of(one).to_dict() for one in table.ledger.balances()],
        }

    return call.asked(ask)


def tabled(call: EngineCall) -> dict[str, Any]:
    """Tables that share one charge; with `choose` only so many of them, chosen by a private score."""

    def ask(table: PrivateTable) -> dict[str, Any]:
        call.require_approved_policy(table)
        question, choose = _tables_asked(call)
        fresh = call.body.get("fresh") is True
        found: ReleasedTables
        if choose is None:
            found = release_tables(table, question, fresh=fresh, request=call.paid_once)
        else:
            found = release_chosen_tables(table, question, choose, fresh=fresh, request=call.paid_once)
        record = TablesRecord.of(found, _told(table, call.analyst), table.budget(), source=table.named)
        return {
            "dataset": call.dataset,
            "answers": [{"entry": found.entry, "repeated": found.repeated}],
            "tables": record.to_dict(),
        }

    return call.asked(ask)


def _fit_asked(call: EngineCall) -> Any:
    content = call.body.get("model")
    if not isinstance(content, Mapping):
        raise InvalidQuery("`model` must be an object with the fields of a model file.")
    asked = asked_fit(content)
    if isinstance(asked, Descent):
        raise InvalidQuery(
            "A curator does not fit by gradient descent, whose steps need a file of their own. Take "
            "`linear`, `ridge`, `logistic`, `svm` or `tree`. Nothing was spent."
        )
    return asked


def _tables_asked(call: EngineCall) -> tuple[TablesQuestion, int | None]:
    """The question, and how many of its tables are chosen; None for all."""
    fields = {name: one for name, one in call.body.items() if name not in ("choose", "fresh", "policy")}
    try:
        question = TablesQuestion.model_validate(fields)
    except ValidationError as error:
        raise InvalidQuery(complaints(error, "tables")) from None
    choose = call.body.get("choose")
    if choose is not None and not (type(choose) is int and choose > 0):
        raise InvalidQuery("`choose` of `tables` must be a whole number from 1.")
    return question, choose


def _told(table: PrivateTable, analyst: str) -> Statement:
    """What this analyst was told so far."""
    own = [one for one in table.ledger.entries() if one.analyst == analyst]
    return statement_of(exposure_so_far(own, table.policy))
