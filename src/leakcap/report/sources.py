"""From what a person points at to a page: a result file, a query file, a channel, a ledger."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from leakcap.errors import InvalidParameter
from leakcap.report import pages
from leakcap.report.records import (
    AnnexRecord,
    AttackRecord,
    AuditRecord,
    BudgetRecord,
    ChannelRecord,
    ConvertRecord,
    DaleniusRecord,
    FitRecord,
    PreviewRecord,
    Record,
    ReleaseRecord,
)
from leakcap.report.records.agreement import require_agreement
from leakcap.report.records.disclosure import DisclosureRecord
from leakcap.report.records.disclosure_groups import DisclosureGroupRecord
from leakcap.report.records.disclosure_sets import TableSetRecord
from leakcap.report.records.hierarchies import HierarchyRecord
from leakcap.report.records.running import RunningRecord
from leakcap.report.records.synthesis import SynthesisRecord
from leakcap.report.records.tables import TablesRecord
from leakcap.report.render.document import Audience, Document

__all__ = ["page_of", "parsed_record", "read_record", "record_of"]

_PAGES: Mapping[type[Record], Callable[[Any, Audience], Document]] = {
    ReleaseRecord: pages.release_page,
    PreviewRecord: pages.preview_page,
    BudgetRecord: pages.budget_page,
    ChannelRecord: pages.channel_page,
    DaleniusRecord: pages.dalenius_page,
    AuditRecord: pages.audit_page,
    AttackRecord: pages.attack_page,
    ConvertRecord: pages.convert_page,
    FitRecord: pages.fit_page,
    AnnexRecord: pages.annex_page,
    TablesRecord: pages.tables_page,
    HierarchyRecord: pages.hierarchy_page,
    SynthesisRecord: pages.synthesis_page,
    RunningRecord: pages.running_page,
    DisclosureRecord: pages.disclosure_page,
    TableSetRecord: pages.table_set_page,
    DisclosureGroupRecord: pages.group_page,
}


def page_of(record: Record, audience: Audience, owner: str = "the record") -> Document:
    """The page of what a command prints with `--json`; `InvalidParameter` where there is none, or where what
    it says does not follow from its numbers."""
    draw = _PAGES.get(type(record))
    if draw is None:
        raise _unknown(owner)
    try:
        return draw(record, audience)
    except LookupError:
        raise InvalidParameter(
            f"`{owner}` is not a sound record: something that its page needs is missing."
        ) from None
    except (ValueError, ArithmeticError) as error:
        raise InvalidParameter(f"`{owner}` is not a sound record: {_first(error)}.") from None


def record_of(told: Mapping[str, Any], owner: str = "the record") -> Record:
    """The record in what a command printed with `--json`; `InvalidParameter` where there is none.

    >>> record_of({"schema": "leakcap/nonsense/1"})
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `the record` is no result that can be reported: ...
    """
    named = {kind.schema_name(): kind for kind in _PAGES}
    name = told.get("schema") if isinstance(told, Mapping) else None
    kind = named.get(name) if isinstance(name, str) else None
    if kind is None:
        raise _unknown(owner)
    try:
        return kind.model_validate_json(json.dumps(told, allow_nan=False))
    except (ValidationError, ValueError) as error:
        raise InvalidParameter(f"`{owner}` is not a sound record: {_first(error)}.") from None


def read_record(path: str | Path) -> Record:
    """The record in a result file; `InvalidParameter` where it is none, or where tables or a file of rows do
    not agree with the rest of it: it was edited. No table and no ledger is needed.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".json") as file:
    ...     read_record(file.name)
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `...` is not JSON as the commands print it with --json.
    """
    record = parsed_record(path)
    require_agreement(record)
    return record


def parsed_record(path: str | Path) -> Record:
    """The same, without a look at whether its parts agree: for whoever makes all of it anew."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InvalidParameter(f"`{path}` is not JSON as the commands print it with --json.") from None
    if not isinstance(found, dict):
        raise InvalidParameter(f"`{path}` is not JSON as the commands print it with --json.")
    return record_of(found, str(path))


def _unknown(owner: str) -> InvalidParameter:
    known = ", ".join(sorted(kind.schema_name().split("/")[1] for kind in _PAGES))
    return InvalidParameter(
        f"`{owner}` is no result that can be reported: its `schema` must be one of version 1 of {known}, "
        "as printed by the commands with --json."
    )


def _no_constant(text: str) -> float:
    raise ValueError(text)


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        found = error.errors(include_input=False, include_url=False)[0]
        return f"{'.'.join(map(str, found['loc']))}: {found['msg']}"
    return str(error).removesuffix(".")
