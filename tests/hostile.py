"""Values that lie about their type or lie at its ends: what one person's row may hold, whoever reads it.

The families of ways in take these rows: a table and a neighbour that differs in one of them must be refused,
warned of and read alike. A list here is a catalogue: what is added to it is tried everywhere.
"""

from __future__ import annotations

import datetime
import math
import struct
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas

__all__ = ["BYTES", "DATES", "DECIMALS", "FLOATS", "INTEGERS", "OBJECTS", "TEXTS", "everything"]


def _nan(bits: int) -> float:
    """The NaN of these bits: sign, quiet bit and payload."""
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


_LARGEST = 1.7976931348623157e308

FLOATS: list[float] = [
    # No numbers, of either sign, quiet and signalling, with payloads.
    *(math.nan, _nan(0xFFF8000000000000), _nan(0x7FF0000000000001), _nan(0x7FF8DEADBEEF0001)),
    # Infinite, huge, subnormal, and zero with a sign.
    *(math.inf, -math.inf, _LARGEST, -_LARGEST, 1e308, -1e308, 5e-324, -5e-324, 2.2250738585072014e-308),
    *(0.0, -0.0),
    # At the ends of integers and of floats of 32 bits, and between integers.
    *(2.0**63, -(2.0**63), 2.0**64, 2.0**53, 2.0**53 + 2, 1e39, 1e-46, 0.5, 1.5, 2.5, 0.1),
]
INTEGERS: list[int] = [
    *(0, 1, -1, 2, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**53 + 1, 2**62),
    *(2**63 - 1, -(2**63), 2**63, 2**64, 10**38, -(10**40), 10**400, -(10**4300)),
]
TEXTS: list[str] = [
    # Halves of a pair, alone, the wrong way round, and within a key.
    *("\ud800", "\udfff", "a\udcff", "\ude00\ud83d", "\udcff\udcfe"),
    # Empty, null characters, blanks, byte-order marks, marks that combine, signs beyond 16 bits.
    *("", "\0", "a\0", "\0a", "a\0b", " ", "a ", " a", "\t", "\n", "\r\n", "\u2028", "\ufeff", "\ufeffa"),
    *("\ufffd", "a\ufffd", "\u0301", "a\u0301", "\u00e1", "\U0001f600", "\U0010ffff", "\uffff", "\x81", "€"),
    # Very long; what other readers take for missing, for numbers, for truth values, for text in quotes.
    *(
        "a" * 100_000,
        "\ufffd" * 300,
        "y" * 201,
        "nan",
        "NaN",
        "inf",
        "-Infinity",
        "NULL",
        "None",
        "NA",
        "<NA>",
    ),
    *("1", "1.0", " 1", "1 ", "+1", "01", "1e0", "1e400", "1e-400", "1_0", "0x1", "１", "true", "True", "t"),
    *(
        "f",
        "no",
        "yes",
        "on",
        '"',
        '"a',
        'a"',
        "'",
        "';--",
        "a,b",
        "%s",
        ":x",
        "$1",
        "{a}",
        "\\",
        "A",
        "=1+1",
    ),
]
BYTES: list[bytes] = [
    # No UTF-8: alone, after a key, cut short, too long a form, a half pair, beyond the last sign.
    *(
        b"\xff",
        b"\xff\xfe",
        b"\x80",
        b"\x81",
        b"a\xff",
        b"\xffa",
        b"a\x81",
        b"\xc3",
        b"\xe2\x82",
        b"\xf0\x9f",
    ),
    *(
        b"\xc0\x80",
        b"\xc1\xa1",
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf8\x88\x80\x80\x80",
    ),
    # Zero-length, null, valid, and very long.
    *(b"", b"\0", b"a\0", b"\0a", b"a", b"b", "€".encode(), b"\xff" * 1000, b"a" * 50_000 + b"\xff"),
]
DECIMALS: list[Decimal] = [
    *map(Decimal, ("0", "-0", "1", "1.0", "1.5", "-2.5", "0.1", "99999999999999999999999999999.999999999")),
    *map(Decimal, ("-99999999999999999999999999999.999999999", "0.000000001", "9223372036854775807")),
    *map(Decimal, ("9223372036854775808", "1e400", "-1e400", "1e-400", "NaN", "sNaN", "-NaN", "Infinity")),
    *map(Decimal, ("-Infinity", "1e131071")),
]
DATES: list[Any] = [
    *(datetime.date.min, datetime.date.max, datetime.date(1970, 1, 1), datetime.date(1582, 10, 10)),
    *(datetime.datetime.min, datetime.datetime.max, datetime.datetime(2262, 4, 12), datetime.time.max),
    datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
    *(datetime.timedelta.max, datetime.timedelta.min),
    *(
        np.datetime64("NaT"),
        np.datetime64("-290308-12-21"),
        np.datetime64("292277-01-09"),
        np.timedelta64(1, "Y"),
    ),
    *(pandas.NaT, pandas.Timestamp.max, pandas.Timestamp.min, pandas.Period("2020-01"), pandas.Timedelta.max),
]


class _Stops:
    """Stops whoever asks it for anything."""

    def _stop(self, *_: object) -> Any:
        raise MemoryError("a secret")

    __str__ = __repr__ = __eq__ = __hash__ = __float__ = __int__ = __bool__ = __len__ = __iter__ = _stop
    __index__ = __complex__ = __array__ = __lt__ = __gt__ = __add__ = __getitem__ = __bytes__ = _stop


class _Claims(float):
    """A float that is called otherwise than it is worth, and that differs from itself."""

    def __str__(self) -> str:
        return "a"

    def __eq__(self, other: object) -> bool:
        return False

    __repr__ = __str__
    __hash__ = None  # type: ignore[assignment]


class _Word(str):
    """Text that gives other text out for itself."""

    __slots__ = ()

    def __str__(self) -> str:
        return "b"

    def encode(self, *_: object, **__: object) -> Any:
        raise ValueError("a secret")


class _Number(int):
    """An integer that no float can be made of."""

    def __float__(self) -> float:
        raise OverflowError("a secret")


def _nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


def _cycle() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


# Of a type that no column of one kind has: each alone would change how NumPy or pandas reads the others.
OBJECTS: list[Any] = [
    *(None, pandas.NA, ..., NotImplemented, True, False, 1j, complex(math.nan, math.inf), Fraction(1, 3)),
    *([], [1.0], [1.0, 2.0], ["a"], (), (1,), {}, {"a": 1}, set(), frozenset({1}), range(3), _nested(50)),
    *(_nested(5_000), _cycle(), bytearray(b"\xff"), memoryview(b"ab"), b"a", b"\xff", uuid.UUID(int=1)),
    *(object, len, _Stops(), _Claims(1.0), _Word("a"), _Number(1), np.float32(0.1), np.float16(65504)),
    *(
        np.int8(-128),
        np.uint64(2**64 - 1),
        np.longdouble(1) / 3,
        np.bool_(True),
        np.str_("a"),
        np.bytes_(b"a"),
    ),
    *(
        np.complex128(1j),
        np.void(b"ab"),
        np.bytes_(b"a"),
        np.array(1.0),
        np.array([1.0, 2.0]),
        np.array([[]]),
    ),
    *(np.ma.masked, pandas.Series([1.0]), pandas.DataFrame(), pandas.Interval(0, 1), slice(None)),
]


def everything() -> list[Any]:
    """All of them, for a column or a list that may hold any object."""
    return [*FLOATS, *INTEGERS, *TEXTS, *BYTES, *DECIMALS, *DATES, *OBJECTS]
