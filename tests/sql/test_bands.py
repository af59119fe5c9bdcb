"""Bands of equal width that a statement writes: exact, alike however they are spelled, else refused."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from fractions import Fraction

import duckdb
import pyarrow
import pytest

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, attach, load_policy
from leakcap.release.planning.plan import plan_query, text_of
from leakcap.release.sql.select import StatementTerms, select_statement
from release.world import exact, planned
from seeded import SeededSource

POLICY = load_policy(
    {
        "dataset": "visits",
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 100.0},
        "columns": {
            "age": {"bounds": [0, 120]},
            "whole": {"bounds": [5, 99], "type": "integer"},
            "degrees": {"bounds": [-25, 31.5], "fill": 0},
            "ward": {"keys": ["a", "b"]},
            "day": {"bounds": ["2024-01-01", "2024-12-31"]},
            "huge": {"bounds": [0, 1e80]},
        },
    }
)
AGES = [*(float(age) for age in range(-3, 130)), *(end for age in range(0, 130, 3) for end in (
    math.nextafter(age, -math.inf), math.nextafter(age, math.inf)))]  # fmt: skip
ODD = [None, math.nan, math.inf, -math.inf, -0.0, 1e308, -1e308, 5e-324, -5e-324]


def asked(text: str) -> str:
    """The question that a statement is, as the ledger has it."""
    (query,) = select_statement(text, POLICY, StatementTerms(1.0)).queries
    plan = plan_query(query, POLICY)
    again = plan_query(plan.query, POLICY)
    assert text_of(again) == text_of(plan)
    return text_of(plan)


GROUPED = "SELECT {0}, COUNT(*) FROM visits GROUP BY {0}"
SPELLED = (
    *("FLOOR(age / 10) * 10", "floor( age/10.0 )*10", "10 * FLOOR(age / 1e1)", "age - age % 10"),
    *('"age" - age % 10', 'FLOOR("age" / 10) * 10.0'),
)


@pytest.mark.parametrize("bands", SPELLED)
def test_every_spelling_is_one_question(bands: str) -> None:
    plain = asked(GROUPED.format(SPELLED[0]))
    assert '"floor(age / 10) * 10"' in plain
    assert asked(GROUPED.format(bands)) == plain
    assert asked(f"SELECT {bands} AS band, COUNT(*) FROM visits GROUP BY band ORDER BY band DESC") == plain
    assert asked(f"SELECT {bands}, COUNT(*) FROM visits GROUP BY 1 ORDER BY {bands} LIMIT 3") == plain
    inner = f"SELECT band, COUNT(*) FROM (SELECT {bands} AS band FROM visits) GROUP BY band"
    assert asked(inner) == plain


def test_sql_files_and_python_ask_the_same_for_free() -> None:
    table = pyarrow.table({"age": [1.0, 5.0, 15.0, 99.0, None], "ward": list("abaab")})
    own = PrivateTable(table, policy=POLICY, ledger="sqlite://", source=SeededSource(4))
    (first,) = own.sql("SELECT FLOOR(age / 40) * 40, COUNT(*) FROM visits GROUP BY 1", epsilon=1.0)
    again = own.count(by="age - age % 40", epsilon=1.0)
    assert again.repeated
    assert [row.value for row in again.rows] == [row.value for row in first.rows]
    assert [list(row.keys.values()) for row in first.rows] == [[0], [40], [80], [120]]


@pytest.mark.parametrize(
    ("bands", "column", "width", "factor"),
    [
        ("FLOOR(age / 10) * 10", "age", 10, 10),
        ("FLOOR(age / 7)", "age", 7, 1),
        ("age - age % 3", "age", 3, 3),
        ("FLOOR(age / 1000) * 1000", "age", 1000, 1000),
        ("FLOOR(degrees / 10) * 10", "degrees", 10, 10),
        ("FLOOR(degrees / 1)", "degrees", 1, 1),
        ("FLOOR(whole / 6) * 6", "whole", 6, 6),
    ],
)
def test_a_number_is_in_the_band_that_fractions_find(
    bands: str, column: str, width: int, factor: int
) -> None:
    """At each edge, a double below and above it, and for what is no number between the bounds."""
    bounds = POLICY.columns[column].bounds
    assert bounds is not None
    low, high = bounds
    numbers = [*AGES, *(-one for one in AGES), *ODD]

    def band(number: float | None) -> int | None:
        if number is None or math.isnan(number):
            return None
        return Fraction(min(max(number, low), high)) // width * factor

    plan = planned(POLICY, statistic="count", by=(bands,))
    (labels,) = plan.cells.labels().values()
    least, most = (Fraction(one) // width for one in (low, high))
    assert labels.tolist() == [place * factor for place in range(least, most + 1)]
    counts = Counter(map(band, numbers))
    engine = attach(pyarrow.table({column: pyarrow.array(numbers, pyarrow.float64())}))
    assert exact(plan, engine)[0] == [counts[key] for key in labels.tolist()]
    assert sum(counts[key] for key in labels.tolist()) == len(numbers) - 2


@pytest.mark.parametrize("bands", ["FLOOR(age / 10) * 10", "age - age % 10", "FLOOR(degrees / 4) * 4"])
def test_within_the_bounds_it_is_what_duckdb_answers(bands: str) -> None:
    column = "age" if "age" in bands else "degrees"
    low, high = POLICY.columns[column].bounds or (0.0, 0.0)
    numbers = [one / 4 for one in range(-100, 481) if low <= one / 4 <= high]
    table, plain = pyarrow.table({column: pyarrow.array(numbers)}), duckdb.connect()
    plain.register("visits", table)
    (query,) = select_statement(GROUPED.format(bands), POLICY, StatementTerms(1.0)).queries
    plan = plan_query(query, POLICY)
    (labels,) = plan.cells.labels().values()
    truth = dict(plain.execute(GROUPED.format(bands)).fetchall())
    assert set(truth) <= set(labels.tolist())
    assert exact(plan, attach(table))[0] == [truth.get(key, 0) for key in labels.tolist()]


def test_a_condition_names_a_band() -> None:
    where = "SELECT COUNT(*) FROM visits WHERE FLOOR(age / 10) * 10 IN (10, 20) AND ward = 'a'"
    assert "\"floor(age / 10) * 10\" IN (10, 20) AND ward = 'a'" in asked(where)
    table = pyarrow.table({"age": [9.0, 10.0, 19.9, 20.0, 30.0, None], "ward": ["a"] * 6})
    (query,) = select_statement(where, POLICY, StatementTerms(1.0)).queries
    assert exact(plan_query(query, POLICY), attach(table)) == [[3]]


BANDS = ("FLOOR(age / 10) * 10", "FLOOR(age / 7)", "FLOOR(degrees / 10) * 10", "age - age % 40")
LITERALS = ("-30", "-25.5", "-0.0", "0", "7", "10", "19.5", "30", "3e1", "31", "119.999", "120")


def literally(condition: str, key: int, left: Fraction, right: Fraction) -> bool:
    """What SQL says of a band's key, in fractions."""
    return {
        "{0} < {1}": key < left,
        "{0} <= {1}": key <= left,
        "{0} > {1}": key > left,
        "{0} >= {1}": key >= left,
        "{1} < {0}": left < key,
        "{1} >= {0}": left >= key,
        "NOT ({0} <= {1})": not key <= left,
        "{0} BETWEEN {1} AND {2}": left <= key <= right,
        "{0} NOT BETWEEN {1} AND {2}": not left <= key <= right,
    }[condition]


