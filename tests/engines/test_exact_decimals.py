"""Columns of decimals on every engine: rounded once by one rule, compared and added up without an error."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

from engines.words_asked import check_conditions
from leakcap.release import Engine, attach
from leakcap.release.engine.postgresql import PostgreSQL
from ledger.server import execute
from release.world import exact, planned, policy_of

DIGITS, SCALE = 38, 10
LOW, HIGH = Decimal("-5.00"), Decimal("99999.99")
# Out of order, without a gap and with one, at both bounds and beyond them.
KEYS = ["10.10", "0.10", 0.0, "10.11", "-0.01", "-5.00", "99999.99", 100000.0, "7.00", "7.01", "7.02"]
POLICY = policy_of(
    columns={
        "q": {"type": "decimal", "places": 2, "bounds": [str(LOW), str(HIGH)], "keys": KEYS},
        "other": {"type": "decimal", "places": 1, "bounds": [-5, 100_000]},
        "gross": {"from": ["q", 1.19], "compute": "*"},
        "vat": {"from": ["q", 1.19], "compute": "*", "type": "decimal", "places": 2},
        "both": {"from": ["q", "other"], "compute": "+"},
        "apart": {"from": ["q", "other"], "compute": "-"},
        "more": {"from": ["q", "other"], "compare": ">="},
        "same": {"from": ["q", "other"], "compare": "="},
        "band": {"from": "q", "cuts": [0.1, 10.1, 10.105, 100]},
    }
)
CENT = Decimal("0.01")

Rows = Sequence[tuple[Decimal | None, Decimal | None]]


@pytest.fixture(autouse=True)
def _long_decimals() -> Iterator[None]:
    with localcontext(prec=200):
        yield


def rounded(value: Decimal, places: int) -> Decimal:
    """The rule: halves away from zero."""
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def rows(seed: int = 14, size: int = 300) -> Rows:
    """Of all lengths, halves of a cent of both signs and their neighbours, missing ones, and equal pairs."""
    draw = random.Random(seed)
    found: list[Decimal | None] = [None, Decimal("0.1"), Decimal("-0.0"), LOW, HIGH, Decimal(10) ** 27]
    found += [-(Decimal(10) ** 27), Decimal("10.105"), Decimal("10.1049999999"), Decimal("10.1")]
    for _ in range(size):
        half = Decimal(draw.randrange(-2_000, 30_000)) * CENT + Decimal("0.005") * draw.choice((1, -1))
        found.append(half + Decimal(draw.choice((-1, 0, 0, 1))).scaleb(-SCALE))
        found.append(Decimal(draw.randrange(-(10 ** draw.randrange(1, 20)), 10**15)).scaleb(-SCALE))
    others = [one if draw.random() < 0.3 else draw.choice(found) for one in found]
    return list(zip(found, others, strict=True))


def worked(given: Rows, rule: Callable[[Decimal, int], Decimal] = rounded) -> dict[str, list[Decimal | None]]:
    """Every number column, worked out in decimals of any length."""
    found: dict[str, list[Decimal | None]] = {
        name: [] for name in ("q", "other", "gross", "vat", "both", "apart")
    }
    for q, other in given:
        x, y = None if q is None else rule(q, 2), None if other is None else rule(other, 1)
        found["q"].append(x)
        found["other"].append(y)
        x = None if x is None else min(max(x, LOW), HIGH)
        y = None if y is None else min(max(y, Decimal(-5)), Decimal(100_000))
        found["gross"].append(None if x is None else x * Decimal("1.19"))
        found["vat"].append(None if x is None else rule(x * Decimal("1.19"), 2))
        found["both"].append(None if x is None or y is None else x + y)
        found["apart"].append(None if x is None or y is None else x - y)
    return found


def check(engine: Engine, given: Rows) -> int:
    """Sums, conditions, bands and comparisons are those of the decimals; how many were tested."""
    columns, tested = worked(given), 0
    for name, values in columns.items():
        known = POLICY.columns[name]
        assert known.bounds is not None
        low, high = (Decimal(str(end)) for end in known.bounds)
        asked = planned(POLICY, statistic="sum", column=name)
        assert asked.grid is not None
        assert asked.grid.places == known.places
        total = sum(min(max(one, low), high) for one in values if one is not None)
        assert exact(asked, engine) == [[int(total.scaleb(known.places or 0))]], name
        assert Decimal(asked.grid.value(int(total.scaleb(known.places or 0)))) == Decimal(float(total))
        tested += 1
        near = [one for one in values if one is not None and abs(one) < 1000]
        counts = {
            f"{name} {word} {mark:f}": sum(holds(one, mark) for one in values if one is not None)
            for mark in [*near[3:5], Decimal("10.1"), Decimal("10.105")]
            for word, holds in (COMPARED.items() if name == "q" else list(COMPARED.items())[::5])
        }
        tested += check_conditions(engine, name, counts, POLICY)
    bands = [0] * 5
    for one in columns["q"]:
        if one is not None:
            bands[sum(one >= cut for cut in map(Decimal, ("0.1", "10.1", "10.105", "100")))] += 1
    assert exact(planned(POLICY, statistic="count", by=("band",)), engine) == [bands]
    keys = [sum(one == Decimal(str(key)) for one in columns["q"]) for key in KEYS]
    assert exact(planned(POLICY, statistic="count", by=("q",)), engine) == [keys]
    pairs = [pair for pair in zip(columns["q"], columns["other"], strict=True) if None not in pair]
    for name, holds in (("more", COMPARED[">="]), ("same", COMPARED["="])):
        true = sum(holds(*pair) for pair in pairs)
        found = exact(planned(POLICY, statistic="count", by=(name,)), engine)
        assert found == [[true, len(pairs) - true]], name
        tested += 1
    return tested + 1


COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def short(given: Rows) -> tuple[Rows, list[tuple[float | None, float | None]]]:
    """The rows rounded to their places, and the doubles that print as these."""
    near = [
        (None if q is None else rounded(q, 2), None if other is None else rounded(other, 1))
        for q, other in given
    ]
    floats = [tuple(None if one is None else float(one) for one in row) for row in near]
    return near, floats  # type: ignore[return-value]


def arrow(given: Rows) -> pyarrow.Table:
    """The rows as Arrow's decimals."""
    type_ = pyarrow.decimal128(DIGITS, SCALE)
    return pyarrow.table(
        {name: pyarrow.array([row[n] for row in given], type_) for n, name in enumerate(("q", "other"))}
    )


