"""CUBE, ROLLUP and GROUPING SETS: the finest groups are asked, margins are sums of their answer."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import leakcap
from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, preview, sql_queries, with_margins
from leakcap.release.sql.select import StatementTerms, select_statement
from release.world import COLUMNS, policy_of, table
from seeded import SeededSource

ROWS = [{"d": "abc"[i % 3], "k": 1 + i % 2, "f": i % 5 == 0, "x": i / 100, "y": 3.0} for i in range(600)]
KEYS: dict[str, list[Any]] = {"d": ["a", "b", "c"], "k": [1, 2], "f": [True, False]}


def asked(text: str) -> list[Any]:
    own = PrivateTable(table(ROWS), policy=policy_of(), ledger="sqlite://", source=SeededSource(3))
    return own.sql(text, epsilon=2.0)


def kept(names: tuple[str, ...], margin: tuple[str, ...]) -> set[tuple[Any, ...]]:
    """The keys of a margin's rows, worked out."""
    return set(itertools.product(*(KEYS[name] if name in margin else ["total"] for name in names)))


ALL = [one for size in range(3, -1, -1) for one in itertools.combinations("dkf", size)]
CASES: dict[str, list[tuple[str, ...]]] = {
    "CUBE (d, k, f)": ALL,
    "cube(1, 2, 3)": ALL,
    "ROLLUP (d, k, f)": [("d", "k", "f"), ("d", "k"), ("d",), ()],
    "d, ROLLUP (k, f)": [("d", "k", "f"), ("d", "k"), ("d",)],
    "d, CUBE (k), f": [("d", "k", "f"), ("d", "f")],
    "GROUPING SETS ((d, k, f), (d, k), d, ())": [("d", "k", "f"), ("d", "k"), ("d",), ()],
    "grouping  sets ((1, 2, 3), (2))": [("d", "k", "f"), ("k",)],
    "d, GROUPING SETS ((k, f), ())": [("d", "k", "f"), ("d",)],
    "GROUPING SETS ((d)), k, f": [("d", "k", "f")],
    # The finest groups are not among these.
    "GROUPING SETS (d, k, (f))": [("d",), ("k",), ("f",)],
    "d, GROUPING SETS (k, f)": [("d", "k"), ("d", "f")],
    "GROUPING SETS ((d, k), (k, f), ())": [("d", "k"), ("k", "f"), ()],
    # A CUBE or ROLLUP among them stands for its own sets.
    "GROUPING SETS (ROLLUP (d, k), f)": [("d", "k"), ("d",), (), ("f",)],
    "GROUPING SETS (CUBE (d, k), f)": [("d", "k"), ("d",), ("k",), (), ("f",)],
    "d, GROUPING SETS ((k), ROLLUP (3))": [("d", "k"), ("d", "f"), ("d",)],
    "GROUPING SETS (cube (1, 2, 3))": ALL,
}


FINEST = "SELECT d, k, f, COUNT(*), AVG(x) FROM tests GROUP BY d, k, f"
SMALL = {"d": {"keys": ["a", "b"]}, "k": {"keys": [1, 2]}}


@pytest.mark.parametrize("groups", CASES)
def test_margins_are_those_of_sql(groups: str) -> None:
    count, mean = asked(f"SELECT d, k, f, COUNT(*), AVG(x) FROM tests GROUP BY {groups}")
    names = ("d", "k", "f")
    expected = [key for margin in CASES[groups] for key in kept(names, margin)]
    for release in (count, mean):
        keys = [tuple(row.keys.values()) for row in release.rows]
        assert len(keys) == len(expected)
        assert set(keys) == set(expected)
        assert release.price.epsilon <= 1.0
    cells = {tuple(row.keys[name] for name in names): row.value for row in asked(FINEST)[0].rows}
    values = {tuple(row.keys[name] for name in names): row.value for row in count.rows}
    for key in expected:
        over = (KEYS[name] if one == "total" else [one] for name, one in zip(names, key, strict=True))
        assert values[key] == sum(cells[cell] for cell in itertools.product(*over))


