"""Formulas against a second route: the same text computed in fractions, row by row, by Python."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable
from leakcap.release.plan import Plan
from release.world import answers, planned, policy_of, table
from seeded import SeededSource

# Eighths within bounds that powers of two divide: reading and constants are exact on any grid.
COLUMNS: dict[str, Any] = {
    "x": {"bounds": [-4.0, 8.0]},
    "y": {"bounds": [0.0, 2.0], "fill": 1.0},
    "f": {"keys": [True, False]},
}
POLICY = policy_of(columns=COLUMNS, max_rows=1000)
Row = dict[str, Any]


def clamp(value: Fraction, low: float, high: float) -> Fraction:
    return max(Fraction(low), min(Fraction(high), value))


def read(row: Row, name: str) -> Fraction | None:
    bounds, fill = COLUMNS[name]["bounds"], COLUMNS[name].get("fill")
    value = row[name]
    if value is None:
        return None if fill is None else Fraction(fill)
    return clamp(Fraction(value), *bounds)


class Made:
    """A random formula, as text and as what Python computes of a row; None where a column is missing."""

    def __init__(self, source: random.Random, depth: int) -> None:
        kind = source.choice(
            ["column", "number", *(() if depth == 0 else ("op", "op", "pick", "case", "abs", "neg"))]
        )
        if kind == "column":
            name = source.choice("xy")
            self.text, self.of = name, lambda row: read(row, name)
        elif kind == "number":
            number = Fraction(source.randrange(0, 65), 8)
            self.text, self.of = str(float(number)), lambda row: number
        elif kind == "op":
            a, b = Made(source, depth - 1), Made(source, depth - 1)
            sign = source.choice("+-*")
            self.text = f"({a.text} {sign} {b.text})"
            self.of = lambda row: both(a, b, row, lambda p, q: {"+": p + q, "-": p - q, "*": p * q}[sign])
        elif kind == "pick":
            a, b = Made(source, depth - 1), Made(source, depth - 1)
            name, pick = source.choice([("least", min), ("greatest", max)])
            self.text, self.of = f"{name}({a.text}, {b.text})", lambda row: both(a, b, row, pick)
        elif kind == "case":
            a, b = Made(source, depth - 1), Made(source, depth - 1)
            self.text = f"CASE WHEN f THEN {a.text} ELSE {b.text} END"
            self.of = lambda row: (a if row["f"] else b).of(row)
        else:
            a = Made(source, depth - 1)
            self.text = f"abs({a.text})" if kind == "abs" else f"(-{a.text})"
            change = abs if kind == "abs" else (lambda value: -value)
            self.of = lambda row: None if (value := a.of(row)) is None else change(value)


def both(a: Made, b: Made, row: Row, change: Any) -> Fraction | None:
    p, q = a.of(row), b.of(row)
    return None if p is None or q is None else change(p, q)


def random_row(source: random.Random) -> Row:
    def value() -> float | None:
        return None if source.random() < 0.1 else source.randrange(-80, 81) / 8

    return {"x": value(), "y": value(), "f": source.choice([True, False, None])}


def planned_or_refused(text: str, within: tuple[float, float]) -> Plan | None:
    """Random formulas multiply too much now and then, or are never within the range."""
    try:
        return planned(POLICY, statistic="formula_sum", formula=text, range=within)
    except InvalidQuery as error:
        if "multiplies too much" in str(error):
            return None
        raise


@pytest.mark.parametrize("seed", range(4))
def test_formulas_are_what_fractions_say(seed: int) -> None:
    source = random.Random(seed)
    compared = refused = 0
    for _ in range(60):
        made, rows = Made(source, 3), [random_row(source) for _ in range(12)]
        low = source.randrange(-60, 20) / 4
        within = (low, low + source.randrange(1, 200) / 4)
        plan = planned_or_refused(made.text, within)
        if plan is None:
            refused += 1
            continue
        ((total,),) = answers(plan, table(rows))
        assert plan.grid is not None
        known = [value for row in rows if (value := made.of(row)) is not None]
        truth = sum((clamp(value, *within) for value in known), Fraction(0))
        assert total * plan.grid.step == truth, made.text
        compared += 1
    assert compared > 25
    assert compared + refused == 60


def test_one_row_moves_the_sum_by_the_range_at_most_whatever_is_in_it() -> None:
    """Hostile rows, on a formula that is far beyond its range: by the integers that are paid for."""
    plan = planned(POLICY, statistic="formula_sum", formula="x * x * x * 1000 - 7", range=(-3.0, 5.0))
    part = plan.parts[0]
    assert part.sensitivity * plan.grid.step == 5  # type: ignore[union-attr]
    base = [{"x": 1.0, "y": 1.0, "f": True}] * 3
    ((before,),) = answers(plan, table(base))
    for x in (1e308, -1e308, float("inf"), float("-inf"), float("nan"), 5e-324, -0.0, None):
        ((after,),) = answers(plan, table([*base, {"x": x, "y": x, "f": None}]))
        assert abs(after - before) <= part.sensitivity


def test_other_ways_to_write_it_are_the_same_question() -> None:
    private = PrivateTable(table([{"x": 1.0}]), policy=POLICY, ledger="sqlite://")
    first = private.formula_sum("x*2 +  1", range=(0, 4), epsilon=1.0)
    again = private.formula_sum("x * 2+1", range=(0, 4), epsilon=1.0)
    other = private.formula_sum("x * 2 + 1", range=(0, 5), epsilon=1.0)
    assert (first.repeated, again.repeated, other.repeated) == (False, True, False)
    assert first.value == again.value


def test_the_interval_covers() -> None:
    """400 intervals of 95 %: fewer than 360 cover with a probability below 10⁻⁵ (binomial)."""
    rows = [{"x": 1.0, "y": 2.0}] * 10
    private = PrivateTable(
        table(rows),
        policy=policy_of(columns=COLUMNS, caps={"epsilon": 1e4}),
        ledger="sqlite://",
        source=SeededSource(7),
    )
    asked = private.all.formula_sum("x * y", range=(0.0, 4.0)).at(0.5)
    found = private.release([asked] * 400, fresh=True)
    covered = sum(one.interval[0] <= 20.0 <= one.interval[1] for one in found)
    assert covered >= 360


REFUSED = {
    "x / y": "divide by a number",
    "x / 0": "divide by a number",
    "sqrt(x)": "SQRT",
    "sum(x)": "SUM",
    "x + z": "`z`",
    "f + 1": "no `bounds`",
    "'a'": "text",
    "(SELECT 1)": "SUBQUERY",
    "x; y": "semicolons",
    "x -- note": "comments",
    "x * x * x * x * x * x * x * x * x * x * x * x": "multiplies too much",
    "1e99 * x": "60 digits",
    "9" * 70: "60 digits",
    "CASE f WHEN TRUE THEN 1 ELSE 2 END": "CASE WHEN",
    "CASE WHEN f THEN 1 END": "CASE WHEN",
    "CASE WHEN random() < 1 THEN 1 ELSE 0 END": "RAND",
    " + ".join(["x"] * 70): "nest",
    "(" * 900 + "x" + ")" * 900: "does not parse",
    "x IS NULL": "IS",
    "x = 1": "EQ",
    "NULL": "NULL",
    "": "characters",
    "least(" + "x, " * 200 + "y)": "parts",
}


@pytest.mark.parametrize("formula", REFUSED)
def test_what_is_no_formula_is_refused_by_name(formula: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        planned(POLICY, statistic="formula_sum", formula=formula, range=(0.0, 1.0))
    assert REFUSED[formula] in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "within", [None, (1.0,), (1.0, 1.0), (2.0, 1.0), (0.0, float("inf")), (float("nan"), 1.0)]
)
def test_a_range_is_two_finite_numbers(within: Any) -> None:
    with pytest.raises(InvalidQuery, match="range"):
        planned(POLICY, statistic="formula_sum", formula="x", range=within)
