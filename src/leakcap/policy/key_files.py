"""Lists of keys in files of their own, beside the policy that names them.

    [columns.district]
    within = "region"
    keys = "districts.csv"

The file is a CSV file in UTF-8 with a column for each level, the outermost first, under the names that the
policy has for them, and a row for each key: what `leakcap hierarchy` reads as a tree. A column that lies
within no other has a file with one column. Keys are text, or whole numbers where the policy says
`type = "integer"`. What a ledger keeps of the policy are the keys, not the file.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leakcap.errors import InvalidPolicy

__all__ = ["with_key_files"]


def with_key_files(content: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What a policy says, with the keys that stand in files beside it. Raises `InvalidPolicy`."""
    found = dict(content)
    if isinstance(found.get("columns"), Mapping):
        found["columns"] = _filled(found["columns"], folder)
    if isinstance(found.get("tables"), Mapping):
        found["tables"] = {
            name: {**table, "columns": _filled(table["columns"], folder)}
            if isinstance(table, Mapping) and isinstance(table.get("columns"), Mapping)
            else table
            for name, table in found["tables"].items()
        }
    return found


def _filled(columns: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    return {
        name: _read(name, known, columns, folder) if _names_file(known) else known
        for name, known in columns.items()
    }


def _names_file(column: object) -> bool:
    keys = column.get("keys") if isinstance(column, Mapping) else None
    return isinstance(keys, str) and keys.lower().endswith(".csv")


def _read(name: str, column: Mapping[str, Any], columns: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The column with the keys of its file."""
    file, heads = str(column["keys"]), _heads(name, columns)
    (_, head), *rows = _rows(folder / file, file)
    if tuple(head) != heads:
        raise InvalidPolicy(
            f"`{file}` must have the columns {', '.join(heads)}, in this order. Got {', '.join(head)[:200]}."
        )
    given = {one: value for one, value in column.items() if one != "type" or value != "integer"}
    whole, keys = len(given) < len(column), dict[str, Any]()
    for line, row in rows:
        if len(row) != len(heads) or not all(row):
            raise InvalidPolicy(
                f"`{file}` must have {len(heads)} cells in each line, none empty. See line {line}."
            )
        *path, last = row
        within = keys
        for word in path[:-1]:
            within = within.setdefault(word, {})
        within.setdefault(path[-1] if path else "", []).append(_whole(last, file, line) if whole else last)
    return {**given, "keys": keys if len(heads) > 1 else keys.get("", [])}


def _heads(name: str, columns: Mapping[str, Any]) -> tuple[str, ...]:
    """The column and those that it lies within, the outermost first."""
    found = [name]
    while isinstance(known := columns.get(found[0]), Mapping):
        outer = known.get("within")
        if not isinstance(outer, str) or outer in found:  # which is refused with the policy
            break
        found.insert(0, outer)
    return tuple(found)


def _rows(path: Path, file: str) -> list[tuple[int, list[str]]]:
    """The lines that are not empty, each with its number."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.reader(lines, strict=True)
            rows = [(reader.line_num, row) for row in reader if row]
    except OSError as problem:
        raise InvalidPolicy(f"`{file}` cannot be read: {problem.strerror or 'unknown reason'}.") from None
    except UnicodeDecodeError:
        raise InvalidPolicy(f"`{file}` is not UTF-8. Save it as UTF-8.") from None
    except csv.Error as problem:
        raise InvalidPolicy(f"`{file}` is not valid CSV: {problem}.") from None
    if len(rows) < 2:
        raise InvalidPolicy(f"`{file}` must have a line of names and one key or more.")
    return rows


def _whole(text: str, file: str, line: int) -> int:
    """A whole number as people write it: no other text may mean the same key."""
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is None or str(number) != text:
        raise InvalidPolicy(f"`{file}` must have whole numbers as keys. See line {line}.")
    return number