@pytest.mark.parametrize("groups", ["GROUPING SETS (d, k)", "GROUPING SETS ((d, k), d)"])
def test_margins_without_their_cells_say_so_and_keep_no_other_numbers(groups: str) -> None:
    """Of 2·2 cells there are as many as margins of two keys: these are not taken for the cells."""
    text = f"SELECT d, k, COUNT(*) FROM tests WHERE d IN ('a', 'b') GROUP BY {groups}"
    own = PrivateTable(
        table(ROWS), policy=policy_of(columns=SMALL), ledger="sqlite://", source=SeededSource(3)
    )
    (count,) = own.sql(text, epsilon=2.0)
    hidden = "((" not in groups
    assert ("which are not shown" in count.post_processing) == hidden
    assert ("which are not shown" in json.dumps(count.to_dict())) == hidden
    if hidden:
        assert len(count.raw) == len(count.rows) == 4
        with pytest.raises(InvalidQuery):
            count.at(d="a", k="total").covariance()
        with pytest.raises(InvalidQuery, match="has margins already"):
            with_margins(count, own.policy)
    # What is asked again with its cells costs nothing, and has the same numbers.
    (again,) = own.sql(
        "SELECT d, k, COUNT(*) FROM tests WHERE d IN ('a', 'b') GROUP BY CUBE (d, k)", epsilon=2.0
    )
    assert again.repeated
    everything = {tuple(row.keys.values()): (row.value, row.interval) for row in again.rows}
    assert all(everything[tuple(row.keys.values())] == (row.value, row.interval) for row in count.rows)


def test_no_margins_and_no_cells_is_nothing() -> None:
    own = PrivateTable(table(ROWS), policy=policy_of(), ledger="sqlite://", source=SeededSource(3))
    with pytest.raises(InvalidQuery, match="`cells` of `with_margins` must be true"):
        with_margins(own.count(by=["d"], epsilon=1.0), own.policy, [], cells=False)


def test_the_question_is_that_of_the_finest_groups() -> None:
    """So the ledger repeats it for free, with or without CUBE."""
    own = PrivateTable(table(ROWS), policy=policy_of(), ledger="sqlite://", source=SeededSource(3))
    (plain,) = own.sql("SELECT d, k, COUNT(*) FROM tests GROUP BY d, k", epsilon=1.0)
    (cube,) = own.sql("SELECT d, k, COUNT(*) FROM tests GROUP BY CUBE (d, k)", epsilon=1.0)
    assert cube.repeated
    assert cube.text == plain.text
    assert cube.rows == with_margins(plain, own.policy).rows


def test_a_head_is_that_of_the_alias_in_margins_too() -> None:
    band = "CASE WHEN x < 3 THEN 'low' ELSE 'high' END AS band"
    (count,) = asked(f"SELECT d AS ward, {band}, COUNT(*) FROM tests GROUP BY CUBE (ward, band)")
    assert count.totals == {"ward": "total", "band": "total"}
    assert count.rows[-1].keys == {"ward": "total", "band": "total"}
    assert count.pivot(down=["ward"]).record.totals == count.totals


