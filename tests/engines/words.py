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
import zlib
import zoneinfo
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pyarrow
from sqlglot import exp

from leakcap.release import Engine, Policy
from leakcap.release.columns.typed import aliased
from leakcap.release.conditions.condition import to_tree
from leakcap.release.planning.scan import scans_of
from leakcap.release.planning.statements import rows_of
from release.world import exact, planned, policy_of

__all__ = [
    "CASES",
    "COLUMNS",
    "COMPARED",
    "COMPUTED",
    "DERIVED",
    "END",
    "POLICY",
    "WRITTEN",
    "check",
    "check_numbers",
    "check_written",
    "day_of",
    "random_rows",
    "table",
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


CASES: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "CASE WHEN x < 18 THEN 'low' WHEN x >= 65 OR y = 120 THEN 'high' ELSE 'between' END": lambda row: (
        "low"
        if known(row["x"]) and row["x"] < 18
        else "high"
        if (known(row["x"]) and row["x"] >= 65) or row["y"] == 120
        else "between"
    ),
    "CASE s_prefix WHEN 'it' THEN 1 WHEN '' THEN 2 WHEN 'C5' THEN NULL WHEN 'é😀' THEN 1 END": lambda row: {
        "it": 1,
        "": 2,
        "é😀": 1,
    }.get(value_of(row, "s_prefix")),
    "CASE WHEN NOT (n > 0) THEN TRUE WHEN n IS NULL OR d_month = '2024-02' THEN FALSE END": lambda row: (
        None
        if row["n"] is not None and row["n"] > 0 and value_of(row, "d_month") != "2024-02"
        else row["n"] is not None and row["n"] <= 0
    ),
    "CASE WHEN EXTRACT(MONTH FROM z) = 2 THEN 'it''s' WHEN f AND t >= TIMESTAMP '2024-01-01 00:00:00' "
    "THEN '' WHEN t_since IS NULL THEN '😀' ELSE 'é' END": lambda row: (
        "it's"
        if value_of(row, "z_of_month") == 2
        else ""
        if row["f"] and row["t"] is not None and row["t"] >= 1_704_067_200_000_000
        else "😀"
        if row["t"] is None
        else "é"
    ),
    "CASE WHEN date_trunc('week', d) <= DATE '2024-01-01' THEN 'early' ELSE 'late' END": lambda row: (
        "early"
        if row["d"] is not None and row["d"] + EPOCH < datetime.date(2024, 1, 8).toordinal()
        else "late"
    ),
}
"""What an analyst may write for a CASE, and what it is in a row."""


def _x(row: Mapping[str, Any]) -> float | None:
    """A number that is clamped to its bounds, as what is computed from it has it."""
    return min(max(row["x"], 0.0), 120.0) if known(row["x"]) else None


def _when(condition: Callable[[Mapping[str, Any]], Any], yes: Any, no: Any) -> Callable[[Any], Any]:
    def said(row: Mapping[str, Any]) -> Any:
        value = yes if condition(row) else no
        return value(row) if callable(value) else value

    return said


WRITTEN: dict[str, tuple[tuple[float, float], Callable[[Mapping[str, Any]], Any]]] = {
    "x * 3 - 1": ((-1.0, 359.0), lambda row: None if _x(row) is None else float(Fraction(_x(row)) * 3) - 1.0),
    "-(x / 4)": ((-30.0, 0.0), lambda row: None if _x(row) is None else -(_x(row) / 4.0)),
    "x * 2 + nights": (
        (-757.0, 997.0),
        lambda row: (
            None
            if _x(row) is None or value_of(row, "nights") is None
            else 2.0 * _x(row) + value_of(row, "nights")
        ),
    ),
    "ABS(x - 50)": ((0.0, 70.0), lambda row: None if _x(row) is None else abs(_x(row) - 50.0)),
    "NULLIF(x, 18) * 2": (
        (0.0, 240.0),
        lambda row: None if _x(row) is None or row["x"] == 18.0 else 2.0 * _x(row),
    ),
    "EXTRACT(MONTH FROM d) - 3": (
        (-2.0, 9.0),
        lambda row: None if value_of(row, "d_of_month") is None else value_of(row, "d_of_month") - 3.0,
    ),
    "COALESCE(x, 500)": ((0.0, 500.0), lambda row: 500.0 if _x(row) is None else _x(row)),
    "COALESCE(m_twice, 3)": (
        (-2000.0, float(2**64)),
        lambda row: 3.0 if row["m"] is None else min(max(2.0 * max(row["m"], -1000), -2000.0), 2.0**64),
    ),
    # Two names that an engine would hold for one, and longer than PostgreSQL keeps them.
    **{
        "CASE WHEN NOT (f IS NULL OR f IS NULL OR f IS NULL OR f IS NULL) "
        f"AND s BETWEEN '{text}' AND '{text}' "
        "THEN x ELSE 7 END": (
            (0.0, 120.0),
            _when(lambda row, text=text: row["s"] == text and row["f"] is not None, _x, 7.0),
        )
        for text in ("C50", "c50")
    },
    "CASE WHEN x < 18 THEN 1.5 WHEN y > 64 THEN NULL WHEN f THEN -x END": (
        (-120.0, 1.5),
        _when(
            lambda row: known(row["x"]) and row["x"] < 18,
            1.5,
            _when(
                lambda row: known(row["y"]) and row["y"] > 64,
                None,
                _when(lambda row: row["f"], lambda row: None if _x(row) is None else -_x(row), None),
            ),
        ),
    ),
    "CASE f WHEN TRUE THEN m_twice ELSE CASE WHEN n > 0 THEN 1 ELSE 0.5 END END": (
        (-2000.0, float(2**64)),
        _when(
            lambda row: row["f"],
            lambda row: 7.0 if row["m"] is None else min(max(2.0 * max(row["m"], -1000), -2000.0), 2.0**64),
            _when(lambda row: row["n"] is not None and row["n"] > 0, 1.0, 0.5),
        ),
    ),
}
"""Numbers that an analyst may write, the bounds that they have, and what they are in a row."""