def test_duckdb() -> None:
    assert check(attach(arrow(rows())), rows()) > 60


def test_a_file_of_decimals(tmp_path: Path) -> None:
    path = tmp_path / "decimals.parquet"
    pyarrow.parquet.write_table(arrow(rows()), path)
    assert check(attach(path), rows()) > 60


def test_text_in_a_file_and_in_frames(tmp_path: Path) -> None:
    """A CSV file read as text, and pandas' objects: the same decimals, however they are written."""
    pandas = pytest.importorskip("pandas")
    given = rows()
    draw = random.Random(2)
    forms: list[Callable[[Decimal], str]] = [lambda x: f"{x:f}", lambda x: f"{x:e}", lambda x: f" {x:f} "]
    texts = [[None if one is None else draw.choice(forms)(one) for one in row] for row in given]
    path = tmp_path / "decimals.csv"
    path.write_text("q,other\n" + "".join(f"{a or ''},{b or ''}\n" for a, b in texts) + '"1,234.56 €",x\n')
    assert check(attach(path), given) > 60
    frame = pandas.DataFrame(texts, columns=["q", "other"], dtype=object)
    assert check(attach(frame), given) > 60
    mixed = pandas.DataFrame([*texts, [True, 1]], columns=["q", "other"], dtype=object)
    assert check(attach(mixed), [*given, (Decimal(1), Decimal(1))]) > 60


