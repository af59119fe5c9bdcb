"""Answers as a page shows them and as files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi.responses import Response

from leakcap.errors import InvalidParameter
from leakcap.release.results.record import ReleasedRecord
from leakcap.report.render.sheet import values_text

__all__ = ["answer_content", "downloaded"]


def answer_content(told: Mapping[str, Any]) -> dict[str, Any]:
    """The releases of an answer, for the page."""
    return {"releases": _releases(told)}


def downloaded(told: Mapping[str, Any], kind: str) -> Response:
    """The answer as a file: `csv`, which no spreadsheet runs, or `json`, as `/v1` gives it."""
    if kind == "csv":
        return _file(values_text(_releases(told)), "text/csv; charset=utf-8", "answer.csv")
    if kind == "json":
        return _file(json.dumps(told, indent=1, ensure_ascii=False), "application/json", "answer.json")
    raise InvalidParameter("`as` must be `csv` or `json`.")


def _releases(told: Mapping[str, Any]) -> list[ReleasedRecord]:
    return [ReleasedRecord.model_validate_json(json.dumps(one)) for one in told["releases"]]


def _file(text: str, kind: str, name: str) -> Response:
    headers = {"content-type": kind, "content-disposition": f'attachment; filename="{name}"'}
    return Response(text.encode(), headers=headers)