def check_written(engine: Engine, rows: list[dict[str, Any]]) -> int:
    """Ask the engine for sums and counts of each; how many answers were compared."""
    compared = 0
    for text, ((low, high), value) in WRITTEN.items():
        worked = [value(row) for row in rows]
        assert all(one is None or low <= one <= high for one in worked), text
        asked = planned(POLICY, statistic="sum", column=text, by=("f",))
        assert asked.policy.columns[asked.query.column or ""].bounds == (low, high), text
        assert asked.grid is not None
        scale = Fraction(2) ** asked.grid.exponent
        totals = {True: 0, False: 0}
        for row, one in zip(rows, worked, strict=True):
            if row["f"] is not None and one is not None:
                totals[row["f"]] += round(Fraction(one) * scale) - asked.centre
        assert exact(asked, engine)[0] == list(totals.values()), text
        missing = f'"{asked.query.column}" IS NULL'
        counted = planned(POLICY, statistic="count", where=missing)
        assert exact(counted, engine) == [[sum(one is None for one in worked)]], text
        compared += 2
    return compared + _check_together(engine, rows)


def _check_together(engine: Engine, rows: list[dict[str, Any]]) -> int:
    """All of them in one statement, where no name may be taken for another."""
    plans = [planned(POLICY, statistic="sum", column=text) for text in WRITTEN]
    (scan,) = scans_of(plans, engine, "")
    found = scan.run(engine)
    for place, plan in enumerate(plans):
        assert found[place].totals[0].tolist() == exact(plan, engine)[0], plan.query.column
    return len(plans)


def known(value: Any) -> bool:
    """Whether it is a number."""
    return value is not None and value == value


def check_cases(engine: Engine, rows: list[dict[str, Any]]) -> int:
    """Ask the engine for each CASE in `by` and in conditions; how many answers were compared."""
    compared = 0
    for case, value in CASES.items():
        counts = Counter(map(value, rows))
        plan = planned(POLICY, statistic="count", by=(case,))
        (labels,) = plan.cells.labels().values()
        assert exact(plan, engine)[0] == [counts[key] for key in labels.tolist()], (case, counts)
        conditions = {f"{case} IS NULL": counts[None]}
        for key in labels.tolist():
            written = (
                f"'{str(key).replace(chr(39), chr(39) * 2)}'" if isinstance(key, str) else str(key).upper()
            )
            conditions[f"{case} = {written}"] = counts[key]
            conditions[f"NOT ({case} IN ({written}))"] = sum(counts.values()) - counts[key] - counts[None]
        compared += 1 + check_conditions(engine, case, conditions)
    return compared


def alone(name: str, conditions: int) -> int:
    """Which of the conditions about this column is asked as `where`: of one column the first, of another the
    second, so that all forms of conditions stand there."""
    return zlib.crc32(name.encode()) % conditions


