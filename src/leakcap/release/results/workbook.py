"""Released tables as sheets of an Excel workbook: every digit, and nothing that a spreadsheet would run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from leakcap.errors import InvalidParameter
from leakcap.plain import plain
from leakcap.release.numbers.answers import heads_of
from leakcap.release.results.record import ReleasedRecord, figure_held

__all__ = ["Sheet", "file_names", "new_workbook", "sheet_names", "write_excel", "write_tables"]

_LONGEST = 31
_FORBIDDEN = re.compile(r"[\[\]:*?/\\]")
_LARGEST = 2**53
_RESERVED = {"", "history", "summary"}


def new_workbook() -> Any:
    """An empty workbook, to be filled row by row. Raises `InvalidParameter` without openpyxl."""
    try:
        openpyxl = import_module("openpyxl")
    except ImportError:
        openpyxl = None
    if openpyxl is None:
        raise InvalidParameter(
            "An Excel workbook needs openpyxl, which is not installed. Run `pip install 'leakcap[excel]'`."
        )
    book = openpyxl.Workbook(write_only=True)
    book.properties.creator = "leakcap"
    return book


class Sheet:
    """A sheet of a workbook. Texts stay texts: what begins like a formula is none, here and after an edit."""

    def __init__(self, book: Any, name: str, widths: Sequence[int]) -> None:
        self._sheet = book.create_sheet(name)
        from openpyxl.utils import get_column_letter

        for place, width in enumerate(widths, 1):
            self._sheet.column_dimensions[get_column_letter(place)].width = width

    def freeze(self, row: int) -> None:
        """Keep what is above this row in sight."""
        self._sheet.freeze_panes = f"A{row}"

    def add(self, cells: Iterable[object] = (), *, bold: bool = False, wrap: bool = False) -> None:
        """One row below the others."""
        self._sheet.append([self._cell(value, bold, wrap) for value in cells])

    def _cell(self, value: object, bold: bool, wrap: bool) -> Any:
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.styles import Alignment, Font

        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST:
            value = str(value)  # a spreadsheet has doubles alone
        cell = WriteOnlyCell(self._sheet)
        if isinstance(value, str):
            cell.value = plain(value, keep="")
            cell.data_type = "s"
            cell.quotePrefix = True
        elif isinstance(value, float | int) and not isinstance(value, bool):
            cell.value = repr(value)  # openpyxl itself writes 16 digits, which are not always the number
            cell.data_type = "n"
        else:
            cell.value = value
        if bold:
            cell.font = Font(bold=True)
        if wrap:
            cell.alignment = Alignment(wrap_text=True, vertical="top")
        return cell


def write_tables(book: Any, releases: Sequence[ReleasedRecord]) -> None:
    """A sheet for each release: what it is, and its values with their keys and intervals."""
    for release, name in zip(releases, sheet_names([one.name for one in releases]), strict=True):
        heads = heads_of(_keys(release))
        notes = list(_notes(release))
        sheet = Sheet(book, name, [max(14, len(head) + 2) for head in heads])
        sheet.freeze(len(notes) + 4)
        sheet.add([release.name], bold=True)
        for note in notes:
            sheet.add([note])
        sheet.add()
        sheet.add(heads, bold=True)
        for row in release.values:
            keys = row.keys or {}
            sheet.add([*(keys.get(name) for name in _keys(release)), row.value, *row.interval])


def _keys(release: ReleasedRecord) -> tuple[str, ...]:
    return release.columns or tuple(release.values[0].keys or () if release.values else ())


def _notes(release: ReleasedRecord) -> Iterator[str]:
    price = release.price
    slack = f", δ = {price.delta:g}" if price.delta else ""
    yield f"{release.query}. {release.noise.mechanism} noise, ε = {price.epsilon:g}{slack}."
    ends = f"The columns lower and upper are the ends of {100 * release.confidence:g} % intervals"
    if release.covers is None:
        yield f"{ends}. Whose figure they hold is not in this record."
    else:
        yield f"{ends} for the figure that {figure_held(release.covers)}."
    yield from (text for text in (release.about, release.counted, release.post_processed) if text)


def sheet_names(names: Iterable[str]) -> list[str]:
    """Names as Excel has them: short, each there once whatever its case, without its own signs.

    >>> sheet_names(["stays/ward", "Stays ward", "", "History"])
    ['stays ward', 'Stays ward 2', 'table', 'History 2']
    """
    return _unlike((_FORBIDDEN.sub(" ", plain(name, keep="")) for name in names), _LONGEST, _RESERVED)


def file_names(names: Iterable[str]) -> list[str]:
    """Names of files: letters, digits, - and _ of any script, each there once whatever its case.

    >>> file_names(["stays by ward", "Stays/by ward", "../x"])
    ['stays-by-ward', 'Stays-by-ward-2', 'x']
    """
    words = (re.sub(r"[\W]+", "-", name).strip("-") for name in names)
    return [name.replace(" ", "-") for name in _unlike(words, 60, {""})]


def _unlike(names: Iterable[str], longest: int, taken: set[str]) -> list[str]:
    taken, found = set(taken), []
    for given in names:
        stem = given[:longest].strip(" '") or "table"
        name, number = stem, 1
        while name.casefold() in taken:
            number += 1
            end = f" {number}"
            name = stem[: longest - len(end)] + end
        taken.add(name.casefold())
        found.append(name)
    return found


def write_excel(releases: Sequence[ReleasedRecord], path: str | Path) -> None:
    """A workbook of these tables alone; its folder is made if it is not there."""
    book, target = new_workbook(), Path(path)
    if target.suffix.lower() != ".xlsx":
        raise InvalidParameter(f"`path` must be an .xlsx file. Got `{target}`.")
    write_tables(book, releases)
    target.parent.mkdir(parents=True, exist_ok=True)
    book.save(target)
