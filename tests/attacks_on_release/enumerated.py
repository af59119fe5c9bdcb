"""All contents that one unit may have, through the real engine, and the exact loss of every part's own draw.

Many small tables go through one statement: each is a copy with a number of its own, by which the statement
splits beside what the plan splits by. Randomness is taken from the parts by writing out every coin: noise
that is added says to which integers it is, a choice has its law as a dictionary.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow

import leakcap.mechanism.geometric as geometric_room
import leakcap.mechanism.selection as selection_room
from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Column
from leakcap.release import Query, attach
from leakcap.release.columns.cells import Axis, Cells
from leakcap.release.columns.derived import typed_column
from leakcap.release.measurements.measurement import Measurement
from leakcap.release.numbers.exact_integers import exact_integers
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.statements import select_of
from leakcap.release.statistics import Statistic
from release.world import policy_of

Row = dict[str, Any]
Totals = dict[tuple[Any, ...], tuple[int, ...]]
NAN, INF = math.nan, math.inf

COLUMNS: dict[str, Any] = {
    "x": {"bounds": [-3.0, 10.0]},
    "y": {"bounds": [2.0, 8.0], "fill": 5.0},
    "z": {"bounds": "unknown"},
    "d": {"keys": ["a", "b"]},
    "k": {"keys": [1, 2]},
    "s": {"keys": "private"},
}
TABLES: dict[str, Any] = {
    "people": {"id": "id", "columns": {"u": {"keys": ["f", "m"]}, "h": {"bounds": [0.0, 2.0]}}},
    "wards": {"public": True, "key": "code", "on": "d", "columns": {"beds": {"bounds": [0.0, 9.0]}}},
}
# Within bounds and far beyond, missing and no number, known keys, unknown ones and none.
ROWS: list[Row] = [
    {"x": -9.0, "y": 99.0, "z": INF, "d": "a", "k": 1, "s": "p"},
    {"x": 99.0, "y": -9.0, "z": -INF, "d": "b", "k": 2, "s": "q"},
    {"x": INF, "y": NAN, "z": 1e300, "d": "a", "k": 2, "s": "P"},
    {"x": -INF, "y": None, "z": NAN, "d": "zzz", "k": -(2**63), "s": None},
    {"x": NAN, "y": 8.0, "z": -0.0, "d": "b", "k": 1, "s": "q "},
    {"x": None, "y": 2.0, "z": None, "d": "A", "k": 2**63 - 1, "s": "r"},
    {"x": -0.0, "y": 2.0, "z": 5e-324, "d": None, "k": None, "s": "y" * 201},
    {"x": 10.0, "y": 8.0, "z": -1.0, "d": "a", "k": 1, "s": ""},
]
# One row each: which ones are kept of more would hang on the copy.
OTHERS: list[Row] = [{"id": 1, **ROWS[7], "s": "p"}, {"id": 2, **ROWS[1]}]
THEIRS: list[Row] = [{"id": 1, "u": "f", "h": 2.0}, {"id": 2, "u": "m", "h": NAN}]
# Of the person's own table: no row, one, several that contradict one another, unknown and missing.
OWN: list[list[Row]] = [
    [],
    [{"u": "f", "h": 2.0}],
    [{"u": "m", "h": -9.0}, {"u": "f", "h": 9.0}],
    [{"u": None, "h": None}, {"u": "f", "h": NAN}],
    [{"u": "?", "h": INF}],
]
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "by": {"by": ("k",)},
    "where": {"where": "k <> 2 OR x > 3"},
    "join": {"join": ("people",)},
    "public": {"join": ("wards",), "by": ("k",)},
    "join by": {"join": ("people", "wards"), "by": ("people.u",), "where": "wards.beds >= 1"},
    "private": {"by": ("s",), "delta": 1e-6},
    "private by": {"by": ("k", "s"), "delta": 1e-6},
}
# What a query may say beside; whatever a statistic accepts of it is tried.
FIELDS: dict[str, list[Any]] = {
    "column": ["x", "y", "z", "d", "people.h"],
    "bins": [3],
    "edges": [(0.0, 1.5)],
    "quantiles": [(0.3,)],
    "columns": [("x", "y"), ("d", "k"), ("y", "people.h")],
    "over": ["y"],
    "formula": ["x * y - 3", "CASE WHEN f THEN -x ELSE least(x, y / 2) END"],
    "range": [(-2.0, 5.0), (1.0, 3.0)],
    "when": ["x > 0", "people.u = 'f'"],
    "top": [1, 2],
    "up_to": [3],
    "design_weight": ["y"],
}


@dataclass(frozen=True)
class World:
    """Who is protected, and how much of a person is used."""

    relation: str
    most: int | None
    groups: int | None = None

    def policy(self, columns: dict[str, Any] | None = None) -> Any:
        """The policy."""
        id_ = {"id": "id", "max_rows": self.most, "max_groups": self.groups}
        wards = {"wards": TABLES["wards"]}
        unit = {"unit": "row", "tables": wards} if self.most is None else {"unit": id_, "tables": TABLES}
        units = len(OTHERS) + 1
        size = {"rows": units} if self.relation == "replace-one" else {}
        caps = {"epsilon": 100.0, "delta": 0.1}
        return policy_of(neighbours=self.relation, columns=columns or COLUMNS, caps=caps, **unit, **size)


WORLDS = [
    World(relation, most, groups)
    for relation in ("add-remove-one", "replace-one")
    for most, groups in ((None, None), (1, None), (2, None), (2, 1))
]


@dataclass(frozen=True)
class Content:
    """What one unit has: rows of the data, and of its own table."""

    rows: tuple[Row, ...]
    own: tuple[Row, ...] = ()


def contents(world: World, *, joined: bool) -> list[Content]:
    """What a unit may have, nothing first where that is possible; one row more than is used."""
    absent = [Content(())] if world.relation == "add-remove-one" else []
    most = 1 if world.most is None else world.most + 1
    kept = ROWS if most < 3 else ROWS[:6]
    owned = [tuple(own) for own in OWN] if joined else [()]
    found = [
        Content(tuple(rows), own)
        for count in range(1, most + 1)
        for rows in itertools.combinations_with_replacement(kept, count)
        for own in (owned if count < 3 else owned[-1:])
    ]
    return absent + found


def queries(statistic: Statistic, shape: dict[str, Any], policy: Any) -> Iterator[Plan]:
    """Every plan of the statistic that the candidates for its own fields make."""
    names = sorted(statistic.fields)
    for values in itertools.product(*([None, *FIELDS[name]] for name in names)):
        own = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        try:
            query = Query(name="q", statistic=statistic.name, epsilon=1.3, **own, **shape)
            yield plan_query(query, policy)
        except InvalidQuery:
            continue


def totals(plan: Plan, listed: Sequence[Content], *, named: bool) -> list[Totals]:
    """For each content the clamped totals of the cells, part by part, of the table that has it."""
    data, people = [], []
    for copy, content in enumerate(listed):
        start = 10 * copy
        mine = [{"id": 3, **row} for row in content.rows]
        nobody = [{**ROWS[0], "id": None}] if named else []
        data += [
            {**row, "id": None if row["id"] is None else start + row["id"], "copy": copy}
            for row in (*OTHERS, *mine, *nobody)
        ]
        people += [
            {**row, "id": start + row["id"]} for row in (*THEIRS, *({"id": 3, **one} for one in content.own))
        ]
    people.append({"id": None, "u": "f", "h": 1.0})
    wards = [
        {"code": c, "beds": b}
        for c, b in (("a", 5.0), ("a", 7.0), ("a", None), ("b", 2.0), (None, 3.0), ("A", 9.0))
    ]
    tables = {"people": _arrow(people), "wards": _arrow(wards)}
    given = {name: tables[name] for name in plan.policy.tables}
    engine = attach(_arrow(data), tables=given)
    copies = tuple(range(len(listed)))
    columns = {**plan.policy.columns, "copy": Column(keys=copies)}
    policy = plan.policy.model_copy(update={"columns": columns})
    axis = Axis("copy", typed_column("copy", policy), dict(zip(copies, copies, strict=True)), "integer")
    split = replace(
        plan,
        policy=policy,
        cells=Cells((axis, *plan.cells.axes)),
        query=replace(plan.query, by=("copy", *plan.query.by)),
    )
    found: list[Totals] = [{} for _ in listed]
    width = len(plan.cells.axes)
    for copy, *rest in engine.run(engine.write(select_of([split], "a secret"))).rows():
        cell, sums = tuple(rest[:width]), rest[width:]
        found[copy][cell] = tuple(
            total if part.total is None else max(part.total[0], min(part.total[1], total))
            for part, total in zip(plan.parts, sums, strict=True)
        )
    return found


def codes_of_all(plan: Plan) -> list[tuple[Any, ...]]:
    """What the engine would call each cell, in their order."""
    return list(itertools.product(*(axis.labels for axis in plan.cells.axes)))


def _arrow(rows: Sequence[Row]) -> pyarrow.Table:
    kinds = {**dict.fromkeys(("x", "y", "z", "h", "beds"), pyarrow.float64()),
             **dict.fromkeys(("id", "k", "copy"), pyarrow.int64())}  # fmt: skip
    names = sorted({name for row in rows for name in row})
    return pyarrow.table({
        name: pyarrow.array([row.get(name) for row in rows], kinds.get(name, pyarrow.string()))
        for name in names
    })  # fmt: skip


@dataclass
class _Script:
    """One path through the coins: those that were decided before, then the first of each."""

    decided: list[int]
    sizes: list[int] = field(default_factory=list)
    log: float = 0.0

    def begin(self, decided: list[int]) -> None:
        """The next path."""
        self.decided, self.sizes, self.log = decided, [], 0.0

    def choose(self, logs: Sequence[float]) -> int:
        place = len(self.sizes)
        self.sizes.append(len(logs))
        taken = self.decided[place] if place < len(self.decided) else 0
        self.log += logs[taken]
        return taken


Law = dict[tuple[int, ...], float]


def law_of(part: Measurement, exact: Sequence[int]) -> tuple[tuple[int, ...], Law]:
    """To which integers noise is added, and the law of what is chosen, one of which is empty."""
    noised: list[int] = []

    def laplace(scale: Fraction, count: int, source: object) -> np.ndarray[Any, Any]:
        noised.append(count)
        return np.zeros(count, dtype=np.int64)

    found: Law = {}
    script, given = _Script([]), exact_integers(exact)
    with _scripted(script, laplace):
        while True:
            drawn = tuple(int(one) for one in part.draw(given, _no_bytes))
            if noised:
                return drawn, {}
            found[drawn] = found.get(drawn, 0.0) + math.exp(script.log)
            path = (script.decided + [0] * len(script.sizes))[: len(script.sizes)]
            while path and path[-1] == script.sizes[len(path) - 1] - 1:
                path.pop()
            if not path:
                assert math.isclose(sum(found.values()), 1.0, rel_tol=1e-9)
                return (), found
            script.begin([*path[:-1], path[-1] + 1])


def _no_bytes(count: int) -> bytes:
    raise AssertionError("This part draws in a way that the test does not know: teach it the law.")


@contextmanager
def _scripted(script: _Script, laplace: Callable[..., Any]) -> Iterator[None]:
    def coins(numerators: Any, denominator: int, source: object) -> np.ndarray[Any, Any]:
        heads = []
        for numerator in np.asarray(numerators).ravel().tolist():
            nats = numerator / denominator
            heads.append(True if nats == 0 else script.choose([-nats, math.log(-math.expm1(-nats))]) == 0)
        return np.array(heads)

    def below(limits: Any, count: int, source: object) -> np.ndarray[Any, Any]:
        sizes = np.broadcast_to(np.asarray(limits), (count,)).tolist()
        return np.array([script.choose([-math.log(size)] * size) for size in sizes])

    with (
        patch.object(geometric_room, "discrete_laplace", laplace),
        patch.object(selection_room, "bernoulli_exp", coins),
        patch.object(selection_room, "uniform_below", below),
    ):
        yield


def part_loss(part: Measurement, one: Sequence[int], other: Sequence[int], laws: dict[Any, Any]) -> float:
    """The exact largest |ln| of the ratio of the two laws of what the part draws."""
    (a, first), (b, second) = (
        laws.get((part, tuple(exact))) or _kept(laws, part, tuple(exact)) for exact in (one, other)
    )
    if not first:
        return float(sum(abs(x - y) for x, y in zip(a, b, strict=True)) / part.scale)
    return max(abs(math.log(first[key] / second[key])) for key in first)


def _kept(laws: dict[Any, Any], part: Measurement, exact: tuple[int, ...]) -> Any:
    laws[part, exact] = law_of(part, exact)
    return laws[part, exact]


def aligned(plan: Plan, one: Totals, other: Totals) -> Iterator[tuple[Measurement, list[int], list[int]]]:
    """Both exact vectors of each part over the same cells, those of the data where they are not public."""
    cells = sorted(one.keys() | other.keys(), key=repr) if plan.cells.open else codes_of_all(plan)
    empty = (0,) * len(plan.parts)
    for place, part in enumerate(plan.parts):
        yield part, *([totals.get(cell, empty)[place] for cell in cells] for totals in (one, other))
