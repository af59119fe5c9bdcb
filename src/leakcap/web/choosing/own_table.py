"""A perturbation table of the reader's own: an upload in an office's format, weighed as others are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from leakcap.choosing import MethodTells, OfficeMethod
from leakcap.disclosure.cell_key import CellKey
from leakcap.disclosure.cell_key_files import perturbation_table_of
from leakcap.errors import InvalidInput
from leakcap.web.choosing.method_content import MethodContent, method_content
from leakcap.web.choosing.office_method import MATCHED
from leakcap.web.reading import chosen

__all__ = ["OwnTable", "asked_table", "weigh_upload"]

_NAME = "your table"


@dataclass(frozen=True)
class OwnTable:
    """What the form says beside the file."""

    cycle: int | None = None
    matched: str = "average"


def asked_table(fields: Mapping[str, str]) -> OwnTable:
    """The form's fields. Raises `InvalidInput` for a number of rows that is none.

    >>> asked_table({"cycle": "250", "matched": "largest"})
    OwnTable(cycle=250, matched='largest')
    """
    text = fields.get("cycle", "").strip()
    if text and not (text.isascii() and text.isdecimal() and len(text) <= 4 and int(text) >= 1):
        raise InvalidInput("How many rows come again must be a whole number from 1 to 9999, or left empty.")
    return OwnTable(int(text) if text else None, chosen(fields, "matched", list(MATCHED)))


def weigh_upload(raw: bytes, asked: OwnTable) -> MethodContent:
    """What the page shows of a table. Raises `LeakcapError` for a file that is none."""
    if not raw.strip():
        raise InvalidInput("Choose a file first: the perturbation table, CSV.")
    table = perturbation_table_of(raw, _NAME, cycle=asked.cycle)
    return method_content(MethodTells(OfficeMethod("key", matched=asked.matched), CellKey(table)))