REFUSED = {
    "SELECT d, COUNT(*) FROM tests GROUP BY CUBE ()": "Line 1, column 40: CUBE needs columns",
    "SELECT d, COUNT(*) FROM tests GROUP BY CUBE (d), ROLLUP (k)": (
        "Line 1, column 50: GROUP BY may have one CUBE, ROLLUP or GROUPING SETS. Leave one out."
    ),
    "SELECT d, COUNT(*) FROM tests GROUP BY k, ROLLUP (d), CUBE ()": (
        "Line 1, column 55: GROUP BY may have one"
    ),
    "SELECT d, COUNT(*) FROM tests GROUP BY CUBE (d, d)": "GROUP BY names `d` twice",
    "SELECT d, COUNT(*) FROM tests GROUP BY d, CUBE (d)": "GROUP BY names `d` twice",
    "SELECT d, COUNT(*) FROM tests GROUP BY CUBE ((d, k))": "a column is expected here",
    "SELECT d, COUNT(*) FROM tests GROUP BY CUBE (d + 1)": "'+'",
    "SELECT d, COUNT(*) FROM tests GROUP BY CUBE (ROLLUP (d))": "",
    "SELECT d, COUNT(*) FROM tests GROUP BY d WITH CUBE": "CUBE is not supported",
    **{
        f"SELECT d, COUNT(*) FROM tests GROUP BY {groups}": refusal
        for groups, refusal in {
            "GROUPING SETS ()": "",
            "GROUPING SETS (())": "Line 1, column 40: GROUPING SETS needs columns. Write GROUPING SETS (…)",
            "GROUPING SETS ((d), d)": "Line 1, column 60: GROUPING SETS names (d) twice",
            "GROUPING SETS ((), (), d)": "Line 1, column 40: GROUPING SETS names () twice",
            "GROUPING SETS ((d, k), (k, d))": "Line 1, column 64: GROUPING SETS names (k, d) twice",
            "GROUPING SETS ((d, d))": "Line 1, column 59: GROUP BY names `d` twice",
            "d, GROUPING SETS ((k, d))": "Line 1, column 62: GROUP BY names `d` twice",
            "GROUPING SETS (d), k, d": "Line 1, column 62: GROUP BY names `d` twice",
            "GROUPING SETS ((d), (k)), CUBE (f)": "Line 1, column 66: GROUP BY may have one CUBE, ROLLUP or",
            "CUBE (f), GROUPING SETS (d)": "Line 1, column 50: GROUP BY may have one",
            "GROUPING SETS (d), GROUPING SETS (k)": "Line 1, column 59: GROUP BY may have one",
            "GROUPING SETS (CUBE (d), ROLLUP (k))": "Line 1, column 73: GROUPING SETS names () twice",
            "GROUPING SETS (ROLLUP (d), d)": "Line 1, column 67: GROUPING SETS names (d) twice",
            "GROUPING SETS (ROLLUP (d, d))": "Line 1, column 66: GROUP BY names `d` twice",
            "d, GROUPING SETS (ROLLUP (d))": "Line 1, column 66: GROUP BY names `d` twice",
            "GROUPING SETS (ROLLUP ())": "Line 1, column 40: ROLLUP needs columns",
            "GROUPING SETS (ROLLUP ((d, k)))": "a column is expected here",
            "ROLLUP (GROUPING SETS (d))": "",
            "GROUPING SETS (d, GROUPING SETS (k))": "Line 1, column 58: GROUPING SETS is not supported",
            "GROUPING SETS (((d, k)), d)": "a column is expected here",
            "GROUPING SETS ((d,), k)": "Line 1, column 57: ',' is not supported",
            "GROUPING SETS (d, k,)": "",
            "GROUPING SETS (d + 1)": "'+'",
            "(d, k)": "a column is expected here",
        }.items()
    },
    "SELECT d, k, COUNT(*) AS n FROM tests GROUP BY GROUPING SETS (d, k) LIMIT 1": "is not followed by",
    "SELECT d, k, MEDIAN(x) FROM tests GROUP BY GROUPING SETS (d, k)": "column 14: MEDIAN has no margins",
    "SELECT d, z, COUNT(*) FROM tests GROUP BY GROUPING SETS (d, z)": (
        "Line 1, column 43: groups with few rows are missing where keys are private, so that there"
    ),
    "SELECT d, COUNT(*) AS n FROM tests GROUP BY CUBE (d) ORDER BY n": "is not followed by HAVING",
    "SELECT d, COUNT(*) AS n FROM tests GROUP BY CUBE (d) HAVING n > 1": "is not followed by HAVING",
    "SELECT d, COUNT(*) AS n FROM tests GROUP BY ROLLUP (d) LIMIT 1": "is not followed by HAVING",
    "SELECT d, MEDIAN(x) FROM tests GROUP BY CUBE (d)": (
        "Line 1, column 11: MEDIAN has no margins. CUBE, ROLLUP or GROUPING SETS goes with COUNT, SUM, "
        "AVG, VAR_POP, STDDEV_POP, COVAR_POP and CORR."
    ),
    "SELECT d, COUNT(*), median(x) AS m FROM tests GROUP BY CUBE (d)": (
        "Line 1, column 21: MEDIAN has no margins."
    ),
    "SELECT d, COUNT(DISTINCT id) FROM tests GROUP BY ROLLUP (d)": (
        "Line 1, column 11: COUNT(DISTINCT) has no margins."
    ),
    "SELECT z, COUNT(*) FROM tests GROUP BY CUBE (z)": (
        "Line 1, column 40: groups with few rows are missing where keys are private, so that there"
    ),
}

