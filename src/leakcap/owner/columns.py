"""Whether a column is what the policy says: it can be read, lies within its bounds, has the keys listed."""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import islice

from sqlglot import exp

from leakcap.errors import DataError
from leakcap.owner.asking import OwnerTable, as_read, is_null, not_null, rows_that
from leakcap.owner.finding import DataFault, listed, shown
from leakcap.owner.numbers import remedy
from leakcap.plain import counted
from leakcap.policy.declared import Column, Key
from leakcap.policy.validation import meant
from leakcap.release.columns.typed import OneOf, decimal_column, literal, stored_column
from leakcap.release.engine.beforehand import require_column

__all__ = ["check_column", "missing_column", "unreadable"]

_FEW = 3
_LISTED = 5
_COMPARED = 2_000
"""Among so many keys one is looked for that is spelt nearly so: each is compared sign by sign."""
_MOMENTS = {"date": "a date", "timestamp": "a time", "instant": "a time with an offset from UTC"}
_WRITTEN = {
    "date": "2024-02-29",
    "timestamp": "2024-02-29 23:59:00",
    "instant": "2024-02-29 23:59:00+01:00",
}


def missing_column(table: OwnerTable, name: str, kind: str, place: str) -> DataFault | None:
    """What is said of a column that is not there, or of a type that cannot be read."""
    try:
        require_column(table.types, name, kind)
    except DataError as error:
        text = str(error)[:1].lower() + str(error)[1:]
        if name not in table.types:
            text = f"the data has no such column. {meant(name, table.types)}"
        return DataFault(place, "problem", text)
    return None


def check_column(table: OwnerTable, name: str, known: Column, place: str) -> Iterator[DataFault]:
    """What the owner should know about a column of the policy. `place` is what it is called there."""
    lacking = missing_column(table, name, known.kind, place)
    if lacking is not None:
        yield lacking
        return
    value = stored_column(name, known)
    rows, there, bad = table.row(
        exp.Count(this=exp.Star()), rows_that(not_null(value)), rows_that(_unreadable(name, known.kind))
    )
    if bad:
        yield unreadable(table, name, known.kind, place, bad, rows)
    elif rows and not there:
        yield DataFault(place, "problem", f"no row has a value. Is `{name}` the right column?")
    if known.bounds is not None and there:
        number = as_read(name, "number") if known.places is None else decimal_column(name, known.places)
        yield from _outside(table, number, known, place, there)
        yield from _broken(table, as_read(name, "number"), known, place, there)
    if known.places is not None and there:
        yield from _rounded(table, name, known.places, place, there)
    if known.moments is not None and there:
        yield from _outside(table, value, known, place, there)
    if known.keys is not None and there:
        read = value if known.places is None else decimal_column(name, known.places)
        yield from _unlisted(table, read, known, place, there)


def _unreadable(name: str, kind: str) -> exp.Expression:
    """Whether there is a text that cannot be read as the kind. NaN can: it is a missing number."""
    told = as_read(name, "double" if kind == "number" else kind)
    return exp.And(this=not_null(as_read(name, "text")), expression=is_null(told))


def unreadable(table: OwnerTable, name: str, kind: str, place: str, bad: int, rows: int) -> DataFault:
    """What is said of values that are no numbers, integers, or truth values."""
    texts = table.values(as_read(name, "text"), _unreadable(name, kind), _FEW)
    examples = listed([f"{shown(str(text))} ({counted(many, 'row')})" for text, many in texts])
    also = " and others" if sum(many for _, many in texts) < bad else ""
    help_ = remedy([str(text) for text, _ in texts]) if kind in ("number", "integer") else _of_words(kind)
    what = {"number": "a number", "integer": "an integer", "boolean": "true or false", **_MOMENTS}.get(
        kind, kind
    )
    text = (
        f"{bad:,} of {counted(rows, 'row')} cannot be read as {what} and {'counts' if bad == 1 else 'count'}"
    )
    return DataFault(place, "problem", f"{text} as missing: {examples}{also}. {help_}")


def _of_words(kind: str) -> str:
    if kind in _MOMENTS:
        return f"Write each like {_WRITTEN[kind]}."
    return "Write true or false." if kind == "boolean" else f"Write each as {kind}."


def _outside(
    table: OwnerTable, value: exp.Expression, known: Column, place: str, there: int
) -> Iterator[DataFault]:
    bounds: Sequence[float | datetime.date] = known.bounds or known.moments or ()
    kind = "number" if known.bounds is not None else known.kind
    low, high = (literal(_as_on_the_clock(one), kind) for one in bounds)
    below, above = table.row(
        rows_that(exp.LT(this=value, expression=low)),
        rows_that(exp.GT(this=value.copy(), expression=high)),
    )
    told = [
        f"{many:,} {where} {f'{end:g}' if isinstance(end, float) else end}"
        for many, where, end in ((below, "below", bounds[0]), (above, "above", bounds[1]))
        if many
    ]
    if told:
        counts = "they are in no period" if known.moments else "they count as the nearer bound"
        most = " Most do: is the unit another one?" if 2 * (below + above) > there else ""
        yield DataFault(
            place,
            "note",
            f"of {counted(there, 'value')} {listed(told)}, outside the bounds; {counts}.{most} Do not fit "
            "the bounds to this.",
        )


