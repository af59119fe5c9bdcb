"""Derived columns on hostile rows, and what each row is worked out in Python, without any engine.

A date is a number of days since 1970 here, a moment a number of microseconds, so that rows can hold what
Python's own dates cannot: the years before 1 and after 9999, and the two infinities.
"""

from __future__ import annotations

import bisect
import datetime
import math
import operator
import random
import zoneinfo
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pyarrow

from leakcap.release import Policy
from release.world import policy_of

__all__ = [
    "COLUMNS",
    "COMPARED",
    "COMPUTED",
    "DERIVED",
    "END",
    "EPOCH",
    "POLICY",
    "day_of",
    "keys_of",
    "known",
    "random_rows",
    "table",
    "value_of",
]

EPOCH = datetime.date(1970, 1, 1).toordinal()
DAY = 86_400_000_000
END = 2**31 - 1
"""Of days; DuckDB's and Arrow's infinity."""

MOMENTS_END = 2**63 - 1
ZONE = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
FIRST, LAST = datetime.date(2023, 1, 15), datetime.date(2025, 2, 10)


def _at(day: datetime.date, zone: Any = None) -> datetime.datetime:
    return datetime.datetime(day.year, day.month, day.day, tzinfo=zone)


STORED: dict[str, Any] = {
    "x": {"bounds": [0.0, 120.0]},
    "y": {"bounds": [0.0, 120.0]},
    "d": {"bounds": [FIRST, LAST]},
    "e": {"bounds": [FIRST, LAST]},
    "t": {"bounds": [_at(FIRST), _at(LAST)]},
    "z": {"bounds": [_at(FIRST, ZONE), _at(LAST, ZONE)]},
    "b": {"bounds": [_at(FIRST), _at(LAST)], "zone": "Australia/Lord_Howe"},
    "s": {"keys": "private"},
    "n": {"keys": "private", "type": "integer"},
    "f": {"keys": [True, False]},
    "w": {"bounds": [0.1, 7.0]},
    "m": {"bounds": [-1000, 2**63]},
}
COMPUTED: dict[str, Any] = {
    "x_and_y": {"from": ["x", "y"], "compute": "+"},
    "x_left": {"from": [1, "x"], "compute": "-"},
    "x_by_y": {"from": ["x", "y"], "compute": "*"},
    "x_tenth": {"from": ["x", 0.1], "compute": "*", "bounds": [0.25, 11.5]},
    "x_squared": {"from": ["x", "x"], "compute": "*"},
    "x_over_w": {"from": ["x", "w"], "compute": "/"},
    "third": {"from": ["m", -3], "compute": "/"},
    "m_twice": {"from": ["m", 2], "compute": "*", "fill": 7.0},
    "nights": {"from": ["e", "d"], "compute": "-"},
    "t_nights": {"from": ["t", "d"], "compute": "-"},
    "z_nights": {"from": ["d", "z"], "compute": "-"},
    "b_nights": {"from": ["b", "d"], "compute": "-"},
    # Derived from derived columns.
    "cost": {"from": ["nights", "x_tenth"], "compute": "*"},
    "cube": {"from": ["x_squared", "x"], "compute": "*"},
    "tiny": {"from": ["cube", "x_by_y"], "compute": "*"},
    "share": {"from": ["cost", "x_over_w"], "compute": "-"},
    "years": {"from": ["e_of_year", "d_of_year"], "compute": "-"},
    "half_years": {"from": ["years", 2], "compute": "*"},
}
DERIVED: dict[str, Any] = {
    "x_band": {"from": "x", "cuts": [18, 65], "keys": ["0-17", "18-64", "65+"]},
    "d_band": {"from": "d", "cuts": [datetime.date(2024, 2, 29)]},
    "t_band": {"from": "t", "cuts": [datetime.date(2024, 1, 1), LAST]},
    **{
        f"{name}_{unit}": {"from": name, "truncate": unit}
        for name in "dtzb"
        for unit in ("year", "quarter", "month", "week", "day")
    },
    **{
        f"{name}_of_{part}": {"from": name, "part": part}
        for name in "dtzb"
        for part in ("year", "quarter", "month", "weekday")
    },
    "s_prefix": {"from": "s", "prefix": 2, "keys": ["C5", "é\U0001f600", "it", ""]},
    "s_group": {"from": "s", "groups": {"one": ["C50", "it's"], "other": ["", "\U0001f600"]}},
    "s_chapter": {"from": "s", "prefix": 1, "groups": {"Neoplasms": ["C"], "Odd": ["é", "\\", "%"]}},
    "n_group": {"from": "n", "groups": {"low": [-(2**63) + 1, 0], "high": [2**63 - 1]}},
    "x_less": {"from": ["x", "y"], "compare": "<"},
    "d_until": {"from": ["d", "e"], "compare": "<="},
    "d_apart": {"from": ["d", "e"], "compare": "<>"},
    "s_same": {"from": ["s", "s"], "compare": "="},
    "n_over": {"from": ["n", "n"], "compare": ">"},
    "b_since": {"from": ["b", "b"], "compare": "<"},
    "t_since": {"from": ["t", "t"], "compare": ">="},
    # Derived from derived columns.
    "nights_band": {"from": "nights", "cuts": [1, 300]},
    "cost_band": {"from": "cost", "cuts": [0.0, 1.5]},
    "x_dearer": {"from": ["x_tenth", "y"], "compare": "<"},
    "season": {"from": "d_of_month", "groups": {"winter": [12, 1, 2], "spring": [3, 4, 5]}},
    "cold": {"from": "season", "groups": {"cold": ["winter"], "mild": ["spring"]}},
    "months": {"from": "d_month", "groups": {"one": ["2024-02"], "other": ["2023-12", "2024-03"]}},
    "grown": {"from": "x_band", "groups": {"yes": ["18-64", "65+"], "no": ["0-17"]}},
    "adult": {"from": "grown", "groups": {"adult": ["yes"]}},
    "chapters": {"from": "s_chapter", "groups": {"known": ["Neoplasms", "Odd"]}},
    "s_listed": {"from": "s", "keys": ["C50", "", "it's", "\U0001f600"]},
    "n_listed": {"from": "n", "keys": [0, 2**63 - 1, -(2**63) + 1]},
    "s_begun": {"from": "s_prefix", "keys": ["C5"]},
    "s_first": {"from": "s_prefix", "prefix": 1, "keys": ["C", "é"]},
    "s_short": {"from": "s_prefix", "groups": {"C": ["C5"], "none": [""]}},
    "same_month": {"from": ["d_month", "e_month"], "compare": "<="},
    "same_band": {"from": ["x_band", "y_band"], "compare": ">"},
    "y_band": {"from": "y", "cuts": [20, 60], "keys": ["0-17", "18-64", "65+"]},
    "both": {"from": ["x_less", "d_until"], "compare": "="},
    "e_of_year": {"from": "e", "part": "year"},
    "e_month": {"from": "e", "truncate": "month"},
    "told": {
        "case": "CASE WHEN x < 18 THEN 'low' WHEN n IS NULL THEN NULL WHEN season = 'winter' OR f THEN 'f' "
        "ELSE 'it''s' END"
    },
    "told_group": {"from": "told", "groups": {"some": ["low", "f"]}},
}
COLUMNS = {**STORED, **DERIVED, **COMPUTED}
POLICY: Policy = policy_of(columns=COLUMNS)

