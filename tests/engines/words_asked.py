"""An engine is asked for every derived, written and computed column; each row was worked out in Python."""

from __future__ import annotations

import bisect
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from sqlglot import exp

from engines.words import COMPUTED, DERIVED, POLICY, keys_of, value_of
from engines.written_words import BANDS, CASES, WRITTEN
from leakcap.release import Engine, Policy
from leakcap.release.columns.typed import aliased
from leakcap.release.conditions.condition import to_tree
from leakcap.release.conditions.declared import with_cases
from leakcap.release.planning.scan import scans_of
from leakcap.release.planning.statements import rows_of
from release.world import exact, planned

__all__ = ["alone", "check", "check_conditions", "check_numbers", "check_written"]


def check_written(engine: Engine, rows: list[dict[str, Any]]) -> int:
    """Ask the engine for sums and counts of each; how many answers were compared."""
    compared, policy = 0, with_cases(POLICY)
    for text, ((low, high), value) in WRITTEN.items():
        worked = [value(row) for row in rows]
        assert all(one is None or low <= one <= high for one in worked), text
        asked = planned(policy, statistic="sum", column=text, by=("f",))
        assert asked.policy.columns[asked.query.column or ""].bounds == (low, high), text
        assert asked.grid is not None
        scale = Fraction(2) ** asked.grid.exponent
        totals = {True: 0, False: 0}
        for row, one in zip(rows, worked, strict=True):
            if row["f"] is not None and one is not None:
                totals[row["f"]] += round(Fraction(one) * scale) - asked.centre
        assert exact(asked, engine)[0] == list(totals.values()), text
        missing = f'"{asked.query.column}" IS NULL'
        counted = planned(policy, statistic="count", where=missing)
        assert exact(counted, engine) == [[sum(one is None for one in worked)]], text
        compared += 2
    return compared + _check_together(engine, policy)


def _check_together(engine: Engine, policy: Policy) -> int:
    """All of them in one statement, where no name may be taken for another."""
    plans = [planned(policy, statistic="sum", column=text) for text in WRITTEN]
    (scan,) = scans_of(plans, engine, "")
    found = scan.run(engine)
    for place, plan in enumerate(plans):
        assert found[place].totals[0].tolist() == exact(plan, engine)[0], plan.query.column
    return len(plans)


def check_cases(engine: Engine, rows: list[dict[str, Any]], policy: Policy) -> int:
    """Ask the engine for each CASE in `by` and in conditions; how many answers were compared."""
    compared = 0
    for case, value in {**CASES, **BANDS}.items():
        counts = Counter(map(value, rows))
        plan = planned(policy, statistic="count", by=(case,))
        (labels,) = plan.cells.labels().values()
        assert exact(plan, engine)[0] == [counts[key] for key in labels.tolist()], (case, counts)
        conditions = {f"{case} IS NULL": counts[None]}
        for key in labels.tolist():
            written = (
                f"'{str(key).replace(chr(39), chr(39) * 2)}'" if isinstance(key, str) else str(key).upper()
            )
            conditions[f"{case} = {written}"] = counts[key]
            conditions[f"NOT ({case} IN ({written}))"] = sum(counts.values()) - counts[key] - counts[None]
        compared += 1 + check_conditions(engine, case, conditions, policy)
    return compared


def alone(name: str, conditions: int) -> int:
    """Which of the conditions about this column is asked as `where`: of one column the first, of another the
    second, so that all forms of conditions stand there."""
    return zlib.crc32(name.encode()) % conditions


def check_conditions(engine: Engine, name: str, conditions: Mapping[str, int], policy: Any = POLICY) -> int:
    """Ask how many rows meet each condition about a column: one as `where`, and all side by side in one
    statement, since what a zone's clock shows takes as long as ten short ones; how many were compared.
    """
    plans = [planned(policy, statistic="count", where=condition) for condition in conditions]
    condition, count = list(conditions.items())[alone(name, len(conditions))]
    assert exact(planned(policy, statistic="count", where=condition), engine) == [[count]], condition
    met = []
    for plan in plans:
        assert plan.condition is not None
        met.append(exp.If(this=to_tree(plan.condition, plan.policy), true=exp.Literal.number(1)))
    named = [aliased(exp.Case(ifs=[one]), f"v{place}") for place, one in enumerate(met)]
    counts = [
        aliased(exp.Count(this=exp.column(f"v{place}", quoted=True)), f"t{place}")
        for place in range(len(named))
    ]
    rows = rows_of(planned(policy, statistic="count"), named)
    found = engine.run(engine.write(exp.select(*counts).from_(rows.subquery("cells"))))
    assert dict(zip(conditions, found.rows()[0], strict=True)) == conditions
    return 1 + len(conditions)


def check(engine: Engine, rows: list[dict[str, Any]]) -> int:
    """Ask the engine for each derived column in `by` and in conditions, of no rows in one statement; how many
    answers were compared.
    """
    policy = with_cases(POLICY)  # once, as a table does it
    compared, of_none = check_cases(engine, rows, policy), dict[str, int]()
    for name in DERIVED:
        known = policy.columns[name]
        keys = keys_of(name)
        worked = [value_of(row, name) for row in rows]
        found = exact(planned(policy, statistic="count", by=(name,)), engine)[0]
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
        compared += check_conditions(engine, name, wanted, policy)
    return compared + (check_conditions(engine, "no rows", of_none, policy) if of_none else 0)


def check_numbers(engine: Engine, rows: list[dict[str, Any]]) -> int:
    """Ask the engine for sums, histograms and conditions of each computed column; how many were compared."""
    compared, policy = 0, with_cases(POLICY)
    for name in COMPUTED:
        known = policy.columns[name]
        low, high = known.bounds or (0.0, 0.0)
        worked = [value_of(row, name) for row in rows]
        assert all(one is None or low <= one <= high or "bounds" in COMPUTED[name] for one in worked), name
        asked = planned(policy, statistic="sum", column=name, by=("f",))
        assert asked.grid is not None
        scale = Fraction(2) ** asked.grid.exponent
        totals = {True: 0, False: 0}
        for row, one in zip(rows, worked, strict=True):
            value = known.fill if one is None else min(max(one, low), high)
            if row["f"] is not None and value is not None:
                totals[row["f"]] += round(Fraction(value) * scale) - asked.centre
        assert exact(asked, engine)[0] == list(totals.values()), name
        bins = planned(policy, statistic="histogram", column=name, bins=7)
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
        compared += 2 + check_conditions(engine, name, wanted, policy)
    return compared
