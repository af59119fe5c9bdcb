"""From what a person points at to a page: a result file, a query file, a channel, a ledger."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from leakcap.errors import InvalidParameter
from leakcap.report import pages
from leakcap.report.records import (
    AttackRecord,
    AuditRecord,
    BudgetRecord,
    ChannelRecord,
    ConvertRecord,
    DaleniusRecord,
    FitRecord,
    PlanRecord,
    Record,
    ReleaseRecord,
)
from leakcap.report.render.document import Audience, Document

__all__ = ["page_of", "read_record"]

_PAGES: Mapping[type[Record], Callable[[Any, Audience], Document]] = {
    ReleaseRecord: pages.release_page,
    PlanRecord: pages.plan_page,
    BudgetRecord: pages.budget_page,
    ChannelRecord: pages.channel_page,
    DaleniusRecord: pages.dalenius_page,
    AuditRecord: pages.audit_page,
    AttackRecord: pages.attack_page,
    ConvertRecord: pages.convert_page,
    FitRecord: pages.fit_page,
}


def page_of(record: Mapping[str, Any], audience: Audience, owner: str = "the record") -> Document:
    """The page of what a command printed with `--json`; `InvalidParameter` where it is none of them.

    >>> page_of({"schema": "leakcap/nonsense/1"}, "board")
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `the record` is no result that can be reported: ...
    """
    named = {_name(kind): kind for kind in _PAGES}
    told = record.get("schema") if isinstance(record, Mapping) else None
    kind = named.get(told) if isinstance(told, str) else None
    if kind is None:
        known = ", ".join(sorted(name.split("/")[1] for name in named))
        raise InvalidParameter(
            f"`{owner}` is no result that can be reported: its `schema` must be one of version 1 of {known}, "
            "as printed by the commands with --json."
        )
    try:
        return _PAGES[kind](kind.model_validate_json(json.dumps(record)), audience)
    except LookupError:
        raise InvalidParameter(
            f"`{owner}` is not a sound record: something that its page needs is missing."
        ) from None
    except (ValidationError, ValueError, ArithmeticError) as error:
        raise InvalidParameter(f"`{owner}` is not a sound record: {_first(error)}.") from None


def read_record(path: Path) -> dict[str, Any]:
    """A result file as JSON."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InvalidParameter(f"`{path}` is not JSON as the commands print it with --json.") from None
    if not isinstance(found, dict):
        raise InvalidParameter(f"`{path}` is not JSON as the commands print it with --json.")
    return found


def _no_constant(text: str) -> float:
    raise ValueError(text)


def _name(kind: type[Record]) -> str:
    return str(get_args(kind.model_fields["schema_"].annotation)[0])


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        found = error.errors(include_input=False, include_url=False)[0]
        return f"{'.'.join(map(str, found['loc']))}: {found['msg']}"
    return str(error).removesuffix(".")