_DAYS = [
    *(LAST.toordinal() - EPOCH + off for off in (-1, 0, 1)),
    *(FIRST.toordinal() - EPOCH + off for off in (-1, 0, 1)),
    *(datetime.date(*day).toordinal() - EPOCH for day in ((2023, 1, 31), (2024, 2, 29), (2024, 12, 30))),
    *(datetime.date(*day).toordinal() - EPOCH for day in ((2024, 1, 1), (2023, 12, 31), (2024, 3, 31))),
    *(datetime.date(*day).toordinal() - EPOCH for day in ((1, 1, 1), (9999, 12, 31))),
    *(-719_163, 2_932_897, -2_400_000, 100_000_000, END, -END),
]
_MOMENTS = [
    *(day * DAY + off for day in _DAYS[:12] for off in (-1, 0, 1, DAY - 1)),
    # Half past six in the evening in UTC is midnight in India.
    *(day * DAY + 66_600_000_000 + off for day in _DAYS[:9] for off in (-1, 0)),
    *(MOMENTS_END, -MOMENTS_END, -62_135_596_800_000_000, 253_402_300_799_999_999),
    *(-210_000_000_000_000_000, 9_000_000_000_000_000_000, -62_104_060_800_000_001, 253_370_764_800_000_001),
]
# Midnight there is at half past one in the afternoon in UTC, at one in summer.
_AROUND_CHANGES = [
    *(
        day * DAY + hour * 1_800_000_000 + off
        for day in _DAYS[6:12]
        for hour in (26, 27)
        for off in (-1, 0, 1)
    ),
    *(
        (datetime.date(*day).toordinal() - EPOCH) * DAY + hour * 1_800_000_000 + off
        for day in ((2023, 4, 1), (2023, 9, 30), (2024, 4, 6), (2024, 10, 5))
        for hour in (26, 27, 30, 31, 32)
        for off in (-1, 0)
    ),
]
_TEXTS = [
    "C50",
    "C5",
    "C",
    "c50",
    "",
    "it's",
    "\U0001f600",
    "é\U0001f600x",
    "e\u0301",
    "\\",
    "%",
    " C50",
    "S72",
]
_INTEGERS = [0, 1, -1, 2**63 - 1, -(2**63) + 1, -(2**63)]
_NUMBERS = [
    math.nan,
    math.inf,
    -math.inf,
    -0.0,
    0.0,
    17.999999999999996,
    18.0,
    64.99999999999999,
    65.0,
    120.0,
    1e308,
    -3.0,
    0.1,
    1.1,
    5e-324,
    1e-200,
    -1e-200,
]
DOMAINS: dict[str, list[Any]] = {
    **{"x": _NUMBERS, "y": _NUMBERS, "d": _DAYS, "e": _DAYS, "t": _MOMENTS, "z": _MOMENTS},
    "b": [*_MOMENTS, *_AROUND_CHANGES],
    **{"s": _TEXTS, "n": _INTEGERS, "f": [True, False], "w": _NUMBERS},
    "m": [*_INTEGERS, 3, 2**53 + 1, 10**18 + 7, -1000, -999],
}
_TYPES = {
    **{"x": pyarrow.float64(), "y": pyarrow.float64(), "d": pyarrow.int32(), "e": pyarrow.int32()},
    **{
        "t": pyarrow.int64(),
        "z": pyarrow.int64(),
        "b": pyarrow.int64(),
        "s": pyarrow.string(),
        "n": pyarrow.int64(),
    },
    **{"f": pyarrow.bool_(), "w": pyarrow.float64(), "m": pyarrow.int64()},
}
_SHOWN = {"d": pyarrow.date32(), "e": pyarrow.date32(), "t": pyarrow.timestamp("us")}


