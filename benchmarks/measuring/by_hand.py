"""Every statistic, asked of leakcap and written by hand in SQL; every kind of key, and filters.

`asked` has the fields of a query that a statistic needs, `by_hand` the SQL that a person would write for the
same numbers, without noise. Both are looked up by the statistic's name: one that is not here stops the
benchmark, and `tests/release/test_by_hand.py` says so before.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from leakcap.release import load_policy
from leakcap.release.statistics import statistics

__all__ = ["CASES", "FILTERS", "KEYS", "TABLE", "Case", "cases", "rules"]

GROUPS, STATES, DAYS, GRADES, KINDS, WARDS = 100, 50, 365, 4, 8, 12
BINS, LOW, HIGH = 20, 0.0, 100.0
FIRST_DAY = datetime.date(2025, 1, 1)

TABLE = f"""
SELECT (hash(i) % greatest({{rows}} // 4, 1))::BIGINT AS id, (hash(7 * i + 1) % {GROUPS})::INTEGER AS g,
       'state ' || (hash(3 * i + 2) % {STATES}) AS t,
       DATE '{FIRST_DAY}' + (hash(11 * i + 7) % {DAYS})::INTEGER AS d,
       (hash(17 * i + 9) % {GRADES})::INTEGER AS k,
       'kind ' || (hash(23 * i + 4) % {KINDS}) AS a, (hash(29 * i + 6) % {WARDS})::INTEGER AS b,
       (hash(13 * i + 5) % 1000003) / 10000.03 AS x, (hash(19 * i + 3) % 1000003) / 10000.03 AS y
FROM range({{rows}}) AS t (i)
"""
_STATES = tuple(f"state {n}" for n in range(STATES))
_DATES = tuple(str(FIRST_DAY + datetime.timedelta(days=n)) for n in range(DAYS))
_COLUMNS = {
    "g": {"keys": list(range(GROUPS))},
    "t": {"keys": list(_STATES)},
    "d": {"keys": list(_DATES)},
    "k": {"keys": list(range(GRADES))},
    "a": {"keys": [f"kind {n}" for n in range(KINDS)]},
    "b": {"keys": list(range(WARDS))},
    "x": {"bounds": [LOW, HIGH]},
    "y": {"bounds": [LOW, HIGH]},
}

KEYS: dict[str, tuple[str, ...]] = {
    "none": (),
    "integer": ("g",),
    "text": ("t",),
    "date": ("d",),
    "two": ("t", "k"),
}
FILTERS: dict[str, str | None] = {
    "": None,
    "number": "x > 25",
    "text": "t <> 'state 7'",
    "date": f"d <> '{FIRST_DAY}'",
    "list": "k IN (0, 1, 3)",
}
_BIN = f"least(greatest(floor((x - {LOW}) / {(HIGH - LOW) / BINS}), 0), {BINS - 1})::INTEGER"


@dataclass(frozen=True)
class Case:
    """One statistic: a query's own fields, the SQL by hand of a cell's numbers, and the targets.

    `split` are further keys of the SQL by hand; `bare` and `grouped` are the targets without keys and with.
    `people` says that people are the unit, not rows.
    """

    asked: dict[str, Any]
    by_hand: str
    split: tuple[str, ...] = ()
    bare: float = 1.25
    grouped: float = 1.25
    people: bool = False

    def sql(self, by: tuple[str, ...], where: str | None) -> str:
        """The query, with `{source}` where the table is read."""
        keys = [*by, *self.split]
        words = ["SELECT", ", ".join([*keys, self.by_hand]), "FROM {source}"]
        words += ["WHERE", where] if where else []
        words += ["GROUP BY", ", ".join(keys)] if keys else []
        return " ".join(words)

    def target(self, by: tuple[str, ...]) -> float:
        """The most that leakcap may take beside it."""
        return self.grouped if by else self.bare


_X, _XY = {"column": "x"}, {"columns": ("x", "y")}
_BINNED = {**_X, "bins": BINS}
_WEIGHTED = {**_X, "design_weight": "y"}
_PRODUCTS = "COVAR_POP(x, y), VAR_POP(x), VAR_POP(y)"

_CUT = "list_sum([greatest(n, 10000) - 10000 for n in map_values(histogram(id))])"
_ROWS_OF_ONE = "list_aggregate(map_values(histogram(id)), 'quantile_cont', 0.95)"

CASES: dict[str, Case] = {
    "count": Case({}, "COUNT(*)"),
    "sum": Case(_X, "SUM(x)"),
    "mean": Case(_X, "AVG(x)", bare=1.6),
    "variance": Case(_X, "VAR_POP(x)", bare=1.8, grouped=1.8),
    "standard_deviation": Case(_X, "STDDEV_POP(x)", bare=1.8, grouped=1.8),
    "covariance": Case(_XY, _PRODUCTS, bare=1.8, grouped=1.8),
    "correlation": Case(_XY, "CORR(x, y)", bare=1.8, grouped=1.8),
    "histogram": Case(_BINNED, "COUNT(*)", (_BIN,), bare=1.2, grouped=1.2),
    "cumulative": Case(_BINNED, "COUNT(*)", (_BIN,), bare=1.2, grouped=1.2),
    "contingency": Case({"columns": ("a", "b")}, "COUNT(*)", ("a", "b"), bare=1.2, grouped=1.2),
    "top": Case({"column": "a", "top": 3}, "COUNT(*)", ("a",)),
    "median": Case(_X, "MEDIAN(x)", bare=1.2, grouped=1.2),
    "quantiles": Case({**_X, "quantiles": (0.1, 0.5, 0.9)}, "QUANTILE_CONT(x, [0.1, 0.5, 0.9])"),
    "interquartile_range": Case(_X, "QUANTILE_CONT(x, [0.25, 0.75])"),
    "bounds": Case(_X, "COUNT(*)", ("sign(x), floor(log2(abs(nullif(x, 0))))",)),
    "ratio": Case({"when": "x > 50"}, "AVG(CASE WHEN x > 50 THEN 1 ELSE 0 END)"),
    "formula_sum": Case({"formula": "2 * x - y", "range": (-100.0, 200.0)}, "SUM(2 * x - y)"),
    "rows_cut": Case({"up_to": 20_000}, _CUT, bare=1.5, grouped=1.5, people=True),
    "rows_per_person": Case({"up_to": 500}, _ROWS_OF_ONE, people=True),
    "weighted_mean": Case(_WEIGHTED, "SUM(x * y) / SUM(y)", bare=1.8, grouped=1.8),
    "weighted_ratio": Case({**_WEIGHTED, "over": "y"}, "SUM(x * y) / SUM(y * y)", bare=1.8, grouped=1.8),
    "weighted_total": Case(_WEIGHTED, "SUM(x * y)", bare=1.8, grouped=1.8),
    "distinct": Case({}, "COUNT(DISTINCT id)", people=True),
}


def cases() -> dict[str, Case]:
    """The case of every statistic that there is. Raises `KeyError` for one that nobody wrote by hand yet."""
    return {name: CASES[name] for name in statistics()}


def rules(*, people: bool) -> Any:
    """The policy; of people every row counts, so that both sides do the same."""
    unit = {"unit": {"id": "id", "max_rows": 10_000, "max_groups": 10_000}} if people else {}
    base = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6}}
    return load_policy({**base, **unit, "columns": _COLUMNS})
