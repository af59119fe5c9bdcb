"""Perturbation tables in the files of offices: `cell-key-perturbation`, sdcTools' `ptable`, τ-ARGUS."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TextIO

from leakcap.disclosure.cell_key import PerturbationTable, Steps
from leakcap.errors import InvalidInput

__all__ = ["perturbation_table_of", "read_perturbation_table", "write_perturbation_table"]

_BY_KEY = ("pcv", "ckey", "pvalue")
_BY_SHARE = ("i", "j", "p", "v", "p_int_ub")
_LOWER = "p_int_lb"
_MOST_ROWS = 20_000_000
# `cell-key-perturbation` reads the rows 501 to 750 again for counts above 750.
_LAST, _AGAIN = 750, 250
_DIGITS = Fraction(1, 10**6)


def read_perturbation_table(path: str | Path, *, cycle: int | None = None) -> PerturbationTable:
    """The table in a file, by its columns.

    - `pcv, ckey, pvalue` (commas): what is added at each key, as the Python package `cell-key-perturbation`
      of the Office for National Statistics takes it. Every count from 1 on needs every key from 0 on: that
      package leaves what is missing unperturbed. Of 750 counts the last 250 come again, as it has them.
    - `i; j; p; v; p_int_ub` (semicolons; also with `p_int_lb`): as the R package `ptable` of sdcTools writes
      it for τ-ARGUS and SAS. The shares `p_int_ub` are taken, exactly as they are printed.

    `cycle` says how many of the last rows stand for larger counts, where the file does not: 1 unless given,
    but for the first format, where other numbers of counts than 750 need it. Raises `InvalidInput` for what
    is no such file, for rows that do not sum to one, and for counts that would become negative.
    """
    with Path(path).open(newline="", encoding="utf-8-sig") as stream:
        return _read(stream, path, cycle)


def perturbation_table_of(raw: bytes, name: str, *, cycle: int | None = None) -> PerturbationTable:
    """The table in what such a file holds; `name` stands in messages. As `read_perturbation_table`.

    >>> lines = ["i;j;p;v;p_int_ub", "0;0;1;0;1", "1;1;1;0;1"]
    >>> perturbation_table_of(chr(10).join(lines).encode(), "p.csv").rows
    (((0, Fraction(1, 1)),), ((0, Fraction(1, 1)),))
    """
    return _read(io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig", newline=""), name, cycle)


def _read(stream: TextIO, path: str | Path, cycle: int | None) -> PerturbationTable:
    try:
        return _found(stream, path, cycle)
    except (UnicodeDecodeError, csv.Error):
        raise InvalidInput(f"`{path}` must be CSV in UTF-8.") from None


def _found(stream: TextIO, path: str | Path, cycle: int | None) -> PerturbationTable:
    head = stream.readline()
    separator = ";" if ";" in head else ","
    names = tuple(name.strip().strip('"').lower() for name in head.rstrip("\r\n").split(separator))
    lines = csv.reader(stream, delimiter=separator)
    if set(names) == set(_BY_KEY) and len(names) == len(_BY_KEY):
        rows, own = _rows_by_key(_numbered(lines, names, _BY_KEY, path), path), cycle
        if own is None and len(rows) - 1 != _LAST:
            raise InvalidInput(
                f"`{path}` has {len(rows) - 1} counts, and `cell-key-perturbation` looks up {_LAST}. "
                "Say by `cycle` how many of the last rows stand for larger counts: 1 for the last alone."
            )
        return _table(rows, _AGAIN if own is None else own, path)
    if "type" in names:
        raise InvalidInput(f"`{path}` is a table for magnitudes, by its column `type`. Give one for counts.")
    wanted = (*_BY_SHARE, _LOWER) if _LOWER in names else _BY_SHARE
    if set(names) == set(wanted) and len(names) == len(wanted):
        found = _rows_by_share(_numbered(lines, names, wanted, path), path)
        return _table(found, 1 if cycle is None else cycle, path)
    raise InvalidInput(
        f"`{path}` must have the columns {', '.join(_BY_KEY)} (commas), or {', '.join(_BY_SHARE)} "
        f"(semicolons). Got {', '.join(names)[:80]}."
    )


def write_perturbation_table(table: PerturbationTable, path: str | Path, *, keys: int | None = None) -> None:
    """Write a table: with `keys` for `cell-key-perturbation`, else as `ptable` writes it for τ-ARGUS.

    Raises `InvalidParameter` where the shares are no whole numbers of `keys`. Shares are printed with 17
    digits, which is exact for multiples of 1/2^17 alone.
    """
    with Path(path).open("w", newline="", encoding="utf-8") as stream:
        if keys is not None:
            out = csv.writer(stream)
            out.writerow(_BY_KEY)
            for count, row in enumerate(table.by_key(keys)):
                out.writerows((count, key, value) for key, value in enumerate(row) if count)
            return
        out = csv.writer(stream, delimiter=";")
        out.writerow(_BY_SHARE)
        for count, steps in enumerate(table.rows):
            low = Fraction(0)
            for value, high in steps:
                out.writerow((count, count + value, _printed(high - low), value, _printed(high)))
                low = high


def _printed(share: Fraction) -> str:
    whole = round(share * 10**17)
    return f"{whole // 10**17}.{whole % 10**17:017d}"


def _numbered(
    lines: Iterable[Sequence[str]], names: Sequence[str], wanted: Sequence[str], path: str | Path
) -> list[dict[str, Fraction]]:
    """The lines as exact numbers."""
    found: list[dict[str, Fraction]] = []
    for line in lines:
        if not line:
            continue
        try:
            if len(line) != len(names) or len(found) >= _MOST_ROWS:
                raise ValueError
            numbers = dict(zip(names, map(_exact, line), strict=True))
        except (ValueError, ZeroDivisionError):
            raise InvalidInput(
                f"Line {len(found) + 2} of `{path}` must have {len(wanted)} numbers."
            ) from None
        found.append(numbers)
    return found


@lru_cache(maxsize=1 << 16)
def _exact(text: str) -> Fraction:
    """A decimal number as it is printed."""
    clean = text.strip().strip('"')
    if len(clean) > 40 or "/" in clean or "_" in clean or abs(float(clean)) > 1e9:
        raise ValueError
    exponent = clean.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > 40:
        raise ValueError
    return Fraction(clean)


def _whole(number: Fraction, name: str, path: str | Path) -> int:
    if number.denominator != 1:
        raise InvalidInput(f"`{name}` in `{path}` must be a whole number. Got {float(number)}.")
    return number.numerator


def _rows_by_key(lines: list[dict[str, Fraction]], path: str | Path) -> list[Steps]:
    told: dict[int, dict[int, int]] = defaultdict(dict)
    for line in lines:
        count, key, value = (_whole(line[name], name, path) for name in _BY_KEY)
        if key in told[count]:
            raise InvalidInput(f"`{path}` has the key {key} of the count {count} twice.")
        told[count][key] = value
    counts, keys = max(told, default=0), 1 + max((max(row) for row in told.values()), default=0)
    first = min(told, default=0)
    rows: list[Steps] = [((0, Fraction(1)),)]
    for count in range(min(first, 0), counts + 1):
        if count == 0 and not told.get(0):
            continue
        row = told.get(count, {})
        if count < 0 or len(row) != keys or sorted(row) != list(range(keys)):
            raise InvalidInput(
                f"`{path}` must have every key from 0 to {keys - 1} for every count from 1 to {counts}. The "
                f"count {count} has {len(row)} keys: a cell would be published as it is at the others."
            )
        last = [key for key in range(keys) if key == keys - 1 or row[key] != row[key + 1]]
        steps = tuple((row[key], Fraction(key + 1, keys)) for key in last)
        if count == 0:
            rows[0] = steps
        else:
            rows.append(steps)
    return rows


def _rows_by_share(lines: list[dict[str, Fraction]], path: str | Path) -> list[Steps]:
    told: dict[int, list[tuple[Fraction, int, Fraction, Fraction | None]]] = defaultdict(list)
    for line in lines:
        count, shown, value = (_whole(line[name], name, path) for name in ("i", "j", "v"))
        if shown - count != value:
            raise InvalidInput(f"`v` in `{path}` must be `j` − `i`. Got {value} for {count} and {shown}.")
        told[count].append((line["p_int_ub"], value, line["p"], line.get(_LOWER)))
    if not told or len(told) != max(told) + 1 or min(told) < 0:
        raise InvalidInput(
            f"`i` in `{path}` must be every count from 0 to the largest, which stands for all above."
        )
    rows: list[Steps] = []
    for count in sorted(told):
        steps, low = [], Fraction(0)
        for high, value, chance, lower in sorted(told[count]):
            if chance == 0 and high == low:
                continue
            off = abs(chance - (high - low)) > 2 * _DIGITS or (
                lower is not None and abs(lower - low) > _DIGITS
            )
            if off or high <= low:
                raise InvalidInput(
                    f"The shares of the count {count} in `{path}` must follow each other, each as wide as "
                    f"its `p`. Got `p` {float(chance):g} for {float(low):g} to {float(high):g}."
                )
            steps.append((value, high))
            low = high
        rows.append(_joined(steps))
    return rows


def _joined(steps: list[tuple[int, Fraction]]) -> Steps:
    """Neighbouring shares with one value as one."""
    ends = [pair for pair, after in pairwise([*steps, (None, None)]) if after is None or pair[0] != after[0]]
    return tuple((int(value), high) for value, high in ends if value is not None and high is not None)


def _table(rows: list[Steps], cycle: int, path: str | Path) -> PerturbationTable:
    """Raises `InvalidInput` with the name of the file."""
    for count, steps in enumerate(rows):
        if not steps or steps[-1][1] != 1:
            total = float(steps[-1][1]) if steps else 0.0
            raise InvalidInput(
                f"The probabilities of the count {count} in `{path}` must sum to one. Got {total:.8g}."
            )
        least = min(value for value, _ in steps)
        if count + least < 0:
            raise InvalidInput(f"`{path}` must not make a count of {count} negative. Got {least}.")
    return PerturbationTable(tuple(rows), cycle)
