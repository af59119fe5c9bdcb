"""Trees as they are released: what is counted, what is paid, what the intervals hold, what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from leakcap.errors import BudgetExceeded, DataError, InvalidInput, InvalidParameter
from leakcap.ledger.curve import ORDERS
from leakcap.release import Policy, PrivateTable, attach, load_policy
from leakcap.tables.hierarchies import ExactTotals, Hierarchy, HierarchyQuestion, release_hierarchy
from leakcap.tables.hierarchies import release as releasing
from leakcap.tables.hierarchies.answer import ReleasedHierarchy
from leakcap.tables.hierarchies.plan import HierarchyPlan
from leakcap.tables.hierarchies.release import noisy_levels, spend_of_hierarchy
from leakcap.tables.reading import counts_of, statements_of_tables
from seeded import SeededSource
from tables.hierarchies.truth import members

TOWNS = ["e", "b", "a", "d", "c"]
GROUPS = {"north": ["b", "a"], "south": ["c", "d"], "west": ["e"]}
COLUMNS: dict[str, dict[str, Any]] = {
    "town": {"keys": TOWNS},
    "region": {"from": "town", "groups": GROUPS},
    "part": {"from": "region", "groups": {"inland": ["north", "south"], "coast": ["west"]}},
    "ward": {"keys": [30, 10, 20]},
    "age": {"bounds": [0.0, 100.0]},
}
CAPS = {"epsilon": 20.0, "delta": 1e-6}
LEVELS = ("part", "region", "town")
ASKED = HierarchyQuestion(levels=LEVELS, rho=0.05, where="age < 90", weights={"region": 2.0})
LAND = Hierarchy.of(
    LEVELS, [("inland" if r != "west" else "coast", r, t) for r, ts in GROUPS.items() for t in ts]
)


def policy_of(**changes: Any) -> Policy:
    plain = {"dataset": "d", "neighbours": "add-remove-one", "caps": CAPS, "columns": COLUMNS}
    return load_policy({**plain, **changes})


def rows_of(size: int, seed: int = 4) -> list[dict[str, Any]]:
    """Rows of which some have a town that is missing or none of the tree's, or an age that is no number."""
    rng = np.random.default_rng(seed)
    towns = [*TOWNS, "z", "", None]
    return [
        {
            "id": int(rng.integers(0, max(1, size // 4))),
            "town": towns[rng.choice(8, p=[0.3, 0.3, 0.2, 0.05, 0.0, 0.05, 0.05, 0.05])],
            "age": [float(rng.integers(0, 120)), math.nan][int(rng.random() < 0.05)],
        }
        for _ in range(size)
    ]


SCHEMA = pyarrow.schema([("id", "int64"), ("town", "string"), ("age", "double")])


def table_of(rows: list[dict[str, Any]]) -> pyarrow.Table:
    return pyarrow.Table.from_pylist(rows, schema=SCHEMA)


def exact_of(rows: list[dict[str, Any]], tree: Hierarchy = LAND) -> list[Any]:
    """The counts of every level, worked out in Python."""
    held = [row["town"] for row in rows if row["age"] < 90]
    leaves = np.array([held.count(town) for town in tree.labels[-1]])
    return [np.array(members(tree, level)) @ leaves for level in range(len(tree.levels))]


def leaves_of(
    question: HierarchyQuestion, rows: list[dict[str, Any]], policy: Policy, seed: str = "5"
) -> Any:
    planned = question.planned(policy)
    engine = attach(table_of(rows))
    return counts_of(planned.leaves, statements_of_tables(planned.leaves, engine, seed), engine)[(0,)][
        planned.order
    ]


@pytest.mark.parametrize("size", [0, 1, 500])
def test_the_counts_are_those_of_the_rows_under_each_node(size: int) -> None:
    """The noise of a release is the same from one seed: what is left without it are the counts of every
    level."""
    rows = rows_of(size)
    planned = ASKED.planned(policy_of())
    assert planned.hierarchy.labels == (
        ("all",),
        ("coast", "inland"),
        ("west", "north", "south"),
        tuple("eabcd"),
    )
    leaves = leaves_of(ASKED, rows, policy_of())
    heard = noisy_levels(planned.plan, leaves, SeededSource(3))
    silent = noisy_levels(planned.plan, 0 * leaves, SeededSource(3))
    for one, noise, exact in zip(heard, silent, exact_of(rows, planned.hierarchy), strict=True):
        assert one is not None
        assert np.array_equal(one - noise, exact)


def test_each_node_gets_its_own_count() -> None:
    """From the table to the answer: counts so far apart that no noise of deviation 20 could mix them up."""
    sizes = {"a": 1000, "b": 3000, "c": 5000, "d": 7000, "e": 9000}
    rows = [{"id": 0, "town": town, "age": 5.0} for town, size in sizes.items() for _ in range(size)]
    with PrivateTable(table_of(rows), policy=policy_of(), ledger="sqlite://") as private:
        found = release_hierarchy(private, ASKED)
    assert max(float(one.standard_deviation.max()) for one in found.levels) < 20
    for one, exact in zip(found.levels, exact_of(rows, found.planned.hierarchy), strict=True):
        assert abs(one.values - exact).max() < 500
    assert abs(found.node("region", "north").value - 4000) < 500


def test_a_tree_from_columns_from_csv_and_from_parquet_is_one_question(tmp_path: Path) -> None:
    rows = list(zip(*(LAND.paths(3)[i][1:] for i in range(5)), strict=True))
    frame = pyarrow.table(dict(zip(LEVELS, map(list, rows), strict=True)))
    pyarrow.parquet.write_table(frame, tmp_path / "land.parquet")
    lines = [",".join(LEVELS), *(",".join(path[1:]) for path in reversed(LAND.paths(3)))]  # type: ignore[arg-type]
    (tmp_path / "land.csv").write_text("\ufeff" + "\r\n".join(lines) + "\r\n", encoding="utf-8")
    trees = [Hierarchy.read(tmp_path / name) for name in ("land.csv", "land.parquet")]
    questions = [
        ASKED,
        *(
            HierarchyQuestion(hierarchy=one, **{k: getattr(ASKED, k) for k in ("rho", "where", "weights")})
            for one in (LAND, *trees)
        ),
    ]
    assert len({one.planned(policy_of()).text for one in questions}) == 1
    with PrivateTable(table_of(rows_of(200)), policy=policy_of(), ledger="sqlite://", version="1") as private:
        found = [release_hierarchy(private, one) for one in questions]
        assert [one.repeated for one in found] == [False, True, True, True]
        assert len(private.ledger.entries()) == 1
        for one in found[1:]:
            for mine, first in zip(one.levels, found[0].levels, strict=True):
                assert np.array_equal(mine.values, first.values)
                assert np.array_equal(mine.upper, first.upper)


def test_keys_that_are_numbers_may_be_text_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("site,ward\nA,10\nB,30\nA,20\n")
    question = HierarchyQuestion(hierarchy=Hierarchy.read(tmp_path / "w.csv"), rho=0.1)
    planned = question.planned(policy_of())
    assert planned.hierarchy.labels[-1] == (10, 20, 30)
    assert planned.order.tolist() == [1, 2, 0]


def test_one_charge_that_is_repeated_for_free_and_verified() -> None:
    with PrivateTable(table_of(rows_of(300)), policy=policy_of(), ledger="sqlite://", version="1") as private:
        first = release_hierarchy(private, ASKED)
        again = release_hierarchy(private, ASKED)
        fresh = release_hierarchy(private, ASKED, fresh=True)
        other = release_hierarchy(private, ASKED.model_copy(update={"weights": {"region": 3.0}}))
        assert [one.repeated for one in (first, again, fresh, other)] == [False, True, False, False]
        assert len(private.ledger.entries()) == 3
        private.ledger.verify()
        assert all(np.array_equal(a, b) for a, b in zip(first.noisy, again.noisy, strict=True))  # type: ignore[arg-type]
        assert any(not np.array_equal(a, b) for a, b in zip(first.noisy, fresh.noisy, strict=True))  # type: ignore[arg-type]
        assert first.entry == again.entry != fresh.entry


def test_the_charge_is_that_of_all_levels_together() -> None:
    for changes in ({}, {"neighbours": "replace-one", "rows": 40}, {"unit": {"id": "id", "max_rows": 3}}):
        policy = policy_of(**changes)
        plan = ASKED.planned(policy).plan
        spend = spend_of_hierarchy(plan, policy)
        assert plan.rows == (3 if "unit" in changes else 1)
        for order, nats in zip(ORDERS, spend.curve or (), strict=True):
            assert float(plan.rho) * order * (1 - 1e-12) <= nats <= float(plan.rho) * order * (1 + 1e-9)
        assert 0.05 * 0.999 < float(plan.rho) <= spend.rho <= 0.05 + 1e-12
        assert spend.nats_person <= spend.rho * (1 + 1e-12)


def test_a_person_moves_the_counts_by_no_more_than_is_charged() -> None:
    """All of a person's rows, more than `max_rows` of them, by way of the engine: with and without."""
    policy = policy_of(unit={"id": "id", "max_rows": 3})
    plan = ASKED.planned(policy).plan
    rows, far = rows_of(120), 0.0
    own = [{"id": 10_000, "town": "a", "age": 50.0} for _ in range(6)]
    mixed = [dict(row, id=10_000) for row in rows_of(9, 7)]
    matrices = [np.array(members(plan.hierarchy, level)) for level in range(4)]
    for theirs in (own, mixed, own[:1]):
        before, after = (leaves_of(ASKED, data, policy) for data in (rows, rows + theirs))
        apart = sum(
            (
                Fraction(int(((m @ (after - before)) ** 2).sum())) / v
                for m, v in zip(matrices, plan.variances, strict=True)
                if v
            ),
            Fraction(0),
        )
        assert apart / 2 <= plan.rho
        far = max(far, float(apart / 2 / plan.rho))
    assert far == pytest.approx(1.0)


CHAIN = Hierarchy.of(["top", "middle", "leaf"], [("t", i, i) for i in range(20_000)])


def correlation() -> float:
    """Between the noise of two levels whose nodes have the same counts."""
    plan = HierarchyPlan.of(CHAIN, 0.01)
    _, middle, leaf = noisy_levels(plan, np.zeros(20_000, dtype=np.int64), SeededSource(8))
    return float(np.corrcoef(middle, leaf)[0, 1])  # type: ignore[arg-type]


def test_each_level_has_noise_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of independent noise the correlation is within 6/√20,000 but for 2·10⁻⁹; the planted reuse has 1."""
    assert abs(correlation()) < 6 / math.sqrt(20_000)
    kept: dict[int, Any] = {}

    def reused(variance: Fraction, size: int, source: Any) -> Any:
        if size not in kept:
            kept[size] = drawn(variance, size, source)
        return kept[size]

    drawn = releasing.discrete_gaussian
    monkeypatch.setattr(releasing, "discrete_gaussian", reused)
    assert correlation() > 0.9


TOTALS = {
    "none": (),
    "total": (ExactTotals(level="total", counts={"all": 279}, reason="census act"),),
    "regions": (
        ExactTotals(level="region", counts={"north": 130, "west": 100}, reason="census act"),
        ExactTotals(level="town", counts={"c": 0}, reason="nobody may live there"),
    ),
}


def covered(exact: str, runs: int, narrower: float = 1.0, rho: float = 0.05) -> dict[str, float]:
    """How often the counts of each level, and a difference, lie in their intervals, over seeded releases."""
    leaves = np.array([100, 90, 40, 0, 49])
    question = ASKED.model_copy(update={"exact": TOTALS[exact], "rho": rho})
    planned = question.planned(policy_of())
    truth = [np.array(members(planned.hierarchy, level)) @ leaves for level in range(4)]
    source, spend = SeededSource(77), spend_of_hierarchy(planned.plan, planned.policy)
    held: dict[str, list[float]] = {}
    for _ in range(runs):
        found = ReleasedHierarchy(planned, noisy_levels(planned.plan, leaves, source), spend, 1, False)
        for own, count in zip(found.levels, truth, strict=True):
            middle, half = (own.lower + own.upper) / 2, (own.upper - own.lower) / 2 * narrower
            inside = np.abs(count - middle) <= half
            for label, yes, known in zip(own.labels, inside, own.exact, strict=True):
                if not known:
                    held.setdefault(f"{own.level} {label}", []).append(float(yes))
                assert not known or yes
            assert (own.values >= 0).all()
        for level in (1, 2, 3):
            assert np.array_equal(
                planned.hierarchy.added(level, found.levels[level].values), found.levels[level - 1].values
            )
        more = found.sum_of([("town", "a", 1.0), ("town", "b", -1.0)])
        held.setdefault("difference", []).append(float(more.low <= 90 - 40 <= more.high))
    return {name: float(np.mean(one)) for name, one in held.items()}


@pytest.mark.parametrize(("exact", "rho"), [*((exact, 0.05) for exact in TOTALS), ("none", 1.0)])
def test_intervals_cover_at_every_level(exact: str, rho: float) -> None:
    """400 releases, seeded. At 95 % a share of 0.88 or less has a chance below 10⁻⁷ for one node."""
    shares = covered(exact, 400, rho=rho)
    assert len(shares) == {"none": 12, "total": 11, "regions": 8}[exact]
    assert min(shares.values()) > 0.88
    by_level: dict[str, list[float]] = {}
    for name, share in shares.items():
        by_level.setdefault(name.split()[0], []).append(share)
    assert min(float(np.mean(own)) for own in by_level.values()) >= 0.95


def test_half_of_an_interval_is_caught() -> None:
    assert min(covered("none", 100, narrower=0.5).values()) < 0.85


def refused(question: Any, policy: Policy, data: Any = None) -> str:
    rows = table_of(rows_of(40)) if data is None else data
    with PrivateTable(rows, policy=policy, ledger="sqlite://") as private:
        with pytest.raises((InvalidInput, DataError, BudgetExceeded)) as error:
            release_hierarchy(private, question())
        assert private.ledger.entries() == []
    assert "\n" not in str(error.value)
    return str(error.value)


ONE = {"levels": LEVELS, "rho": 0.1}


FILE = {"hierarchy": LAND, "rho": 0.1}


def exactly(totals: list[dict[str, Any]]) -> dict[str, Any]:
    return {**ONE, "exact": [{"reason": "law", **one} for one in totals]}


def total_of(count: int, **levels: Any) -> dict[str, Any]:
    more = [{"level": level, "counts": counts} for level, counts in levels.items()]
    return exactly([{"level": "total", "counts": {"all": count}}, *more])


@pytest.mark.parametrize(
    ("asked", "changes", "says"),
    [
        ({"levels": ("region", "ward"), "rho": 0.1}, {}, "must follow from `ward` by `groups` or `prefix`"),
        ({"levels": ("region", "age"), "rho": 0.1}, {}, "with public `keys`. Got `age`"),
        ({"levels": (), "rho": 0.1}, {}, "must name one column or more"),
        ({"levels": ("town", "town"), "rho": 0.1}, {}, "name each level once. Got `town` twice"),
        ({"rho": 0.1}, {}, "must have a tree or `levels`, not both"),
        ({**ONE, "hierarchy": LAND}, {}, "must have a tree or `levels`, not both"),
        ({"levels": LEVELS}, {}, "must have `rho` or `epsilon`, not both"),
        ({**ONE, "rho": -1.0}, {}, "must be positive and finite. Got -1.0"),
        ({**ONE, "rho": 1e-300}, {}, "large enough that noise can be drawn"),
        ({**ONE, "where": "nobody = 1"}, {}, "nobody"),
        ({**ONE, "weights": {"village": 2.0}}, {}, "name levels of the tree. Got 'village'"),
        ({**ONE, "weights": {"town": 0.0}}, {}, "`weights` of `HierarchyPlan` must be positive"),
        ({**ONE}, {"caps": {"epsilon": 1.0}}, "needs a δ for all answers together"),
        ({**ONE, "rho": 5.0}, {"caps": {"epsilon": 0.5, "delta": 1e-6}}, "othing was spent"),
        ({**ONE}, {"neighbours": "replace-one", "rows": 41}, "Nothing was spent"),
        (ONE, {"columns": {**COLUMNS, "town": {"keys": [*TOWNS, "f"]}}}, "'f' is in no group of `region`"),
        (FILE, {"columns": {"town": {"keys": [*TOWNS, "f"]}}}, "'f' has no place in the tree"),
        (FILE, {"columns": {"town": {"keys": TOWNS[1:]}}}, "'e' is none"),
        (FILE, {"columns": {"ward": COLUMNS["ward"]}}, "Got `town`"),
        (total_of(9), {}, "must be 0 or at least 10, its `minimum`"),
        (exactly([{"level": "nation", "counts": {"all": 90}}]), {}, "It has no 'all' of `nation`"),
        (exactly([{"level": "total", "counts": {"x": 90}}]), {}, "It has no 'x' of `total`"),
        (total_of(90, total={"all": 90}), {}, "give each node once. Got 'all' of `total` twice"),
        (
            total_of(90, part={"coast": 91}), {},
            "must not contradict each other. 'all' of `total` has 90, and the nodes below it have 91",
        ),
        (total_of(90, part={"coast": 40, "inland": 40}), {}, "have 80"),
        (
            total_of(90, part={"coast": 89}), {},
            "leave 0 or at least 10 for the other nodes. Of 'all' of `total` they leave 1",
        ),
        (total_of(90), {"unit": {"id": "id", "max_rows": 3}}, "keeps up to 3 rows of each id"),
        (total_of(90), {"neighbours": "replace-one", "rows": 40}, "whose table has 40 rows"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_nothing_is_spent(asked: Any, changes: Any, says: str) -> None:
    assert says in refused(lambda: HierarchyQuestion(**asked), policy_of(**changes))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("region,town\nn,a\ns,a\n", "must have one parent. 'a' of the level `town` has two"),
        ("part,region,town\np,n,a\nq,n,b\n", "must have one parent. 'n' of the level `region` has two"),
        ("region,town\nn,a\n,b\n", "`region` is missing in row 2"),
        ("region,town\nn,a\nn\n", "all leaves are at one depth. Row 2 has 1"),
        ("region,town\nn,a\nn,a\n", "must have each leaf in one row. A `town` stands in two"),
        ("region,town\n", "must have one leaf or more"),
        ("", "must have from 1 to 20 levels"),
        ("region,region\nn,a\n", "name each level once. Got `region` twice"),
        ("total,town\nn,a\ns,b\n", "The level `total` of `tree.csv` has several nodes"),
        ('region,town\nn,"a\n', "must be CSV in UTF-8"),
    ],
)
def test_a_file_that_is_no_tree_is_refused_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "tree.csv").write_text(text)
    with pytest.raises(InvalidInput) as error:
        Hierarchy.read(tmp_path / "tree.csv")
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_bytes(b"region,town\n\xff,a\n")
    (tmp_path / "bad.parquet").write_bytes(b"none")
    pyarrow.parquet.write_table(pyarrow.table({"region": [1.5], "town": ["a"]}), tmp_path / "float.parquet")
    pyarrow.parquet.write_table(
        pyarrow.table({"region": [None, "n"], "town": ["a", "b"]}), tmp_path / "null.parquet"
    )
    for name, says in {
        "bad.csv": "must be CSV in UTF-8",
        "bad.parquet": "must be a Parquet file",
        "none.csv": "no file that",
        "tree.txt": "ends in .csv or .parquet",
        "float.parquet": "`region` has another kind",
        "null.parquet": "missing in row 1",
    }.items():
        with pytest.raises(InvalidInput, match=says) as error:
            Hierarchy.read(tmp_path / name)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("labels", "parents"),
    [
        ((("t",), ("a", "b"), ("x", "y")), ([], [0, 0], [0, 0])),
        ((("t",), ("a", "b"), ("x", "y")), ([], [0, 0], [1, 0])),
        ((("t",), ("a", "b", "c"), ("x", "y")), ([], [0, 0, 0], [0, 2])),
        ((("t",), ("a",), ("x", "y")), ([], [0], [0, 0, 0])),
        ((("t",), ("a",), ("x", "y")), ([], [1], [0, 0])),
        ((("t", "u"), ("a", "b")), ([], [0, 1])),
        ((("t",), ("a",)), ([],)),
        ((("t",), ()), ([], [])),
        ((("t",), ("a", "a")), ([], [0, 0])),
        ((("t",), ("1", 1)), ([], [0, 0])),
    ],
)
def test_a_tree_that_would_count_a_row_twice_cannot_be_made(labels: Any, parents: Any) -> None:
    """Of two nodes with one first child `reduceat` would count it in both, and two leaves of one key would
    count its rows twice: the price would be too low."""
    levels = ("top", "middle", "leaf")[: len(labels)]
    with pytest.raises(InvalidInput, match="hierarchy's levels, labels and parents"):
        Hierarchy(levels, labels, tuple(np.array(up, dtype=np.int64) for up in parents))


def test_data_frames_hold_the_same_numbers() -> None:
    with PrivateTable(table_of(rows_of(200)), policy=policy_of(), ledger="sqlite://") as private:
        found = release_hierarchy(private, ASKED)
    own = found.level("region")
    frames = (
        own.to_pandas().to_dict("list"),
        own.to_arrow().to_pydict(),
        own.to_polars().to_dict(as_series=False),
    )
    for frame in frames:
        assert list(frame) == ["region", "value", "lower", "upper", "flag"]
        assert (frame["region"], frame["value"]) == (list(own.labels), own.values.tolist())
        assert (frame["lower"], frame["upper"]) == (own.lower.tolist(), own.upper.tolist())
        assert frame["flag"] == ["u" if yes else "" for yes in own.drowned]


def test_a_tree_stays_as_it_was_planned() -> None:
    up = np.array([0, 0, 1])
    tree = Hierarchy(("t", "m", "l"), (("t",), ("a", "b"), ("x", "y", "z")), (up[:0], up[:2], up))
    before = tree.digest
    up[1] = 1
    with pytest.raises(ValueError, match="read-only"):
        tree.parents[2][1] = 1
    assert tree.parents[2].tolist() == [0, 0, 1]
    assert Hierarchy.of(("t", "m", "l"), tree.paths(2)).digest == before


def test_nodes_that_are_not_in_the_tree_are_refused() -> None:
    with PrivateTable(table_of(rows_of(200)), policy=policy_of(), ledger="sqlite://") as private:
        found = release_hierarchy(private, ASKED)
    with pytest.raises(InvalidInput, match="no level of the tree"):
        found.node("village", "a")
    with pytest.raises(InvalidInput, match="no level of the tree"):
        found.level("village")
    with pytest.raises(InvalidInput, match="has no node 'x'"):
        found.sum_of([("town", "x", 1.0)])
    for weight in (math.nan, math.inf, 1e308, 10**400, True, "1"):
        with pytest.raises(InvalidParameter, match="`weight` of `sum_of` must be a finite number"):
            found.sum_of([("town", "a", weight)])  # type: ignore[list-item]


def test_a_failure_after_the_commit_stays_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise DataError("The engine stopped.")

    with PrivateTable(table_of(rows_of(40)), policy=policy_of(), ledger="sqlite://") as private:
        monkeypatch.setattr(releasing, "counts_of", broken)
        with pytest.raises(DataError, match="stays"):
            release_hierarchy(private, ASKED)
        assert len(private.ledger.entries()) == 1