PRIVATE = {
    "columns": {**COLUMNS, "z": {"keys": "private", "type": "text"}},
    "unit": {"id": "id", "max_rows": 2, "max_groups": 2},
    "caps": {"epsilon": 9.0, "delta": 1e-5},
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_before_anything_is_paid(text: str) -> None:
    with pytest.raises(InvalidQuery) as error:
        select_statement(text, policy_of(**PRIVATE), StatementTerms(1.0, delta=1e-6 if "z" in text else None))
    assert REFUSED[text] in str(error.value)
    assert str(error.value).startswith("Line 1, column ")
    assert "`margins`" not in str(error.value)


def test_errors_promised_are_those_of_what_is_shown() -> None:
    """Noise of one cell alone is caught: of (k) each number is a sum of 3·2 cells, of () one of 12."""
    policy = policy_of()
    hidden = {"GROUPING SETS ((d, f), k)": ("(k)", 6), "GROUPING SETS ((d, k, f), (k))": ("", 1),
              "GROUPING SETS ((d), (k, f), ())": ("()", 12)}  # fmt: skip
    for groups, (kept_there, added) in hidden.items():
        text = f"SELECT d, k, f, COUNT(*) AS n, AVG(x) AS m FROM tests GROUP BY {groups}"
        statement = select_statement(text, policy, StatementTerms(1.0))
        count, mean = statement.previews(policy)
        # P(|sum of so many noises| > error) ≤ 5 %, and more below it, by the convolution of their law.
        steps = np.arange(-400, 401)
        chances = own = np.exp(-np.abs(steps) / 2.0) * np.tanh(0.25)
        for _ in range(added - 1):
            chances = np.convolve(chances, own, mode="same")
        beyond = [float(chances[np.abs(steps) > far].sum()) for far in (count.error, count.error - 1)]
        assert beyond[0] <= 0.05 < beyond[1]
        assert (f"in {kept_there}, whose numbers are sums over {added} groups" in count.remark) == (added > 1)
        assert ("for each group" in count.remark) == (added == 1)
        assert count.price == preview(statement.queries, policy=policy)[0].price
        wider = preview(statement.queries, policy=policy)[1].error
        assert mean.error > wider if added > 1 else mean.error == wider
        if added > 1:
            with pytest.raises(
                InvalidQuery, match=r"column \d+: `error` is that of the groups by .*, which GROU"
            ):
                select_statement(text, policy, StatementTerms(error=10.0))
        else:
            assert select_statement(text, policy, StatementTerms(error=10.0)).queries


def test_queries_do_not_keep_margins() -> None:
    with pytest.raises(
        InvalidQuery, match="must not have HAVING, ORDER BY, LIMIT, OFFSET, CUBE, ROLLUP or GROUPING SETS"
    ):
        sql_queries("SELECT d, COUNT(*) FROM tests GROUP BY CUBE (d)", policy_of(), 1.0)


def test_the_command_shows_them_in_a_dry_run_and_an_answer(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(
        'dataset = "tests"\nneighbours = "add-remove-one"\ncaps = { epsilon = 9.0 }\n'
        '[columns]\nd = { keys = ["a", "b", "c"] }\nk = { keys = [1, 2] }\n'
    )
    (tmp_path / "data.csv").write_text("d,k\n" + "".join(f"{row['d']},{row['k']}\n" for row in ROWS))
    (tmp_path / "release.toml").write_text(
        'policy = "policy.toml"\ndata = "data.csv"\nledger = "ledger.db"\n'
        '[[query]]\nname = "n"\nstatistic = "count"\nepsilon = 1.0\n'
    )
    text = "SELECT d, k, COUNT(*) FROM tests GROUP BY CUBE (d, k)"
    given = ("sql", text, "--in", tmp_path / "release.toml", "--epsilon", "1")
    assert "one over k of them carries k noises" in leakcap(*given, "--preview").stdout
    assert (
        "Margins are sums"
        not in leakcap("sql", text.replace("CUBE (d, k)", "d, k"), *given[2:], "--preview").stdout
    )
    assert leakcap(*given, "--dry-run").stdout.count("total") >= 2
    (count,) = json.loads(leakcap(*given, "--json").stdout)["releases"]
    assert len(count["values"]) == 12
    assert count["totals"] == {"d": "total", "k": "total"}


def test_correlations_have_margins_of_their_noisy_sums() -> None:
    """The rows are the groups, which are paid for once, then the margins."""
    rows = [{"id": i, "d": "ab"[i % 2], "k": 1 + i % 2, "x": i % 9, "y": 2 + i % 6} for i in range(400)]
    policy = policy_of(caps={"epsilon": 1e6})
    with PrivateTable(table(rows), policy=policy, ledger="sqlite://") as private:
        (found,) = private.sql("SELECT d, k, CORR(x, y) AS r FROM tests GROUP BY CUBE (d, k)", epsilon=1e4)
        (plain,) = private.sql("SELECT d, k, CORR(x, y) AS r FROM tests GROUP BY d, k", epsilon=1e4)
    assert plain.repeated
    assert found.rows[: len(plain.rows)] == plain.rows
    own = {(row.keys["d"], row.keys["k"]): row for row in found.rows}
    assert len(own) == 3 * 2 + 3 + 2 + 1
    xs, ys = [row["x"] for row in rows], [row["y"] for row in rows]
    exact = float(np.corrcoef(xs, ys)[0, 1])
    low, high = own["total", "total"].interval
    assert low <= exact <= high < low + 0.1
    assert "total" in str(found)