def check_conditions(engine: Engine, name: str, conditions: Mapping[str, int]) -> int:
    """Ask how many rows meet each condition about a column: one as `where`, and all side by side in one
    statement, since what a zone's clock shows takes as long as ten short ones; how many were compared.
    """
    plans = [planned(POLICY, statistic="count", where=condition) for condition in conditions]
    condition, count = list(conditions.items())[alone(name, len(conditions))]
    assert exact(planned(POLICY, statistic="count", where=condition), engine) == [[count]], condition
    met = []
    for plan in plans:
        assert plan.condition is not None
        met.append(exp.If(this=to_tree(plan.condition, plan.policy), true=exp.Literal.number(1)))
    named = [aliased(exp.Case(ifs=[one]), f"v{place}") for place, one in enumerate(met)]
    counts = [
        aliased(exp.Count(this=exp.column(f"v{place}", quoted=True)), f"t{place}")
        for place in range(len(named))
    ]
    rows = rows_of(planned(POLICY, statistic="count"), named)
    found = engine.run(engine.write(exp.select(*counts).from_(rows.subquery("cells"))))
    assert dict(zip(conditions, found.rows()[0], strict=True)) == conditions
    return 1 + len(conditions)


def _keys(name: str) -> tuple[Any, ...]:
    return tuple(POLICY.columns[name].keys or ())


def check(engine: Engine, rows: list[dict[str, Any]]) -> int:
    """Ask the engine for each derived column in `by` and in conditions, of no rows in one statement; how many
    answers were compared.
    """
    compared, of_none = check_cases(engine, rows), dict[str, int]()
    for name in DERIVED:
        known = POLICY.columns[name]
        keys = _keys(name)
        worked = [value_of(row, name) for row in rows]
        found = exact(planned(POLICY, statistic="count", by=(name,)), engine)[0]
        counts = Counter(worked)
        assert found == [counts[key] for key in keys], (name, counts)
        compared += 1
        key = next((one for one in keys if counts[one]), keys[0])
        written = f"'{str(key).replace(chr(39), chr(39) * 2)}'" if isinstance(key, str) else str(key).upper()
        if not rows:
            of_none[f"NOT ({name} = {written})"] = 0
            continue
        conditions: dict[str, Callable[[Any], bool]] = {
            f"{name} = {written}": lambda one, key=key: one == key,
            f"NOT ({name} = {written})": lambda one, key=key: one is not None and one != key,
            f"{name} IS NULL": lambda one: one is None,
        }
        if known.truncate is not None or known.part is not None:
            conditions[f"{name} >= {written}"] = lambda one, key=key: one is not None and one >= key
            conditions[f"{name} BETWEEN {written} AND {written}"] = lambda one, key=key: one == key
        wanted = {condition: sum(map(holds, worked)) for condition, holds in conditions.items()}
        compared += check_conditions(engine, name, wanted)
    return compared + (check_conditions(engine, "no rows", of_none) if of_none else 0)


def check_numbers(engine: Engine, rows: list[dict[str, Any]]) -> int:
    """Ask the engine for sums, histograms and conditions of each computed column; how many were compared."""
    compared = 0
    for name in COMPUTED:
        known = POLICY.columns[name]
        low, high = known.bounds or (0.0, 0.0)
        worked = [value_of(row, name) for row in rows]
        assert all(one is None or low <= one <= high or "bounds" in COMPUTED[name] for one in worked), name
        asked = planned(POLICY, statistic="sum", column=name, by=("f",))
        assert asked.grid is not None
        scale = Fraction(2) ** asked.grid.exponent
        totals = {True: 0, False: 0}
        for row, one in zip(rows, worked, strict=True):
            value = known.fill if one is None else min(max(one, low), high)
            if row["f"] is not None and value is not None:
                totals[row["f"]] += round(Fraction(value) * scale) - asked.centre
        assert exact(asked, engine)[0] == list(totals.values()), name
        bins = planned(POLICY, statistic="histogram", column=name, bins=7)
        inner = [low + (high - low) * (place / 7) for place in range(1, 7)]
        filled = [known.fill if one is None else one for one in worked]
        places = Counter(bisect.bisect_right(inner, one) for one in filled if one is not None)
        assert exact(bins, engine)[0] == [places[place] for place in range(7)], name
        mark = next((one for one in worked if one not in (None, 0.0)), low)
        conditions: dict[str, Callable[[Any], bool]] = {
            f"{name} = {mark!r}": lambda one, mark=mark: one == mark,
            f"NOT ({name} >= {mark!r})": lambda one, mark=mark: one is not None and one < mark,
            f"{name} IS NULL": lambda one: one is None,
        }
        wanted = {condition: sum(map(holds, worked)) for condition, holds in conditions.items()}
        compared += 2 + check_conditions(engine, name, wanted)
    return compared
