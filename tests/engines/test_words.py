"""Dates and derived columns: every engine finds what is worked out in Python, on rows that break dates."""

from __future__ import annotations

import datetime
import typing
from typing import Any

import pyarrow
import pyarrow.csv
import pytest

from engines.words import COMPUTED, DERIVED, END, POLICY, random_rows, table
from engines.words_asked import alone, check, check_numbers, check_written
from engines.written_words import WRITTEN
from leakcap.errors import DataError
from leakcap.policy.derived import OPERATIONS, DatePart, Period
from leakcap.release import attach
from leakcap.release.engine.beforehand import check_schema
from leakcap.release.engine.postgresql import PostgreSQL
from ledger.server import execute
from release.world import exact, planned, policy_of

# PostgreSQL's dates begin in 4714 BC, and psycopg is never handed one.
_STORABLE = {"d": lambda day: abs(day) == END or -2_440_588 < day < 2_000_000_000}
_POSTGRESQL = {
    **{"d": _STORABLE["d"], "e": _STORABLE["d"]},
    **dict.fromkeys("tzb", lambda moment: abs(moment) == 2**63 - 1 or abs(moment) < 9 * 10**18),
}


def test_the_family_has_every_operation_part_and_period() -> None:
    used = {word for asked in (*DERIVED.values(), *COMPUTED.values()) for word in asked}
    assert used == {"from", "keys", "bounds", "fill", *OPERATIONS}
    assert {one["compute"] for one in COMPUTED.values()} == set("+-*/")
    assert {one["truncate"] for one in DERIVED.values() if "truncate" in one} == set(typing.get_args(Period))
    assert {one["part"] for one in DERIVED.values() if "part" in one} == set(typing.get_args(DatePart))


def test_every_form_of_condition_stands_in_a_where_too() -> None:
    """Where it stands decides what an engine reads of the data; in a CASE it reads everything."""
    dated = {name for name, asked in DERIVED.items() if {"truncate", "part"} & asked.keys()}
    assert {alone(name, 5) for name in dated} == set(range(5))
    assert {alone(name, 3) for name in DERIVED.keys() - dated} == set(range(3))


@pytest.mark.parametrize("size", [0, 400])
def test_duckdb_finds_what_is_worked_out(size: int) -> None:
    rows = random_rows(size, size, {})
    assert check(attach(table(rows)), rows) >= (4 if rows else 2) * len(DERIVED)
    assert check_numbers(attach(table(rows)), rows) == 6 * len(COMPUTED)
    assert check_written(attach(table(rows)), rows) == 3 * len(WRITTEN)


