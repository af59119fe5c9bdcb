"""Decimals that a query computes or chooses itself are as exact as those that the policy declares."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow
import pytest

from leakcap.errors import InvalidQuery
from leakcap.release import Query, attach, load_policy
from leakcap.release.planning.plan import plan_query, text_of
from leakcap.release.sql.select import StatementTerms, select_statement
from release.world import exact, planned

COLUMNS: dict[str, Any] = {
    "net": {"type": "decimal", "places": 2, "bounds": [0, 100]},
    "tax": {"type": "decimal", "places": 1, "bounds": [0, 50]},
    "pieces": {"type": "integer", "bounds": [0, 9]},
    "share": {"bounds": [0, 1]},
}
Cells = tuple[Decimal | None, Decimal | None, int | None]


def policy_of(**columns: Any) -> Any:
    caps = {"epsilon": 100.0}
    content = {"dataset": "d", "neighbours": "add-remove-one", "caps": caps, "columns": COLUMNS | columns}
    return load_policy(content)


def rows(size: int = 150) -> list[Cells]:
    """Decimals near those that a condition asks for; some are missing."""
    draw = random.Random(19)

    def one(places: int, most: int) -> Decimal | None:
        return None if draw.random() < 0.1 else Decimal(draw.randrange(most)).scaleb(-places)

    found: list[Cells] = [(Decimal("0.1"), Decimal("0.2"), 3), (Decimal("0.70"), Decimal("0.1"), 7)]
    for _ in range(size):
        pieces = None if draw.random() < 0.1 else draw.randrange(10)
        found.append((one(2, 120), one(1, 12), pieces))
    return found


def known(made: Callable[..., Any]) -> Callable[[Cells, list[int]], Decimal | None]:
    """Of what is read; None where one of it is missing."""

    def of(row: Cells, read: list[int]) -> Decimal | None:
        values = [row[place] for place in read]
        return None if None in values else Decimal(made(*values))

    return of


NET, TAX, PIECES = 0, 1, 2
# What a query writes, what it is worked out from, and how; the decimal places that it has.
EXACT: dict[str, tuple[list[int], Callable[..., Any], int]] = {
    "net + tax": ([NET, TAX], lambda n, t: n + t, 2),
    "net - tax": ([NET, TAX], lambda n, t: n - t, 2),
    "net * tax": ([NET, TAX], lambda n, t: n * t, 3),
    "net * pieces": ([NET, PIECES], lambda n, p: n * p, 2),
    "net * 1.19": ([NET], lambda n: n * Decimal("1.19"), 4),
    "(-net)": ([NET], lambda n: -n, 2),
    "(net + tax) * 0.5 - 3": ([NET, TAX], lambda n, t: (n + t) / 2 - 3, 3),
    "ABS(net - tax)": ([NET, TAX], lambda n, t: abs(n - t), 2),
    "ABS(net - 0.7) * 3": ([NET], lambda n: abs(n - Decimal("0.7")) * 3, 2),
}
CHOSEN: dict[str, tuple[Callable[[Cells], Any], int]] = {
    "NULLIF(net, 0.1)": (lambda row: None if row[NET] == Decimal("0.1") else row[NET], 2),
    "COALESCE(net, 0.005)": (lambda row: Decimal("0.005") if row[NET] is None else row[NET], 3),
    "COALESCE(net + tax, 1)": (lambda row: 1 if None in row[:2] else row[NET] + row[TAX], 2),  # type: ignore[operator]
    "CASE WHEN pieces > 3 THEN net ELSE 0.25 END": (
        lambda row: row[NET] if row[PIECES] is not None and row[PIECES] > 3 else Decimal("0.25"),
        2,
    ),
    "CASE WHEN net <= 0.3 THEN tax WHEN pieces = 2 THEN pieces END": (
        lambda row: (
            row[TAX]
            if row[NET] is not None and row[NET] <= Decimal("0.3")
            else (2 if row[PIECES] == 2 else None)
        ),
        1,
    ),
}
DOUBLES = ["net / 3", "net * share", "CASE WHEN pieces > 3 THEN net ELSE share END", "net * 1e12"]
DOUBLES += ["CASE WHEN pieces > 3 THEN 1.5 ELSE 0.5 END", "COALESCE(share, 0.5)"]


def worked(text: str, given: list[Cells]) -> list[Decimal]:
    """The numbers that there are, in decimals."""
    if text in EXACT:
        read, made, _ = EXACT[text]
        found = [known(made)(row, read) for row in given]
    else:
        found = [CHOSEN[text][0](row) for row in given]
    return [Decimal(one) for one in found if one is not None]


def table(given: list[Cells]) -> pyarrow.Table:
    types = (pyarrow.decimal128(18, 2), pyarrow.decimal128(18, 1), pyarrow.int64())
    columns = zip(("net", "tax", "pieces"), types, zip(*given, strict=True), strict=True)
    found = {name: pyarrow.array(values, type_) for name, type_, values in columns}
    return pyarrow.table(found | {"share": [0.5] * len(given)})


def asked(text: str, policy: Any, **fields: Any) -> Any:
    return plan_query(
        Query(**{"name": "q", "statistic": "sum", "column": text, "epsilon": 1.0, **fields}), policy
    )


@pytest.mark.parametrize("text", [*EXACT, *CHOSEN])
def test_sums_and_conditions_are_those_of_the_decimals(text: str) -> None:
    policy, given, places = policy_of(), rows(), (EXACT | CHOSEN)[text][-1]
    engine, values = attach(table(given)), worked(text, given)
    plan = asked(text, policy)
    assert plan.grid is not None
    assert plan.grid.places == places
    assert exact(plan, engine) == [[int(sum(values).scaleb(places))]]
    name, tested = plan.query.column.replace('"', '""'), 0
    for mark in sorted(set(values))[:6]:
        for word, holds in (
            ("<=", lambda a, b: a <= b),
            ("=", lambda a, b: a == b),
            (">", lambda a, b: a > b),
        ):
            for said in (name, text) if text not in CHOSEN and "ABS" not in text else (name,):
                counted = planned(policy, statistic="count", where=f'"{said}" {word} {mark:f}')
                assert exact(counted, engine) == [[sum(holds(one, mark) for one in values)]], (
                    said,
                    word,
                    mark,
                )
                tested += 1
    assert tested >= 18


@pytest.mark.parametrize("text", DOUBLES)
def test_what_is_no_decimal_of_the_policys_stays_a_double(text: str) -> None:
    plan = asked(text, policy_of())
    assert plan.grid is not None
    assert plan.grid.places is None


@pytest.mark.parametrize("text", [text for text in EXACT if text[:4] == "net " and text.count(" ") == 2])
def test_what_is_written_is_what_the_policy_declares_and_nothing_that_rounds_more(text: str) -> None:
    """One text has one answer, whether the policy has the column or not."""
    left, sign, right = text.split()
    source = {"from": [left, float(right) if right[0].isdigit() else right], "compute": sign}
    given = rows()
    total = sum(worked(text, given))
    own = asked(text, policy_of(own=source))
    assert own.query.column == "own"
    most = own.policy.columns["own"].bounds
    coarse = policy_of(
        own={**source, "type": "decimal", "places": 1, "bounds": [round(end, 1) for end in most]}
    )
    for policy in (policy_of(), policy_of(own=source), coarse):
        plan = asked(text, policy)
        assert plan.grid is not None
        assert Decimal(exact(plan, attach(table(given)))[0][0]).scaleb(-(plan.grid.places or 0)) == total
    assert asked(text, coarse).query.column == asked(text, policy_of()).query.column != "own"


def test_a_policys_column_that_rounds_is_not_taken_for_sql() -> None:
    billed = {"from": ["net", 1.19], "compute": "*", "type": "decimal", "places": 2}
    policy = policy_of(billed=billed)
    cents = table([(Decimal("0.10"), None, None)] * 100)
    (written,) = select_statement("SELECT SUM(net * 1.19) FROM d", policy, StatementTerms(1.0)).queries
    assert exact(plan_query(written, policy), attach(cents)) == [[119_000]]
    rounded = (Decimal("0.10") * Decimal("1.19")).quantize(Decimal("0.01"), ROUND_HALF_UP)
    assert exact(asked("billed", policy), attach(cents)) == [[int(rounded * 100) * 100]]


def test_a_median_of_what_is_chosen_is_a_decimal() -> None:
    plan = asked("COALESCE(net, 0.5)", policy_of(), statistic="median")
    assert plan.policy.columns[plan.query.column].scale == 2
    assert 'with decimals net (2), "CASE WHEN net IS NULL THEN 0.5 ELSE net END" (2)' in text_of(plan)


NULLED: dict[str, int] = {"SUM(NULLIF(n, 2))": 3 + 4, "COUNT(NULLIF(n, 2))": 2, "SUM(NULLIF(n, 2.0))": 7}
NULLED |= {
    "SUM(NULLIF(EXTRACT(MONTH FROM day), 2))": 5 + 12,
    "COUNT(NULLIF(EXTRACT(MONTH FROM day), 12))": 4,
}


def of_integers() -> Any:
    columns = {
        "n": {"bounds": [0, 9], "keys": [0, 1, 2, 3, 4]},
        "day": {"bounds": ["2024-01-01", "2024-12-31"]},
    }
    return policy_of(**columns)


@pytest.mark.parametrize("text", NULLED)
def test_nullif_takes_integers_and_parts_of_dates(text: str) -> None:
    data = pyarrow.table(
        {
            "n": pyarrow.array([2, 2, 3, 4, None], pyarrow.int64()),
            "day": [f"2024-{month:02}-01" for month in (2, 2, 5, 12, 2)],
        }
    )
    policy = of_integers()
    (query,) = select_statement(f"SELECT {text} FROM d", policy, StatementTerms(1.0)).queries
    plan = plan_query(query, policy)
    (total,) = exact(plan, attach(data))[0]
    assert (total if plan.grid is None else plan.grid.value(total)) == NULLED[text]


@pytest.mark.parametrize("constant", ["2.5", "1e30"])
def test_nullif_refuses_other_numbers_in_its_own_words(constant: str) -> None:
    with pytest.raises(InvalidQuery, match="NULLIF of `n`, which has integers as keys, takes an integer"):
        select_statement(f"SELECT SUM(NULLIF(n, {constant})) FROM d", of_integers(), StatementTerms(1.0))


@pytest.mark.parametrize("name", ["net + tax", "(net + tax)", "(net+tax)"])
def test_a_computed_column_is_cut_and_compared_by_any_of_its_texts(name: str) -> None:
    policy = policy_of()
    plans = [
        planned(policy, statistic="count", by=(one,), cut=((one, (0.0, 0.3, 150.0)),), where=f'"{one}" > 0')
        for one in (name, "(net + tax)")
    ]
    assert text_of(plans[0]) == text_of(plans[1])
    values = [one for one in worked("net + tax", rows()) if one > 0]
    below = sum(one < Decimal("0.3") for one in values)
    assert exact(plans[0], attach(table(rows()))) == [[below, len(values) - below]]
