"""The largest categories: the law of the choice in fractions, ε over whole answers, coverage, repeats.

False alarms over the choice of seeds: 10⁻⁶ a test (`claims.py`). Each has a planted bug that it catches.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, dry_run, preview, query_from
from leakcap.release.measurements.permute_and_flip import picked
from leakcap.release.planning.price import price_of
from leakcap.release.statistics import statistic_of
from leakcap.release.statistics.top import Top
from leakcap.sampling import bernoulli_exp, discrete_laplace
from release.claims import beaten, covers, released
from release.world import planned, policy_of
from release.world import table as arrow
from seeded import ALARM, SeededSource

QUERY: dict[str, Any] = {"statistic": "top", "column": "d", "top": 2}


def law(counts: tuple[int, ...], top: int, scale: float) -> dict[tuple[int, ...], float]:
    """The probability of each answer: random orders, the first head in each is taken."""
    if top == 0:
        return {(): 1.0}
    left = [i for i in range(len(counts)) if counts[i] >= 0]
    most = max(counts[i] for i in left)
    heads = {i: math.exp(-(most - counts[i]) / scale) for i in left}
    first = dict.fromkeys(left, 0.0)
    orders = list(itertools.permutations(left))
    for order in orders:
        miss = 1.0
        for i in order:
            first[i] += miss * heads[i] / len(orders)
            miss *= 1 - heads[i]
    found: dict[tuple[int, ...], float] = {}
    for i, p in first.items():
        rest = tuple(-1 if j == i else c for j, c in enumerate(counts))
        found |= {(i, *more): p * q for more, q in law(rest, top - 1, scale).items()}
    return found


@pytest.mark.parametrize("top", [1, 2, 3])
def test_draws_have_the_law_of_random_orders(top: int) -> None:
    counts, runs = (3, 5, 4, 0), 20_000
    scale = Fraction(3, 2)
    wanted = law(counts, top, float(scale))
    assert math.isclose(sum(wanted.values()), 1.0)
    drawn = picked(np.array(list(counts) * runs), 4, top, scale, SeededSource(top)).reshape(runs, top)
    seen = dict.fromkeys(wanted, 0)
    for row in drawn.tolist():
        seen[tuple(row)] += 1
    statistic = sum((seen[a] - runs * p) ** 2 / (runs * p) for a, p in wanted.items() if runs * p > 5)
    assert chi2.sf(statistic, len(wanted) - 1) > ALARM


@pytest.mark.parametrize("top", [1, 2, 3])
def test_the_law_keeps_the_loss_for_rows_of_one_unit(top: int) -> None:
    """All tables of three categories with up to three rows each; a unit of two rows more, or replaced."""
    scale, worst, moved = 1.7, 0.0, 0.0
    adds = [v for v in itertools.product(range(3), repeat=3) if sum(v) <= 2]
    for counts in itertools.product(range(4), repeat=3):
        laws = [law(tuple(c + a for c, a in zip(counts, add, strict=True)), top, scale) for add in adds]
        worst = max(worst, *(abs(math.log(other[a] / laws[0][a])) for other in laws for a in laws[0]))
        pairs = itertools.combinations(laws, 2)
        moved = max(moved, *(abs(math.log(x[a] / y[a])) for x, y in pairs for a in x))
    assert worst <= top * 2 / scale + 1e-9
    assert moved <= top * 4 / scale + 1e-9
    # Without the proof that counts move in one direction the bound would be twice as large.
    assert worst > 2 / scale - 1e-9


def test_prices() -> None:
    for changes in ({}, {"neighbours": "replace-one", "rows": 9}):
        plan = planned(policy_of(unit={"id": "id", "max_rows": 3}, **changes), **QUERY, epsilon=0.3)
        assert plan.parts[0].scale == 2 * plan.parts[1].scale
        assert price_of(plan).epsilon == 0.3
    assert 0.0 < price_of(planned(policy_of(max_rows=9), **QUERY)).nats_table < math.inf


SOME: list[dict[str, Any]] = [{"d": d, "id": i} for i, d in enumerate("aabbbc")]
RUNS, EPSILON = 6_000, 1.5


def found(rows: list[dict[str, Any]], seed: int) -> Any:
    return released(rows, runs=RUNS, seed=seed, epsilon=EPSILON, **QUERY).rows


def events(rows: list[dict[str, Any]], seed: int) -> list[Any]:
    answer = found(rows, seed)
    firsts = np.array([row.keys["d"] for row in answer]).reshape(RUNS, 2)
    counts = np.array([row.value for row in answer]).reshape(RUNS, 2)
    chosen = [(firsts == pair).all(axis=1) for pair in itertools.permutations("abc", 2)]
    return [*chosen, *(c & (counts[:, 0] >= t) for c in chosen for t in (1, 2, 3, 4))]


def proofs(seed: int) -> list[int]:
    return beaten(events(SOME, seed), events([*SOME, {"d": "b", "id": 9}], seed + 1), EPSILON)


def test_neighbours_stay_within_epsilon() -> None:
    assert proofs(1) == []


def test_rounds_that_are_not_paid_for_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "leakcap.mechanism.selection.bernoulli_exp", lambda n, d, source: bernoulli_exp(4 * n, d, source)
    )
    monkeypatch.setattr(
        "leakcap.mechanism.geometric.discrete_laplace",
        lambda b, n, source: discrete_laplace(b / 6, n, source),
    )
    assert proofs(3)


def hits(seed: int) -> int:
    truth = {"a": 2, "b": 3, "c": 1}
    rows = released(SOME, runs=2 * RUNS, seed=seed, epsilon=0.05, statistic="top", column="d", top=1).rows
    return sum(row.interval[0] <= truth[str(row.keys["d"])] <= row.interval[1] for row in rows)


def test_counts_of_the_chosen_are_covered_though_they_were_chosen() -> None:
    assert covers(hits(5), 2 * RUNS)


def test_counts_that_chose_themselves_would_not_be_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual mistake: the same noisy counts choose and are shown."""
    labelled = Top.labelled

    def selfish(self: Any, plan: Any, noisy: Any) -> Any:
        if len(noisy) > 1:
            noisy[0][:] = noisy[1].reshape(-1, 3).argmax(axis=1)
        return labelled(self, plan, noisy)

    monkeypatch.setattr(Top, "labelled", selfish)
    assert not covers(hits(7), 2 * RUNS)


