"""Released tables as sheets of an Excel workbook: every digit, and nothing that a spreadsheet would run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from leakcap.errors import InvalidParameter
from leakcap.plain import plain
from leakcap.release.numbers.answers import own_heads
from leakcap.release.results.pivot import FLAG, PARTS, Pivot, wide_columns
from leakcap.release.results.record import ReleasedRecord, figure_held, population_held

__all__ = ["MOST_ROWS", "Sheet", "file_names", "new_workbook", "sheet_names", "write_excel", "write_tables"]

_LONGEST = 31
_FORBIDDEN = re.compile(r"[\[\]:*?/\\]")
_LARGEST = 2**53
MOST_ROWS = 2**20  # of a sheet
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
    """A sheet for each release: what it is, and its values with their keys and intervals.

    A table of more rows than a sheet may have goes on in the sheets after it, each of which says so. How many
    groups with private keys a release has is not known before it is paid for, and must not be refused then.
    """
    parts = [part for release in releases for part in _parts(release)]
    names = sheet_names([release.name for release, _, _ in parts])
    for (release, notes, rows), name in zip(parts, names, strict=True):
        heads, lines = _table(release, rows)
        sheet = Sheet(book, name, [max(14, len(head) + 2) for head in heads])
        sheet.freeze(len(notes) + 4)
        sheet.add([release.name], bold=True)
        for note in notes:
            sheet.add([note])
        sheet.add()
        sheet.add(heads, bold=True)
        for line in lines:
            sheet.add(line)


def _table(release: ReleasedRecord, rows: range) -> tuple[list[str], Iterable[Iterable[object]]]:
    """Heads and these of the lines: of a pivot, or one for each value."""
    if release.layout is not None:
        heads, lines = wide_columns(release.rows(), release.layout, release.flags)
        return heads, islice(lines, rows.start, rows.stop)
    keys = _keys(release)
    told = zip(release.values[rows.start : rows.stop], release.flags[rows.start : rows.stop], strict=True)
    cells = (
        [*((row.keys or {}).get(name) for name in keys), row.value, *row.interval, flag] for row, flag in told
    )
    return [*keys, *own_heads(keys, PARTS)], cells


def _parts(release: ReleasedRecord) -> Iterator[tuple[ReleasedRecord, list[str], range]]:
    """The release once for each of its sheets: what stands above its rows, and which rows."""
    notes, size = list(_notes(release)), len(release.values)
    if release.layout is not None:
        size = len(Pivot.of(release.rows().labels, release.layout).lines)
    # The name, an empty row, the heads, and the note of a part.
    room = MOST_ROWS - len(notes) - 4
    if size <= room:
        yield release, notes, range(size)
        return
    sheets = -(-size // room)
    for place, first in enumerate(range(0, size, room), 1):
        rows = range(first, min(first + room, size))
        said = f"Sheet {place} of {sheets}: rows {rows.start + 1:,} to {rows.stop:,} of {size:,}."
        yield release, [*notes, said], rows


def _keys(release: ReleasedRecord) -> tuple[str, ...]:
    return release.columns or tuple(release.values[0].keys or () if release.values else ())


def _notes(release: ReleasedRecord) -> Iterator[str]:
    price = release.price
    slack = f", δ = {price.delta:g}" if price.delta else ""
    yield f"{release.query}. {release.noise.mechanism} noise, ε = {price.epsilon:g}{slack}."
    ends = f"The columns lower and upper are the ends of {100 * release.confidence:g} % intervals"
    if release.covers is None:
        ends += ". Whose figure they hold is not in this record."
    else:
        ends += f" for the figure that {figure_held(release.covers)}{population_held([release])}."
    if release.drowned:
        ends += (
            f" The flag {FLAG} marks unreliable values, {release.drowned:,} of {len(release.values):,}: the "
            "noise is as large as the value."
        )
    yield ends
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