def test_doubles_and_whole_numbers_stand_for_the_decimals_that_they_print_as() -> None:
    given, floats = short(rows())
    columns = {name: [row[n] for row in floats] for n, name in enumerate(("q", "other"))}
    assert check(attach(pyarrow.table(columns)), given) > 60
    whole = [(Decimal(n), Decimal(-n)) for n in range(-9, 200_000, 997)]
    columns = {name: [int(row[n]) for row in whole] for n, name in enumerate(("q", "other"))}
    assert check(attach(pyarrow.table(columns)), whole) > 30


@pytest.mark.parametrize("rule", [ROUND_HALF_EVEN, "as doubles"])
def test_another_rule_is_caught(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Halves to even, or no rounding at all."""
    from leakcap.release.engine.lowering import Lowering

    if rule == "as doubles":
        monkeypatch.setattr(Lowering, "decimal", lambda own, name, places: own.double(name))
        with pytest.raises(AssertionError):
            check(attach(arrow(rows())), rows())
        return
    even = worked(rows(), lambda value, places: value.quantize(Decimal(1).scaleb(-places), rule))
    assert even["q"] != worked(rows())["q"]


# As long as a numeric can be before its point: rounded up, it is longer.
NINES = "9" * 131_072 + ".995"
HOSTILE = ["NaN", "Infinity", "-Infinity", "1e130000", "-1e130000", "1e-16000", "0.005", "-0.005", "12.345"]
HOSTILE += [NINES, f"-{NINES}", "1e-16383", "-1e-16383", "1e300", "-1e300", "1e-300", "1e308", "1e309"]


def test_postgresql(server: str) -> None:
    """Of a numeric without limits too: NaN is missing, what is infinite or huge lies beyond the bounds."""
    given = rows()
    said = [f"({', '.join('NULL' if one is None else f'{one:f}' for one in row)})" for row in given]
    execute(
        server,
        "DROP TABLE IF EXISTS exact_decimals, hostile_decimals",
        f"CREATE TABLE exact_decimals (q numeric({DIGITS}, {SCALE}), other numeric)",
        f"INSERT INTO exact_decimals VALUES {', '.join(said)}",
        "CREATE TABLE hostile_decimals (q numeric, other float8)",
        *(f"INSERT INTO hostile_decimals VALUES ('{one}', 1)" for one in HOSTILE),
        *(
            f"INSERT INTO hostile_decimals VALUES (1, '{one}')"
            for one in ("NaN", "Infinity", "1e308", "1e-320")
        ),
    )
    assert check(PostgreSQL(server, table="exact_decimals"), given) > 60
    engine = PostgreSQL(server, table="hostile_decimals")
    assert exact(planned(POLICY, statistic="count", where="q IS NULL"), engine) == [[1]]
    assert exact(planned(POLICY, statistic="count", where="other IS NULL"), engine) == [[1]]
    # Beyond each end; 0.01 − 0.01 + 12.35, and four times 1.
    total = 6 * HIGH + 4 * LOW + Decimal("12.35") + 4
    assert exact(planned(POLICY, statistic="sum", column="q"), engine) == [[int(total * 100)]]
    assert exact(planned(POLICY, statistic="sum", column="other"), engine) == [
        [10 * (len(HOSTILE) + 100_000 + 100_000)]
    ]


EDGES = [(width, scale) for width in (4, 9, 18, 38) for scale in (0, 2, width - 1, width)]
FLOATS = (math.inf, -math.inf, math.nan, 1.7976931348623157e308, -1e300, 5e-324, -5e-324, 0.005, 2.0**62, 0.5)
INTEGERS = {"TINYINT": 8, "UTINYINT": 8, "BIGINT": 64, "UBIGINT": 64, "HUGEINT": 128, "UHUGEINT": 128}


def hostile_columns() -> Iterator[tuple[str, list[str], list[Decimal | None]]]:
    """DuckDB's types with the values at their ends, as they are written and as the decimals that they are."""
    for width, scale in EDGES:
        most = Decimal(10**width - 1).scaleb(-scale)
        found = [most, -most, Decimal(1).scaleb(-scale), Decimal(0), None]
        yield (
            f"DECIMAL({width}, {scale})",
            ["NULL" if one is None else f"'{one:f}'" for one in found],
            found,
        )
    for name, bits in INTEGERS.items():
        signed = not name.startswith("U")
        ends = [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0] if signed else [2**bits - 1, 0]
        yield name, list(map(str, ends)), list(map(Decimal, ends))
    for name in ("FLOAT", "DOUBLE"):
        held = FLOATS if name == "DOUBLE" else [*FLOATS[:3], 1e38, 1e-45, 0.5]
        yield name, [f"'{one}'" for one in held], [None if one != one else Decimal(str(one)) for one in held]


@pytest.mark.parametrize("places", [1, 6])
def test_the_ends_of_every_type_are_answered_and_not_refused(places: int, tmp_path: Path) -> None:
    """No value of a row stops the engine: each counts as the decimal that it is, within the bounds."""
    decimal = {"type": "decimal", "places": places}
    keys = [0, "0.5", 1e8, -128, 255, "0.1"]
    asked = policy_of(columns={"x": {**decimal, "bounds": [-1, 2], "keys": keys}})
    alone = policy_of(columns={"x": {**decimal, "keys": keys[:1]}})
    path, kinds, tested = tmp_path / "hostile.duckdb", list(hostile_columns()), 0
    with duckdb.connect(path) as database:
        for number, (type_, said, _) in enumerate(kinds):
            database.execute(f"CREATE TABLE t{number} (x {type_})")
            database.execute(f"INSERT INTO t{number} VALUES {', '.join(f'({one})' for one in said)}")
    for number, (type_, _, values) in enumerate(kinds):
        engine = attach(path, table=f"t{number}")
        held = [min(max(one, Decimal(-1)), Decimal(2)) for one in values if one is not None]
        total = sum(rounded(one, places) for one in held)
        assert exact(planned(asked, statistic="sum", column="x"), engine) == [[int(total.scaleb(places))]], (
            type_
        )
        near = [rounded(one, places) for one in values if one is not None and abs(one) < 10**9]
        groups = [sum(one == Decimal(str(key)) for one in near) for key in keys]
        assert exact(planned(asked, statistic="count", by=("x",)), engine) == [groups], type_
        assert exact(planned(alone, statistic="count", by=("x",)), engine) == [groups[:1]], type_
        known = exact(planned(asked, statistic="count", where="x IS NOT NULL"), engine)
        assert known == [[len(held)]], type_
        tested += len(values)
    assert tested == len(EDGES) * 5 + 15 + 16


def test_hostile_text_is_missing_or_beyond_and_never_an_error(tmp_path: Path) -> None:
    words = [
        "NaN",
        "inf",
        "-inf",
        "1e40",
        "-1e40",
        "1e-500",
        "1,234.56 €",
        "",
        "x",
        "0x10",
        "9" * 60,
        "1" * 400,
    ]
    path = tmp_path / "words.csv"
    path.write_text("q,other\n" + "".join(f'"{one}",1\n' for one in words) + '"0.005",1\n')
    engine = attach(path)
    assert exact(planned(POLICY, statistic="count", where="q IS NULL"), engine) == [[5]]
    total = 2 * HIGH + HIGH + HIGH + 2 * LOW + Decimal("0.01")
    assert exact(planned(POLICY, statistic="sum", column="q"), engine) == [[int(total * 100)]]


@pytest.mark.slow
def test_spark(spark: Any) -> None:
    given = rows(size=40)
    schema = f"q decimal({DIGITS}, {SCALE}), other decimal({DIGITS}, {SCALE})"
    assert check(attach(spark.createDataFrame([tuple(row) for row in given], schema)), given) > 60
    near, floats = short(given)
    assert check(attach(spark.createDataFrame(floats, "q double, other double")), near) > 60