def _broken(
    table: OwnerTable, value: exp.Expression, known: Column, place: str, there: int
) -> Iterator[DataFault]:
    """Values that are not whole, of a column of whole numbers."""
    if not known.integers:
        return
    (bad,) = table.row(rows_that(exp.NEQ(this=exp.Floor(this=value), expression=value.copy())))
    if bad:
        yield DataFault(
            place,
            "problem",
            f"of {counted(there, 'value')} {bad:,} {'is' if bad == 1 else 'are'} no whole "
            f'number{"s" * (bad > 1)}, which `type = "integer"` says; quantiles take the whole number below. '
            "Leave the type out, or correct the data.",
        )


def _rounded(table: OwnerTable, name: str, places: int, place: str, there: int) -> Iterator[DataFault]:
    """Values of a column of decimals that have more places than it has."""
    read, value = as_read(name, "number"), decimal_column(name, places)
    (bad,) = table.row(rows_that(exp.NEQ(this=read, expression=value)))
    if bad:
        more = f"more than {counted(places, 'decimal place')}"
        told = f"has {more} and is" if bad == 1 else f"have {more} and are"
        text = f"of {counted(there, 'value')} {bad:,} {told} rounded, halves away from zero."
        yield DataFault(place, "note", text)


def _as_on_the_clock(end: float | datetime.date) -> float | datetime.date:
    """An end of instants as a clock at their offset shows it."""
    return end.replace(tzinfo=None) if isinstance(end, datetime.datetime) else end


def _unlisted(
    table: OwnerTable, value: exp.Expression, known: Column, place: str, there: int
) -> Iterator[DataFault]:
    keys = known.keys or ()
    among = OneOf(this=value, keys=keys, kind=known.kind)
    unknown = exp.And(this=not_null(value.copy()), expression=exp.Not(this=among))
    (outside,) = table.row(rows_that(unknown))
    found = {_as_key(one, known) for one, _ in table.values(value.copy(), among.copy(), len(keys))}
    # A dict keeps their order, and finds one of very many at once.
    never = dict.fromkeys(key for key in keys if key not in found)
    strange = table.values(value.copy(), unknown.copy(), _LISTED) if outside else []
    others = [(_as_key(one, known), many) for one, many in strange]
    likely = _alike([str(one) for one, _ in others], keys, never) if others else {}
    if others:
        told = [
            f"{shown(str(one))} ({counted(many, 'row')}{_asked(likely[str(one)], never)})"
            for one, many in others
        ]
        more = " and others" if sum(many for _, many in others) < outside else ""
        have = "row has" if there == 1 else "rows has" if outside == 1 else "rows have"
        counts = "no group counts it" if outside == 1 else "no group counts them"
        yield DataFault(
            place,
            "problem" if any(key is not None for key in likely.values()) else "note",
            f"{outside:,} of {there:,} {have} a key that the policy does not list, and {counts}: "
            f"{listed(told)}{more}. List a key only where it is public that it may occur.",
        )
    named_ = set(likely.values())
    silent = [key for key in never if key not in named_]
    if silent:
        named = ", ".join(f"`{_word(key)}`" for key in silent[:_LISTED])
        more = f" and {len(silent) - _LISTED:,} more" if len(silent) > _LISTED else ""
        yield DataFault(place, "note", f"no row has the key {named}{more}. Is each spelt as in the data?")


def _as_key(value: Key | float, known: Column) -> Key | float:
    """A value as the policy writes a key: of decimals the text with all places, no zero below zero."""
    return value if known.places is None else f"{float(value) + 0.0:.{known.places}f}"


def _alike(texts: Sequence[str], keys: Sequence[Key], never: Iterable[Key]) -> dict[str, Key | None]:
    """The policy's key that each text may stand for: the same but for case and spaces, or like an unused one.

    >>> _alike(["f", "nroth", "x"], ("F", "north"), ["north"])
    {'f': 'F', 'nroth': 'north', 'x': None}
    """
    # From the end, so that of several the first one stays.
    same = {_folded(_word(key)): key for key in reversed(keys)}
    words = {_word(key): key for key in islice(never, _COMPARED)}
    found: dict[str, Key | None] = {}
    for text in texts:
        close = get_close_matches(text, list(words), n=1, cutoff=0.8) if len(text) > 3 else []
        found[text] = same.get(_folded(text), words[close[0]] if close else None)
    return found


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _asked(key: Key | None, never: Collection[Key]) -> str:
    if key is None:
        return ""
    return f"; did you mean `{_word(key)}`{', which no row has' if key in never else ''}?"


def _word(key: Key) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)
