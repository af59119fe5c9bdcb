"""What an analyst may write for a category or a number of a row, and what that is in a row of Python's."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from engines.words import EPOCH, known, value_of

__all__ = ["BANDS", "CASES", "WRITTEN"]


def _band(number: float | None, low: float, high: float, width: int) -> int | None:
    """The whole number at which the band of a number begins, by fractions."""
    if not known(number):
        return None
    return Fraction(min(max(number, low), high)) // width * width


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
"""A CASE that an analyst may write for a category, and a policy for a column, and what it is in a row."""

BANDS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "FLOOR(x / 18) * 18": lambda row: _band(row["x"], 0.0, 120.0, 18),
    "x - x % 60": lambda row: _band(row["x"], 0.0, 120.0, 60),
    "FLOOR(nights / 73) * 73": lambda row: _band(value_of(row, "nights"), -757.0, 757.0, 73),
    "FLOOR(w / 3)": lambda row: None if not known(row["w"]) else _band(row["w"], 0.1, 7.0, 3) // 3,
}
"""A band that an analyst may write for a category, and what it is in a row."""


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