@pytest.mark.parametrize("huge", [False, True])
def test_rows_come_in_the_order_of_the_noisy_counts(huge: bool) -> None:
    """Of each group; equal counts in the order of the keys. The choice has noise and an order of its own."""
    plan = planned(policy_of(), statistic="top", column="d", top=3, by=("f",), epsilon=1.0)
    generator, moved = np.random.default_rng(17), 0
    for _ in range(200):
        picks = np.concatenate([generator.permutation(3) for _ in range(2)])
        counts = generator.integers(-2, 3, 6)
        if huge:
            counts = np.array([int(count) * 2**70 for count in counts], dtype=object)
        told = statistic_of(plan.query).labelled(plan, [picks, counts])
        values = statistic_of(plan.query).answers(plan, [picks, counts]).values
        rows = list(zip(told["f"], told["rank"], told["d"], values, strict=True))
        assert rows == sorted(rows, key=lambda row: (list(told["f"]).index(row[0]), -row[3], row[2]))
        assert [rank for _, rank, _, _ in rows] == [1, 2, 3] * 2
        groups = list(dict.fromkeys(told["f"]))
        keys = list(plan.cells.axes[-1].labels.values())
        for flag, _, key, value in rows:
            assert value == float(counts[groups.index(flag) * 3 + keys.index(key)])
        moved += [row[2] for row in rows] != [keys[pick] for pick in picks]
    assert moved > 100


def test_answers_repeats_and_refusals() -> None:
    data = arrow(
        [{"d": d, "f": f} for d, f in (("b", True),) * 50 + (("a", True),) * 20 + (("c", False),) * 40]
    )
    private = PrivateTable(data, policy=policy_of(), ledger="sqlite://")
    first = private.top("d", 2, by="f", epsilon=50.0)
    assert [(row.keys["f"], row.keys["rank"], row.keys["d"]) for row in first.rows][:3] == [
        (True, 1, "b"), (True, 2, "a"), (False, 1, "c")]  # fmt: skip
    again = private.top("d", 2, by="f", epsilon=50.0)
    assert again.repeated
    assert again.rows == first.rows
    assert not private.top("d", 1, by="f", epsilon=1.0).repeated
    for bad in ({"top": None}, {"top": 0}, {"top": 4}, {"column": "x"}, {"column": None}, {"top": True}):
        with pytest.raises(InvalidQuery):
            planned(policy_of(), **{**QUERY, **bad})
    query = query_from({"name": "q", **QUERY, "epsilon": 2.0})
    (shown,) = preview([query], policy=policy_of())
    assert (shown.error, shown.remark) == (
        3.0,
        f"each; told apart from {math.ceil(2 * math.log(2 / 0.05))} rows on",
    )
    assert len(dry_run([query], policy_of())[0].rows) == 2
