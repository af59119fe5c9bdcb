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
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow

from leakcap.release import Engine, Policy
from release.world import exact, planned, policy_of

__all__ = ["COLUMNS", "COMPARED", "DERIVED", "END", "POLICY", "check", "day_of", "random_rows", "table"]

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
    "s": {"keys": "private"},
    "n": {"keys": "private", "type": "integer"},
    "f": {"keys": [True, False]},
}
DERIVED: dict[str, Any] = {
    "x_band": {"from": "x", "cuts": [18, 65], "keys": ["0-17", "18-64", "65+"]},
    "d_band": {"from": "d", "cuts": [datetime.date(2024, 2, 29)]},
    "t_band": {"from": "t", "cuts": [datetime.date(2024, 1, 1), LAST]},
    **{
        f"{name}_{unit}": {"from": name, "truncate": unit}
        for name in "dtz"
        for unit in ("year", "quarter", "month", "week", "day")
    },
    **{
        f"{name}_of_{part}": {"from": name, "part": part}
        for name in "dtz"
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
    "t_since": {"from": ["t", "t"], "compare": ">="},
}
COLUMNS = {**STORED, **DERIVED}
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
]
DOMAINS: dict[str, list[Any]] = {
    **{"x": _NUMBERS, "y": _NUMBERS, "d": _DAYS, "e": _DAYS, "t": _MOMENTS, "z": _MOMENTS},
    **{"s": _TEXTS, "n": _INTEGERS, "f": [True, False]},
}
_TYPES = {
    **{"x": pyarrow.float64(), "y": pyarrow.float64(), "d": pyarrow.int32(), "e": pyarrow.int32()},
    **{"t": pyarrow.int64(), "z": pyarrow.int64(), "s": pyarrow.string(), "n": pyarrow.int64()},
    "f": pyarrow.bool_(),
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
    shown = {**_SHOWN, "z": pyarrow.timestamp("us", tz="UTC")}
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
    if name == "z":
        if not -62_104_060_800_000_000 <= value <= 253_370_764_800_000_000:
            return None
        value += 19_800_000_000
    return value // DAY + EPOCH


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
    """What a derived column is in a row; None where it is missing."""
    asked = DERIVED[name]
    first = asked["from"] if isinstance(asked["from"], str) else asked["from"][0]
    values = [row[one] for one in (asked["from"] if isinstance(asked["from"], list) else [first])]
    if any(one is None or one != one for one in values):
        return None
    if "compare" in asked:
        return COMPARED[asked["compare"]](*values)
    if first in "sn":
        value = values[0][: asked["prefix"]] if "prefix" in asked else values[0]
        members = asked.get("groups")
        return value if members is None else next((k for k, group in members.items() if value in group), None)
    if first == "x":
        return _keys(name)[bisect.bisect_right(asked["cuts"], values[0])]
    day = day_of(first, values[0])
    if day is None:
        return None
    if "cuts" in asked:
        place = bisect.bisect_right([cut.toordinal() for cut in asked["cuts"]], day)
        return _keys(name)[place]
    if not FIRST.toordinal() <= day <= LAST.toordinal():
        return None
    shown = datetime.date.fromordinal(day)
    return _WORDS[asked["truncate"]](shown) if "truncate" in asked else _PARTS[asked["part"]](shown)


def _keys(name: str) -> tuple[Any, ...]:
    return tuple(POLICY.columns[name].keys or ())


def check(engine: Engine, rows: list[dict[str, Any]]) -> int:
    """Ask the engine for each derived column in `by` and in conditions; how many answers were compared."""
    compared = 0
    for name in DERIVED:
        known = POLICY.columns[name]
        keys = _keys(name)
        worked = [value_of(row, name) for row in rows]
        found = exact(planned(POLICY, statistic="count", by=(name,)), engine)[0]
        counts = Counter(worked)
        assert found == [counts[key] for key in keys], (name, counts)
        key = next((one for one in keys if counts[one]), keys[0])
        written = f"'{str(key).replace(chr(39), chr(39) * 2)}'" if isinstance(key, str) else str(key).upper()
        conditions: dict[str, Callable[[Any], bool]] = {
            f"{name} = {written}": lambda one, key=key: one == key,
            f"NOT ({name} = {written})": lambda one, key=key: one is not None and one != key,
            f"{name} IS NULL": lambda one: one is None,
        }
        if known.truncate is not None or known.part is not None:
            conditions[f"{name} >= {written}"] = lambda one, key=key: one is not None and one >= key
            conditions[f"{name} BETWEEN {written} AND {written}"] = lambda one, key=key: one == key
        for condition, holds in conditions.items():
            asked = planned(POLICY, statistic="count", where=condition)
            assert exact(asked, engine) == [[sum(map(holds, worked))]], condition
            compared += 1
    return compared
