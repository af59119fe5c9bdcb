"""What one cell of a pandas column is: a number, a text, both (true and false), or missing.

Which dtype pandas gives a column hangs on everybody's rows: one missing value makes integers floats, one word
makes numbers objects. So the dtype decides nothing. Each cell is taken by itself, and an integer, a float and
an object that hold the same number are the same cell.
"""

from __future__ import annotations

import codecs
import datetime
import math
import numbers
import warnings
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ESCAPED", "cells", "decoded"]

ESCAPED = "leakcap.escaped"
"""What to do with bytes that are no UTF-8, and with half surrogates: U+FFFD and their hexadecimal digits.

So such a text is no key, and two of them stay two: replaced by one mark they could make two people one.
"""

_MOMENTS = (datetime.datetime, datetime.timedelta, np.datetime64, np.timedelta64)


def _escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeDecodeError):
        return "".join(f"\ufffd{byte:02x}" for byte in error.object[error.start : error.end]), error.end
    if isinstance(error, UnicodeEncodeError):
        halves = error.object[error.start : error.end]
        return "".join(f"\ufffd{ord(half):04x}" for half in halves).encode(), error.end
    raise error


codecs.register_error(ESCAPED, _escaped)


def decoded(text: bytes) -> str:
    """Bytes as text, whatever they are.

    >>> decoded(b"M\\xfcller")
    'M\ufffdfcller'
    """
    return text.decode("utf-8", ESCAPED)


def cells(values: Sequence[Any] | NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.object_]]:
    """The number and the text of each value; NaN and None where it has none.

    Nothing that a value does when it is asked may stop this, or be heard: it is missing then.

    >>> numbers_, texts = cells([1, True, "a", None, 2**70])
    >>> numbers_.tolist(), texts.tolist()
    ([1.0, 1.0, nan, nan, 1.1805916207174113e+21], [None, 'true', 'a', None, None])
    """
    found = np.full(len(values), math.nan)
    texts = np.full(len(values), None, dtype=object)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for place, value in enumerate(values):
            try:
                number, text = _cell(value)
            except Exception:  # whatever a person's own object raises, its row must not be told from others
                continue
            found[place] = number
            texts[place] = text
    return found, texts


def _cell(value: Any) -> tuple[float, str | None]:
    if isinstance(value, str):
        return math.nan, _unicode(value)
    if value is None or _is_missing(value):
        return math.nan, None
    if isinstance(value, bool | np.bool_):
        return float(bool(value)), "true" if value else "false"
    if isinstance(value, int):
        return _of_integer(value), None
    if isinstance(value, complex | np.complexfloating):
        # One complex number makes complex numbers of all others.
        real = value.imag == 0 or value.real != value.real
        return (float(value.real), None) if real else (math.nan, str(complex(value)))
    if isinstance(value, _MOMENTS):
        return math.nan, _of_moment(value)
    if isinstance(value, numbers.Real | np.number | Decimal):
        return _of_real(value), None
    # pandas makes floats of the ends of an interval, or does not: they have no one text.
    return math.nan, None if type(value).__name__ == "Interval" else _unicode(str(value))


def _unicode(text: str) -> str:
    return str.encode(text, "utf-8", ESCAPED).decode()


def _is_missing(value: Any) -> bool:
    """pandas' NA and NaT, and NumPy's, which equal nothing."""
    return type(value).__name__ in ("NAType", "NaTType") or (
        isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))
    )


def _of_moment(value: Any) -> str:
    """As pandas writes it, which makes its own times of others where it can."""
    import pandas

    kind = pandas.Timedelta if isinstance(value, datetime.timedelta | np.timedelta64) else pandas.Timestamp
    try:
        return str(kind(value))
    except (ValueError, OverflowError, TypeError):
        return str(value)


def _of_integer(value: int) -> float:
    try:
        return int.__float__(value)
    except OverflowError:
        return math.inf if int.__gt__(value, 0) is True else -math.inf


def _of_real(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