def random_rows(seed: int, size: int, within: Mapping[str, Callable[[Any], bool]]) -> list[dict[str, Any]]:
    """Rows of odd values, one in ten missing; of some columns only those that an engine can store."""
    source = random.Random(seed)
    pools = {
        name: [one for one in pool if within.get(name, lambda _: True)(one)] for name, pool in DOMAINS.items()
    }
    return [
        {name: None if source.random() < 0.1 else source.choice(pool) for name, pool in pools.items()}
        for _ in range(size)
    ]


def table(rows: list[dict[str, Any]]) -> pyarrow.Table:
    """The rows as Arrow."""
    shown = {**_SHOWN, **dict.fromkeys("zb", pyarrow.timestamp("us", tz="UTC"))}
    return pyarrow.table(
        {
            name: pyarrow.array([row[name] for row in rows], type_).cast(shown.get(name, type_))
            for name, type_ in _TYPES.items()
        }
    )


def day_of(name: str, value: int | None) -> int | None:
    """The ordinal of a date's day, of 1 January of the year 1 being 1; of an instant in its own zone."""
    if value is None:
        return None
    if name in "de":
        return value + EPOCH
    if name in "zb":
        if not -62_104_060_800_000_000 <= value <= 253_370_764_800_000_000:
            return None
        value += 19_800_000_000 if name == "z" else _ahead_there(value)
    return value // DAY + EPOCH


def _ahead_there(value: int) -> int:
    """Microseconds ahead of UTC on Lord Howe Island; of what is far off those at the bounds."""
    zone = zoneinfo.ZoneInfo("Australia/Lord_Howe")
    near = [
        datetime.datetime.combine(day, datetime.time(), zone) + datetime.timedelta(days=days)
        for day, days in ((FIRST, -1), (LAST, 1))
    ]
    ends = [round(one.timestamp() * 10**6) for one in near]
    moment = datetime.datetime.fromtimestamp(min(max(value, ends[0]), ends[1]) / 10**6, zone)
    return round((moment.utcoffset() or datetime.timedelta()).total_seconds()) * 10**6