def test_a_planted_mistake_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A week that begins on Sunday, as in a part of the world."""
    from leakcap.release.engine.lowering import Lowering

    plain = Lowering.part
    monkeypatch.setattr(
        Lowering, "part", lambda own, day, part: plain(own, day, "doy" if part == "weekday" else part)
    )
    rows = random_rows(3, 50, {})
    with pytest.raises(AssertionError):
        check(attach(table(rows)), rows)


@pytest.mark.parametrize("mistake", ["a zone of one offset", "numbers as they are", "dates as they are"])
def test_a_planted_mistake_in_what_is_computed_is_caught(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from leakcap.release.columns import computed, typed

    def unclamped(name: str, operand: Any, policy: Any, *, factor: bool) -> Any:
        known = isinstance(operand, str)
        return (
            typed.cast(computed.typed_column(operand, policy), "DOUBLE")
            if known
            else plain(name, operand, policy, factor=factor)
        )

    plain = computed._operand
    if mistake == "a zone of one offset":
        monkeypatch.setattr(
            typed,
            "_at_place",
            lambda name, offsets: typed.ReadColumn(
                this=typed.column(name), kind="instant", zone=offsets[0][1]
            ),
        )
    elif mistake == "numbers as they are":
        monkeypatch.setattr(computed, "_operand", unclamped)
    else:
        monkeypatch.setattr(
            computed,
            "_days",
            lambda name, policy: typed.DatePart(
                this=computed.day_of_column(name, policy.columns[name]), part="days"
            ),
        )
    rows = random_rows(5, 100, {})
    asked = check_numbers if mistake == "numbers as they are" else check
    with pytest.raises(AssertionError):
        asked(attach(table(rows)), rows)


@pytest.mark.parametrize("mistake", ["names as they are written", "a fill that is left out", "raw numbers"])
def test_a_planted_mistake_in_what_is_written_is_caught(
    mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from leakcap.release.columns import typed
    from leakcap.release.conditions import number_columns
    from leakcap.release.planning import statements

    if mistake == "names as they are written":
        monkeypatch.setattr(statements, "plainly_named", lambda tree, policy: tree)
    elif mistake == "a fill that is left out":
        plain = number_columns._tree
        monkeypatch.setattr(
            number_columns,
            "_tree",
            lambda one, policy: (
                number_columns.clamped(one, policy) if isinstance(one, str) else plain(one, policy)
            ),
        )
    else:
        monkeypatch.setattr(
            number_columns,
            "clamped",
            lambda one, policy: (
                typed.number_column(one) if isinstance(one, str) else typed.literal(one, "number")
            ),
        )
    rows = random_rows(9, 300, {})
    with pytest.raises((AssertionError, DataError)):
        check_written(attach(table(rows)), rows)


@pytest.mark.parametrize("size", [0, 200])
def test_postgresql_finds_what_is_worked_out(server: str, size: int) -> None:
    rows = random_rows(size + 1, size, _POSTGRESQL)
    execute(
        server,
        "DROP TABLE IF EXISTS words",
        "CREATE TABLE words (x float8, y float8, d date, e date, t timestamp, z timestamptz, b timestamptz, "
        "s text, n bigint, f boolean, w float8, m bigint)",
        *(f"INSERT INTO words VALUES ({', '.join(_said(name, row[name]) for name in row)})" for row in rows),
    )
    assert check(PostgreSQL(server, table="words"), rows) >= (4 if rows else 2) * len(DERIVED)
    assert check_numbers(PostgreSQL(server, table="words"), rows) == 6 * len(COMPUTED)
    assert check_written(PostgreSQL(server, table="words"), rows) == 3 * len(WRITTEN)


def _said(name: str, value: Any) -> str:
    """A value in PostgreSQL's words."""
    if value is None:
        return "NULL"
    if name in "xyw":
        return f"'{value}'"
    if name in "detzb" and abs(value) in (END, 2**63 - 1):
        return "'infinity'" if value > 0 else "'-infinity'"
    if name in "de":
        return f"DATE '1970-01-01' + {value}"
    if name in "tzb":
        days, micros = divmod(value, 86_400_000_000)
        moment = f"(DATE '1970-01-01' + {days}) + {micros} * INTERVAL '1 microsecond'"
        return moment if name == "t" else f"(({moment}) AT TIME ZONE 'UTC')"
    return f"'{str(value).replace(chr(39), chr(39) * 2)}'" if name == "s" else str(value)


@pytest.mark.slow
def test_spark_finds_what_is_worked_out(spark: Any) -> None:
    """Whatever the session's own zone is."""
    fits = {
        "t": lambda moment: abs(moment) < 9 * 10**18,
        **dict.fromkeys("zb", lambda moment: abs(moment) < 9 * 10**18),
        **dict.fromkeys("de", lambda day: abs(day) < 100_000_001),
    }
    rows = random_rows(7, 120, fits)
    schema = "x double, y double, d int, e int, t bigint, z bigint, b bigint, s string, n bigint, f boolean, "
    schema += "w double, m bigint"
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    moment = "TIMESTAMP_NTZ'1970-01-01' + MAKE_DT_INTERVAL(0, 0, 0, CAST(t AS DECIMAL(18, 0)) / 1000000)"
    frame = spark.createDataFrame([tuple(row.values()) for row in rows], schema).selectExpr(
        *("x", "y", "DATE_FROM_UNIX_DATE(d) d", "DATE_FROM_UNIX_DATE(e) e", f"{moment} t"),
        *("TIMESTAMP_MICROS(z) z", "TIMESTAMP_MICROS(b) b", "s", "n", "f", "w", "m"),
    )
    try:
        assert check(attach(frame), rows) >= (4 if rows else 2) * len(DERIVED)
        assert check_numbers(attach(frame), rows) == 6 * len(COMPUTED)
        assert check_written(attach(frame), rows) == 3 * len(WRITTEN)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


TEXTS: dict[str, datetime.datetime | None] = {
    "2024-02-29": datetime.datetime(2024, 2, 29),
    "2024-02-29 23:59:59": datetime.datetime(2024, 2, 29, 23, 59, 59),
    "2024-02-29T00:00:00.123456789": datetime.datetime(2024, 2, 29, 0, 0, 0, 123456),
    **dict.fromkeys(
        (
            *("2023-02-29", "2024-2-3", "20240203", "2024-02-03 ", " 2024-02-03", "2024-02-03 24:00:00"),
            *("infinity", "-infinity", "epoch", "2024-02-03 (BC)", "0000-00-00", "2024-13-01", "now", ""),
            *(
                "2024-02-03 10:00",
                "2024-02-03 23:59:60",
                "2024-02-03 10:00:00+02",
                "2024-02-03\n",
                "99999-01-01",
            ),
            "\u0662\u0660\u0662\u0664-02-03",
        )
    ),
}