CONDITIONS = ("{0} < {1}", "{0} <= {1}", "{0} > {1}", "{0} >= {1}", "{1} < {0}", "{1} >= {0}")
CONDITIONS += ("NOT ({0} <= {1})", "{0} BETWEEN {1} AND {2}", "{0} NOT BETWEEN {1} AND {2}")


@pytest.mark.parametrize("bands", BANDS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_bands_are_compared_by_order_as_fractions_are(bands: str, condition: str) -> None:
    """Also beyond the bounds, at each edge and beside it; a missing number is in no band."""
    column = "age" if "age" in bands else "degrees"
    bounds = POLICY.columns[column].bounds
    assert bounds is not None
    numbers = [*AGES, *(-one for one in AGES), *ODD]
    table = attach(pyarrow.table({column: pyarrow.array(numbers, pyarrow.float64())}))
    width = int(re.findall(r"[/%] (\d+)", bands)[0])
    factor = 1 if bands.endswith(")") else width
    clamped = [min(max(one, bounds[0]), bounds[1]) for one in numbers if one is not None and one == one]
    keys = Counter(Fraction(one) // width * factor for one in clamped)
    answered = 0
    for first, last in itertools.product(LITERALS, LITERALS[1::3] if "{2}" in condition else LITERALS[:1]):
        text = f"SELECT COUNT(*) FROM visits WHERE {condition.format(bands, first, last)}"
        left, right = Fraction(first), Fraction(last)
        try:
            (query,) = select_statement(text, POLICY, StatementTerms(1.0)).queries
        except InvalidQuery:
            plain = [literally(condition, key, left, right) for key in keys]
            assert len(set(plain)) == 1  # Of no band, or by NOT of every one.
            continue
        answered += 1
        count = sum(many for key, many in keys.items() if literally(condition, key, left, right))
        assert exact(plan_query(query, POLICY), table) == [[count]], text
    assert answered > 3


def test_a_band_compared_in_other_words_is_one_question() -> None:
    where = "SELECT COUNT(*) FROM visits WHERE {0}"
    plain = asked(where.format("FLOOR(age / 10) * 10 > 30"))
    assert '"floor(age / 10) * 10" >= 40' in plain
    for other in ("age - age % 10 >= 31", "40 <= FLOOR(age / 10) * 10", "10 * FLOOR(age/10) > 39.5"):
        assert asked(where.format(other)) == plain
    assert asked("SELECT COUNT(*) FROM (SELECT FLOOR(age / 10) * 10 AS b FROM visits) WHERE b > 30") == plain


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("FLOOR(age / 10) * 10 > 120", "> 120, which is true of no band: they are 0 to 120"),
        ("FLOOR(age / 10) * 10 < 0", "< 0, which is true of no band: they are 0 to 120"),
        ("FLOOR(age / 10) * 10 BETWEEN 11 AND 19", "BETWEEN 11 AND 19, where no band begins"),
        ("FLOOR(age / 10) * 10 > 'old'", "with a number"),
        ("FLOOR(age / 10) * 10 > TRUE", "with a number"),
        ("FLOOR(age / 10) * 10 > whole", "not with another column"),
        ("FLOOR(age / 10) * 10 > NULL", "IS NULL"),
        ("FLOOR(age / 10) * 10 >= 30.00000000000000000001", "digits"),
        ("FLOOR(age / 10) * 10 > 1e999", "too large"),
    ],
)
def test_a_band_compared_with_what_it_cannot_be_is_refused(condition: str, words: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        select_statement(f"SELECT COUNT(*) FROM visits WHERE {condition}", POLICY, StatementTerms(1.0))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


REFUSED = {
    "degrees - degrees % 10": "`degrees` may be below 0, where % rounds up. Write FLOOR(degrees / 10) * 10",
    "FLOOR(ward / 10) * 10": "`ward` has no numbers as `bounds` in the policy",
    "FLOOR(day / 10) * 10": "`day` has no numbers as `bounds` in the policy",
    "FLOOR(none / 10) * 10": "`none` is not a column of the policy",
    "FLOOR(age / 10) * 5": "Bands that are 10 wide are multiplied by 10, not by 5",
    "FLOOR(age / 0) * 0": "Bands have a whole number as their width",
    "FLOOR(age / 0.5)": "Bands have a whole number as their width",
    "FLOOR(age / 1e300)": "Bands have a whole number as their width",
    "FLOOR(huge / 10)": "Make them wider",
    "FLOOR(age / -10) * -10": "FLOOR is not supported",
    "FLOOR((age) / 10) * 10": "FLOOR is not supported",
    "FLOOR(age)": "FLOOR is not supported",
    "FLOOR(age / 10, 1) * 10": "DECIMALS is not supported",
    "CEIL(age / 10) * 10": "CEIL is not supported",
    "FLOOR(age / 10) + 10": "FLOOR is not supported",
    "age - whole % 10": "",
    "age - age % age": "",
    "age // 10 * 10": "",
    "MOD(age, 10)": "",
    "age - MOD(age, 10)": "MOD is not supported",
    "FLOOR(age // 10) * 10": "FLOOR is not supported",
    "FLOOR('age' / 10) * 10": "FLOOR is not supported",
}


@pytest.mark.parametrize("bands", REFUSED)
def test_what_engines_tell_apart_is_refused_in_one_line(bands: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        select_statement(GROUPED.format(bands), POLICY, StatementTerms(1.0))
    said = str(caught.value)
    assert REFUSED[bands] in said
    assert said.startswith("Line 1, column ")
    assert "\n" not in said


@pytest.mark.parametrize("text", ["age - age % 0", "FLOOR(degrees / 10) * 3", "degrees - degrees % 2"])
def test_python_and_conditions_are_refused_alike(text: str) -> None:
    with pytest.raises(InvalidQuery):
        planned(POLICY, statistic="count", by=(text,))
    with pytest.raises(InvalidQuery):
        planned(POLICY, statistic="count", where=f"{text} = 10")