_WORDS: dict[str, Callable[[datetime.date], Any]] = {
    "year": lambda day: f"{day:%Y}".zfill(4),
    "quarter": lambda day: f"{day.year}-Q{'111222333444'[day.month - 1]}",
    "month": lambda day: f"{day:%Y-%m}",
    "week": lambda day: f"{day:%G-W%V}",
    "day": lambda day: f"{day:%Y-%m-%d}",
}
_PARTS: dict[str, Callable[[datetime.date], int]] = {
    "year": lambda day: day.timetuple()[0],
    "quarter": lambda day: [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4][day.timetuple()[1] - 1],
    "month": lambda day: int(f"{day:%m}"),
    "weekday": lambda day: int(f"{day:%u}"),
}
COMPARED = {
    **{"=": operator.eq, "<>": operator.ne, "<": operator.lt},
    **{"<=": operator.le, ">": operator.gt, ">=": operator.ge},
}


def value_of(row: Mapping[str, Any], name: str) -> Any:
    """What a column is in a row; None where it is missing."""
    if name in STORED:
        return None if row[name] is None or row[name] != row[name] else row[name]
    if name in COMPUTED:
        return _computed(row, COMPUTED[name])
    asked = DERIVED[name]
    if "case" in asked:
        return _told(row)
    first = asked["from"] if isinstance(asked["from"], str) else asked["from"][0]
    values = [value_of(row, one) for one in (asked["from"] if isinstance(asked["from"], list) else [first])]
    if any(one is None for one in values):
        return None
    if first in "zb" and day_of(first, values[0]) is None:
        return None
    if "compare" in asked:
        # The bands' names rise as they do.
        return COMPARED[asked["compare"]](*values)
    if set(asked) == {"from", "keys"}:
        return values[0]
    if "prefix" in asked or "groups" in asked:
        value = values[0][: asked["prefix"]] if "prefix" in asked else values[0]
        members = asked.get("groups")
        return value if members is None else next((k for k, group in members.items() if value in group), None)
    if first not in "detzb":
        return keys_of(name)[bisect.bisect_right(asked["cuts"], values[0])]
    day = day_of(first, values[0])
    if day is None:
        return None
    if "cuts" in asked:
        place = bisect.bisect_right([cut.toordinal() for cut in asked["cuts"]], day)
        return keys_of(name)[place]
    if not FIRST.toordinal() <= day <= LAST.toordinal():
        return None
    shown = datetime.date.fromordinal(day)
    return _WORDS[asked["truncate"]](shown) if "truncate" in asked else _PARTS[asked["part"]](shown)


def _told(row: Mapping[str, Any]) -> str | None:
    """The column `told`."""
    if known(row["x"]) and row["x"] < 18:
        return "low"
    if row["n"] is None:
        return None
    return "f" if value_of(row, "season") == "winter" or row["f"] else "it's"


_COMPUTED: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
}


def _computed(row: Mapping[str, Any], asked: Mapping[str, Any]) -> float | None:
    """In fractions, each result rounded to the nearest double once."""
    one, other = (_operand(row, operand) for operand in asked["from"])
    if one is None or other is None:
        return None
    close = Fraction(1, 10**90)
    if asked["compute"] in "*/" and abs(one) < close:
        one = Fraction(0)
    if asked["compute"] == "*" and abs(other) < close:
        other = Fraction(0)
    return float(_COMPUTED[asked["compute"]](one, other))


def _operand(row: Mapping[str, Any], operand: Any) -> Fraction | None:
    """A number within its bounds, or the day of a date, the nearest one within the bounds."""
    if not isinstance(operand, str):
        return Fraction(operand)
    value = value_of(row, operand)
    if operand in "detzb" and value is not None:
        day = day_of(operand, value)
        return None if day is None else Fraction(min(max(day, FIRST.toordinal()), LAST.toordinal()))
    bounds = {**STORED, **COMPUTED}.get(operand, {}).get("bounds")
    if value is None or bounds is None:
        return None if value is None else Fraction(value)
    return Fraction(min(max(float(value), float(bounds[0])), float(bounds[1])))


def known(value: Any) -> bool:
    """Whether it is a number."""
    return value is not None and value == value


def keys_of(name: str) -> tuple[Any, ...]:
    """The keys that a policy's column has."""
    return tuple(POLICY.columns[name].keys or ())