def test_text_is_a_date_only_where_it_is_written_like_one(tmp_path: Any) -> None:
    """DuckDB's own cast reads 2024-2-3, infinity, 24:00 and dates with a zone."""
    policy = policy_of(
        columns={
            "w": {"bounds": [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]},
            "m": {"bounds": [datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)]},
            "day": {"from": "w", "truncate": "year"},
        },
    )
    texts = list(TEXTS)
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "words.csv"
    data = pyarrow.table({"w": texts, "m": texts})
    pyarrow.csv.write_csv(data.filter([("\n" not in text) for text in texts]), path)
    engines = [attach(data), attach(path), attach(pandas.DataFrame({"w": texts, "m": texts}, dtype=object))]
    known = [moment for moment in TEXTS.values() if moment is not None]
    tested = 0
    for engine in engines:
        for condition, expected in {
            "w IS NOT NULL": len(known),
            "w = DATE '2024-02-29'": 3,
            "m >= TIMESTAMP '2024-02-29 00:00:00.123456'": 2,
            "m < TIMESTAMP '2024-02-29 00:00:00.123457'": 2,
            "day = '2024'": 3,
        }.items():
            found = exact(planned(policy, statistic="count", where=condition), engine)
            assert found == [[expected]], (condition, engine)
            tested += 1
    assert tested == 15


def test_pandas_dates_are_read_cell_by_cell() -> None:
    """A column of dates, of Timestamps, of texts or of all of these is read alike."""
    pandas = pytest.importorskip("pandas")
    days = [datetime.date(2024, 2, 29), datetime.date(2023, 12, 31), None]
    columns = [
        pandas.Series(days, dtype=object),
        pandas.to_datetime(pandas.Series(days)),
        pandas.Series([None if day is None else day.isoformat() for day in days], dtype=object),
        pandas.Series([days[0], "2023-12-31 00:00:00", 20240229.0], dtype=object),
        pandas.Series([pandas.Timestamp(days[0]), days[1], ["2024-02-29"]], dtype=object),
    ]
    for column in columns:
        frame = attach(pandas.DataFrame({"d": column, "e": column, "t": column, "z": column, "x": 1.0}))
        found = exact(planned(POLICY, statistic="count", by=("d_month",)), frame)[0]
        keys = POLICY.columns["d_month"].keys or ()
        assert {key: count for key, count in zip(keys, found, strict=True) if count} == {
            "2023-12": 1,
            "2024-02": 1,
        }


def test_seconds_that_microseconds_do_not_reach_are_missing() -> None:
    """TIMESTAMP_S holds the year 290,000,000,000, at whose cast DuckDB stops."""
    for unit in ("s", "ms", "ns"):
        held = pyarrow.array([2**62, -(2**62), None, 0], pyarrow.int64()).cast(pyarrow.timestamp(unit))
        engine = attach(pyarrow.table({"t": held}))
        (found,) = exact(planned(POLICY, statistic="count", by=("t_band",)), engine)
        assert sum(found) == (3 if unit == "ns" else 1)


def test_types_that_would_have_to_be_guessed_are_refused() -> None:
    refused = {
        ("d", "TIMESTAMP WITH TIME ZONE"): "Give `bounds` with an offset",
        ("t", "TIMESTAMP WITH TIME ZONE"): "Give `bounds` with an offset",
        ("z", "TIMESTAMP"): "Give `bounds` without an offset",
        ("z", "DATE"): "Give `bounds` without an offset",
        ("t", "DATE"): "Give dates as `bounds`",
        ("d", "TEXT"): "cannot be read as date",
        ("d", "BIGINT"): "cannot be read as date",
    }
    for (name, type_), words in refused.items():
        with pytest.raises(DataError, match=words):
            check_schema({name: type_}, [name], POLICY)


def test_integers_may_have_bounds_beside_keys() -> None:
    """They are grouped by their keys, and summed within their bounds."""
    policy = policy_of(columns={"n": {"keys": [1, 2, 7], "bounds": [1, 5]}})
    engine = attach(pyarrow.table({"n": [1, 1, 2, 7, 9, None]}))
    assert exact(planned(policy, statistic="count", by=("n",)), engine) == [[2, 1, 1]]
    asked = planned(policy, statistic="sum", column="n", by=("n",))
    assert asked.grid is not None
    assert [asked.grid.value(total) for total in exact(asked, engine)[0]] == [2.0, 2.0, 5.0]
    assert exact(planned(policy, statistic="count", where="n >= 2 AND n <> 7"), engine) == [[2]]


def test_a_derived_column_says_what_it_cannot_be_used_for() -> None:
    with pytest.raises(Exception, match="`d` has no numbers as `bounds`"):
        planned(POLICY, statistic="mean", column="d")
    with pytest.raises(Exception, match="Ask by a column derived from it"):
        planned(POLICY, statistic="count", by=("d",))
