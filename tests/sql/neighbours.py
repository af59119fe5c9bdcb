"""Random statements over the whole grammar, and pairs of neighbouring tables on which each counts exactly.

Many small tables, the `worlds`, stand in one: every world has people of its own, and a column says which it
is. What a statement finds is split by that column too, so that one statement counts in all of them; a second
one counts after one person of each world has left, or has been replaced: as many pairs as there are worlds.
Of each pair the difference of the exact integers, as they are before noise, is held against what the plan
claims: per noisy vector in L0, L1, L2 and L∞, and for all of them together against the price.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow

from engines.words import COLUMNS, DOMAINS, table
from leakcap.errors import InvalidQuery
from leakcap.release import Engine, Policy, attach
from leakcap.release.columns.cells import Cells, key_axis
from leakcap.release.measurements.measurement import Measurement, NoisyMeasurement
from leakcap.release.measurements.quantiles import QuantileMeasurement
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import Found, scans_of
from leakcap.release.sql.select import StatementTerms, select_statement
from leakcap.sampling.rational import printed
from release.world import policy_of

__all__ = ["WORLDS", "Pairs", "check_pairs", "pairs_of", "random_policy", "random_statement"]

WORLDS = 250
_TABLES = {
    "people": {"id": "id", "columns": {"sex": {"keys": ["f", "m"]}, "born": {"bounds": [1900.0, 2030.0]}}}
}
_NUMBERS = ("x", "y", "v", "x_over_w", "m_twice", "nights")
_KEYS = (
    *(
        "f",
        "x_band",
        "d_band",
        "d_month",
        "d_of_weekday",
        "t_year",
        "t_quarter",
        "z_week",
        "s_prefix",
        "s_group",
    ),
    *("n_group", "x_less", "d_until", "s_same", "DATE_TRUNC('month', t)", "DATE_TRUNC('quarter', d)"),
    *("EXTRACT(ISODOW FROM z)", "EXTRACT(YEAR FROM d)", "EXTRACT(MONTH FROM t)", "s", "n"),
)
_CONDITIONS = (
    *("x > 18", "x <= 0", "NOT (y = 120)", "x BETWEEN 0 AND 64.5", "v IS NULL", "f", "f IS NOT NULL"),
    *("s_prefix = 'C5'", "s_group IN ('one', 'other')", "n > 0", "d >= DATE '2024-02-29'", "d IS NULL"),
    *(
        "EXTRACT(YEAR FROM t) = 2024",
        "EXTRACT(MONTH FROM z) IN (1, 2)",
        "x_band <> '65+'",
        "d_month < '2024-06'",
    ),
    *(
        "DATE_TRUNC('week', d) <= DATE '2024-01-01'",
        "DATE_TRUNC('year', t) = TIMESTAMP '2024-01-01 00:00:00'",
    ),
    *("(bit_count(n_group_code & 3) + bit_count(n_group_code & 4)) % 2 = 1", "x_less"),
)


def random_policy(draw: random.Random) -> Policy:
    """Either relation; a row or a person, of whom one to four rows in as many groups are used."""
    relation = draw.choice(["add-remove-one", "replace-one"])
    content: dict[str, Any] = {"neighbours": relation}
    if relation == "replace-one":
        content["rows"] = 4
    columns = {**COLUMNS, "v": {"bounds": [-5.0, 3.0], "fill": 1.0}, "n_group_code": {"keys": [*range(8)]}}
    columns["world"] = {"keys": [*range(WORLDS)]}
    if draw.random() < 0.85:
        most = draw.randrange(1, 5)
        groups = draw.choice([None, draw.randrange(1, most + 1)])
        content["unit"] = {"id": "id", "max_rows": most, "max_groups": groups}
        content["unit"] |= {"row": "key"} if draw.random() < 0.3 else {}
        content["tables"] = _TABLES
    return policy_of(columns=columns, caps={"epsilon": 1e6, "delta": 1e-3}, **content)


def _condition(draw: random.Random, depth: int) -> str:
    if depth == 0 or draw.random() < 0.4:
        return draw.choice(_CONDITIONS) if draw.random() < 0.9 else f"{_case(draw)} = 'one'"
    left, right = _condition(draw, depth - 1), _condition(draw, depth - 1)
    return draw.choice([f"({left} AND {right})", f"({left} OR {right})", f"NOT ({left})"])


def _case(draw: random.Random) -> str:
    keys = ("'one'", "'two'", "NULL")
    arms = " ".join(f"WHEN {draw.choice(_CONDITIONS)} THEN {draw.choice(keys)}" for _ in range(2))
    other = draw.choice(("", "ELSE 'it''s'"))
    return f"CASE {arms} WHEN {draw.choice(_CONDITIONS)} THEN 'one' {other} END"


def _aggregate(draw: random.Random) -> str:
    one, other = draw.sample(_NUMBERS, 2)
    if draw.random() < 0.4:
        return _of_some(draw, one, other)
    return draw.choice(
        [
            *("COUNT(*)", f"COUNT({one})", "COUNT(d)", "COUNT(DISTINCT id)", f"SUM({one})", f"SUM({one})"),
            *(f"AVG({one})", "AVG(f)", f"MEDIAN({one})", f"VAR_POP({one})", f"STDDEV_POP({one})"),
            *(f"COVAR_POP({one}, {other})", f"CORR({one}, {other})", f"SUM({other})", "AVG(x_less)"),
            f"PERCENTILE_CONT(0.{draw.randrange(1, 10)}) WITHIN GROUP (ORDER BY {one})",
        ]
    )


def _of_some(draw: random.Random, one: str, other: str) -> str:
    """Aggregates of what is computed, and of the rows that meet a condition."""
    condition, second = draw.sample(_CONDITIONS, 2)
    number = draw.choice(
        [
            *(f"{one} - {other}", f"{one} * 2", f"({one} + 1) / 4", f"COALESCE({one}, 3)", f"-{one}"),
            *(f"ABS({one} - {other})", f"NULLIF({one}, 0)", f"EXTRACT(MONTH FROM d) * {one}"),
            *(f"CASE WHEN {condition} THEN {one} WHEN {second} THEN {other} ELSE 1 END", "e - d"),
            *(f"CASE WHEN {condition} THEN {one} END", f"CASE WHEN {condition} THEN -2 ELSE {one} END"),
        ]
    )
    word = draw.choice(["SUM", "SUM", "AVG", "COUNT", "MEDIAN", "VAR_POP"])
    return draw.choice(
        [
            *(
                f"SUM(CASE WHEN {condition} THEN 1 ELSE 0 END)",
                f"AVG(CASE WHEN {condition} THEN 1 ELSE 0 END)",
            ),
            *(
                f"SUM(CASE WHEN {condition} THEN {one} ELSE 0 END)",
                f"COUNT(CASE WHEN {condition} THEN 1 END)",
            ),
            *(f"COUNT(DISTINCT CASE WHEN {condition} THEN id END)", f"COUNT(*) FILTER (WHERE {condition})"),
            *(f"{word}({number})", f"{word}({number})", f"{word}({number}) FILTER (WHERE {second})"),
            f"CORR({one} * 3, {other})",
        ]
    )


def random_statement(draw: random.Random) -> str:
    """A statement of the grammar of `release/sql/select.py`; the policy may still refuse what it asks."""
    asked = [_aggregate(draw) for _ in range(draw.randrange(1, 4))]
    keys = list(dict.fromkeys(draw.choice(_KEYS) for _ in range(draw.randrange(3))))
    keys = [_case(draw) if draw.random() < 0.25 else key for key in keys]
    source, condition = "tests", "" if draw.random() < 0.4 else f" WHERE {_condition(draw, 2)}"
    way = draw.randrange(4)
    if way == 1:
        source = f"(SELECT * FROM tests WHERE {_condition(draw, 1)}) AS u"
    elif way == 2:
        source = "tests AS v JOIN people p ON v.id = p.id"
        keys += ["p.sex"] if draw.random() < 0.7 else []
        asked += [] if draw.random() < 0.7 else ["SUM(p.born)"]
    lead = "" if way != 3 else f"WITH u AS (SELECT * FROM tests WHERE {_condition(draw, 1)}) "
    source = "u" if way == 3 else source
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    shown = (
        f" ORDER BY {draw.randrange(1, len(asked) + 1)} DESC LIMIT 2" if keys and draw.random() < 0.3 else ""
    )
    return f"{lead}SELECT {', '.join(asked)} FROM {source}{condition}{grouped}{shown}"


Row = dict[str, Any]
Pools = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Pairs:
    """Two states of the data and of the table of people: in each world they differ by one person."""

    before: tuple[list[Row], list[Row]]
    after: tuple[list[Row], list[Row]]

    def engines(self) -> Iterator[Engine]:
        """DuckDB on one state, then on the other."""
        for rows, people in (self.before, self.after):
            yield attach(_arrow(rows), tables={"people": _people(people)})


_POOLS = {
    **DOMAINS,
    "v": [*DOMAINS["x"], -5.0, 3.0, 1.0],
    "n_group_code": [0, 1, 3, 7, 8, 2**40],
    "x": [*DOMAINS["x"], 120.0, 0.0],
}


def _row(draw: random.Random, pools: Pools) -> Row:
    return {name: None if draw.random() < 0.08 else draw.choice(pool) for name, pool in pools.items()}


def _person(draw: random.Random, most: int, pools: Pools) -> list[Row]:
    """Rows of one person: more than are used, and half of the time all alike, which weighs the most."""
    size = draw.choice([0, 1, most, most + 1, most + 3])
    if draw.random() < 0.5:
        return [_row(draw, pools)] * size
    return [_row(draw, pools) for _ in range(size)]


def pairs_of(
    policy: Policy, draw: random.Random, within: Mapping[str, Callable[[Any], bool]] | None = None
) -> Pairs:
    """A pair of neighbours in each world: people come, go or are replaced, with all of their rows.

    `within` says which values an engine can store.
    """
    states: tuple[tuple[list[Row], list[Row]], ...] = (([], []), ([], []))
    stores = within or {}
    pools = {
        name: [one for one in pool if name not in stores or stores[name](one)]
        for name, pool in _POOLS.items()
    }
    most = policy.rows_per_unit
    for world in range(WORLDS):
        ids = [world * 8 + place for place in range(draw.randrange(1, 4))]
        same = [(one, _person(draw, most, pools)) for one in ids[1:]]
        mine, other = _person(draw, most, pools), _person(draw, most, pools)
        if policy.id_column is None:
            mine, other = [_row(draw, pools)], [_row(draw, pools)]
        nobody = [_row(draw, pools) for _ in range(draw.randrange(2))]
        about = {one: [_about(draw) for _ in range(draw.randrange(3))] for one in ids}
        again = [_about(draw) for _ in range(draw.randrange(3))]
        for place, (rows, people) in enumerate(states):
            gone = place == 1 and policy.neighbours == "add-remove-one"
            own = [] if gone else (mine, other)[place]
            for one, theirs in [(ids[0], own), *same, (None, nobody)]:
                rows += [{**row, "id": one, "world": world, "key": at} for at, row in enumerate(theirs)]
            for one in ids:
                found = about[one] if one != ids[0] or place == 0 else [] if gone else again
                people += [{**row, "id": one} for row in found]
    return Pairs(*states)


def _about(draw: random.Random) -> dict[str, Any]:
    return {
        "sex": draw.choice(["f", "m", "x", None]),
        "born": draw.choice([1900.0, 2030.0, 1e300, float("nan")]),
    }


def _arrow(rows: Sequence[Mapping[str, Any]]) -> pyarrow.Table:
    found = table([dict(row) for row in rows])
    whole = pyarrow.int64()
    for name, type_ in {
        "v": pyarrow.float64(),
        "n_group_code": whole,
        "id": whole,
        "world": whole,
        "key": whole,
    }.items():
        found = found.append_column(name, pyarrow.array([row[name] for row in rows], type_))
    return found


def _people(rows: Sequence[Mapping[str, Any]]) -> pyarrow.Table:
    types = {"id": pyarrow.int64(), "sex": pyarrow.string(), "born": pyarrow.float64()}
    return pyarrow.table(
        {name: pyarrow.array([row[name] for row in rows], one) for name, one in types.items()}
    )


def plans_of(text: str, policy: Policy, noise: str) -> list[Plan]:
    """The plans of a statement. Raises `InvalidQuery` where the policy refuses it."""
    delta = 1e-6 if policy.id_column is not None or "GROUP BY" in text else None
    try:
        asked = select_statement(text, policy, StatementTerms(3.0, noise=noise)).queries
    except InvalidQuery as error:
        if "private" not in str(error):
            raise
        asked = select_statement(text, policy, StatementTerms(3.0, noise=noise, delta=delta)).queries
    return [plan_query(one, policy) for one in asked]


def _split(plan: Plan) -> Plan:
    """The same plan, its cells those of every world: no number, grid or claim of it is made anew."""
    by = len(plan.query.by)
    query = replace(plan.query, by=(*plan.query.by, "world"))
    axes = plan.cells.axes
    world = key_axis("world", plan.policy, query)
    return replace(plan, query=query, cells=Cells((*axes[:by], world, *axes[by:])))


Totals = list[dict[tuple[Any, ...], int]]


def _worlds(plan: Plan, found: Found) -> list[list[Totals]]:
    """For each part and world what each cell adds up to, zeros left out."""
    by = len(plan.query.by) - 1
    worlds: list[Any] = []
    for totals in found.totals:
        each: list[dict[tuple[Any, ...], int]] = [{} for _ in range(WORLDS)]
        if plan.cells.open:
            codes = [column.tolist() for column in found.codes]
            for *key, total in zip(*codes, totals.tolist(), strict=True):
                each[key[by]][(*key[:by], *key[by + 1 :])] = total
        else:
            sizes = [len(axis.labels) for axis in plan.cells.axes]
            shape = (int(np.prod(sizes[:by])), WORLDS, int(np.prod(sizes[by + 1 :])))
            cells = (
                np.array(totals, dtype=object).reshape(shape)
                if totals.dtype == object
                else totals.reshape(shape)
            )
            for one, world, rest in zip(*np.nonzero(cells), strict=True):
                each[world][(int(one), int(rest))] = int(cells[one, world, rest])
        worlds.append(each)
    return worlds


def _moved(before: Mapping[Any, int], after: Mapping[Any, int]) -> dict[Any, int]:
    found = {key: before.get(key, 0) - after.get(key, 0) for key in before.keys() | after.keys()}
    return {key: one for key, one in found.items() if one}


def _check_part(part: Measurement, moved: Mapping[Any, int], plan: Plan) -> tuple[Fraction, bool]:
    """The loss that this vector can have, of its ε or ρ; whether it moved as far as is claimed."""
    replaced = plan.policy.neighbours == "replace-one"
    units = plan.policy.rows_per_unit * (2 if replaced else 1)
    if isinstance(part, QuantileMeasurement):
        assert sum(map(abs, moved.values())) <= units
        worst = _scores(part, moved)
        assert worst <= part.sensitivity, "rank"
        return part.epsilon * Fraction(worst, part.sensitivity), worst == part.sensitivity
    assert isinstance(part, NoisyMeasurement)
    norm, square = sum(map(abs, moved.values())), sum(one**2 for one in moved.values())
    assert len(moved) <= units, "L0"
    assert norm <= part.contribution.sensitivity(replace=replaced), "L1"
    assert square <= part.contribution.squared(replace=replaced), "L2"
    assert max(map(abs, moved.values()), default=0) <= part.contribution.most(replace=replaced), "Linf"
    tight = norm == part.contribution.sensitivity(replace=replaced)
    if part.pure:
        return Fraction(norm) / part.noise.width, tight
    return Fraction(square) / (2 * part.noise.width**2), tight


def _scores(part: QuantileMeasurement, moved: Mapping[Any, int]) -> int:
    """How far the scores of all groups move: rows below a bin count above, those beyond it below."""
    groups: dict[Any, dict[int, int]] = {}
    for (*group, bin_), one in moved.items():
        place = group[0] * part.bins + bin_ if group else bin_
        groups.setdefault(place // part.bins, {})[place % part.bins] = one
    worst = 0
    for bins in groups.values():
        rows, below, farthest = sum(bins.values()), 0, 0
        for bin_ in range(part.bins):
            below += bins.get(bin_, 0)
            farthest = max(farthest, abs(part.denominator * below - part.numerator * rows))
        worst += max(farthest, abs(part.numerator * rows))
    return worst


def check_pairs(
    plans: Sequence[Plan], engines: Iterator[Engine], seed: str, *, bounded: bool = True
) -> tuple[int, int]:
    """Assert that no pair moves any plan by more than it claims: how many pairs, and how many moved as far.

    `bounded=False` plants a mistake: all rows of a person count.
    """
    split = [_split(plan) for plan in plans]
    split = split if bounded else [replace(plan, bounded=False) for plan in split]
    states = []
    for engine in engines:
        found: dict[int, Found] = {}
        for scan in scans_of(split, engine, seed):
            found |= scan.run(engine)
        states.append([_worlds(plan, found[place]) for place, plan in enumerate(split)])
    tight = 0
    for place, plan in enumerate(plans):
        for world in range(WORLDS):
            losses = []
            for at, part in enumerate(plan.parts):
                moved = _moved(*(state[place][at][world] for state in states))
                loss, most = _check_part(part, moved, plan)
                losses.append(loss)
                tight += most
            query = plan.query
            offered = printed(query.epsilon or 1) if query.noise == "laplace" else plan.offer.rho
            assert sum(losses) <= (offered or 0), "price"
    return WORLDS, tight
