"""Forms that were sent: their fields and files, and whether they come from a page of this run."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from leakcap.web.serving.guard import Keys

__all__ = ["form_of", "require_ours"]

_MOST_FIELDS = 64


async def form_of(request: Request) -> tuple[dict[str, str], dict[str, bytes]]:
    """The fields of a form, and its files; the guard has seen to its size."""
    fields: dict[str, str] = {}
    uploads: dict[str, bytes] = {}
    async with request.form(max_files=2, max_fields=_MOST_FIELDS, max_part_size=512 * 1024) as form:
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                uploads[name] = await value.read()
            else:
                fields[name] = str(value)
    return fields, uploads


def require_ours(keys: Keys, fields: Mapping[str, str]) -> None:
    """Refuse a form that no page of this run has sent."""
    if not keys.ours(fields.get("form_key", "")):
        raise HTTPException(403, "This form is from an earlier run of the explorer. Load the page again.")
