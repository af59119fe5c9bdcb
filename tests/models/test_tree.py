"""The decision tree: exact counts, their sensitivity, ε on neighbours, the best splits without noise."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.datasets import load_breast_cancer, load_iris

from leakcap.errors import InvalidParameter
from leakcap.models import PrivateDecisionTree
from leakcap.models.growing import Growth, Split, level_counts
from models.world import ALARM, broken, ledger_of, policy_of
from seeded import SeededSource

POLICY = policy_of(max_rows=1000)


def growth(epsilon: int = 1, **changes: Any) -> Growth:
    shape: dict[str, Any] = {"bins": 4, "classes": 2, "depth": 2, "moves": 1}
    return Growth.plan(2, **{**shape, **changes}, epsilon=Fraction(epsilon))


def test_the_parts_of_epsilon_add_up() -> None:
    """Every level's and the leaves' sensitivity over their scale, by hand."""
    for depth, moves, features in itertools.product((0, 1, 3), (1, 2, 6), (1, 4)):
        plan = Growth.plan(features, bins=8, classes=3, depth=depth, epsilon=Fraction(3, 2), moves=moves)
        spent = depth * Fraction(features * moves) / plan.level if depth else Fraction(0)
        assert spent + Fraction(moves) / plan.leaves == Fraction(3, 2)


def test_a_row_moves_the_counts_by_what_is_paid_for() -> None:
    """All pairs of rows of a small world, at every node: one in each feature's histogram, and in no other."""
    bins = np.array(list(itertools.product(range(3), repeat=2)))
    for node, (first, second) in itertools.product((0, 1), itertools.product(bins, repeat=2)):
        for one, two in itertools.product((0, 1), repeat=2):
            left, right = (
                level_counts(np.array([node]), row[None, :], np.array([code]), nodes=2, bins_=3, classes=2)
                for row, code in ((first, one), (second, two))
            )
            assert left.sum() == 2
            assert (left.sum(axis=(2, 3)) == np.where(np.arange(2) == node, 1, 0)[:, None]).all()
            assert np.abs(left - right).sum() <= 2 * 2


def outcomes(rows: int, seed: int, share: Fraction) -> Any:
    """Splits and leaves of 2,000 trees of one level, grown on so many equal rows and three others."""
    plan = growth(epsilon=2, depth=1, bins=2)
    plan = replace(plan, level=plan.level * share, leaves=plan.leaves * share)
    source = SeededSource(seed)
    bins = np.array([[0, 0], [1, 1], [1, 0]] + [[1, 1]] * rows)
    codes = np.array([0, 1, 0] + [1] * rows)
    found = []
    for _ in range(2_000):
        (split,), counts = plan.grow(bins, codes, source)
        found.append([-1 if split is None else split.feature, *counts.ravel().tolist()])
    return np.array(found)


def proofs(share: Fraction) -> list[bool]:
    """Whether an event is likelier by more than e² with a row than without, or the other way."""
    with_it, without = outcomes(1, 31, share), outcomes(0, 32, share)
    events = []
    for feature in (-1, 0, 1):
        for threshold in (0, 1, 2):
            for leaf in (2, 4):
                events.append(
                    tuple((one[:, 0] == feature) & (one[:, leaf] >= threshold) for one in (with_it, without))
                )
    return [broken(*pair, 2.0) for one, other in events for pair in ((one, other), (other, one))]


def test_neighbours_keep_epsilon_and_a_third_of_the_noise_does_not() -> None:
    """ε = 2 for split and leaves together. False alarms: see `models.world.broken`."""
    assert not any(proofs(Fraction(1)))
    assert any(proofs(Fraction(1, 3)))


def test_the_noise_has_its_law() -> None:
    """No rows: leaves are noise alone, of a discrete Laplace law; half the scale is caught."""
    for scale, good in ((Fraction(4), True), (Fraction(2), False)):
        plan = replace(growth(depth=0, classes=200), leaves=scale)
        empty = np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64)
        source = SeededSource(33)
        draws = np.concatenate([plan.grow(*empty, source)[1].ravel() for _ in range(100)])
        decay = np.exp(-0.25)
        cells = np.arange(-20, 21)
        law = (1 - decay) / (1 + decay) * decay ** np.abs(cells)
        law[[0, -1]] += (1 - law.sum()) / 2
        counted = np.bincount(np.clip(draws, -20, 20) + 20, minlength=41)
        assert bool(chisquare(counted, law * draws.size).pvalue > ALARM) is good


def gini(codes: Any) -> float:
    shares = np.bincount(codes, minlength=3) / max(len(codes), 1)
    return len(codes) * (1.0 - float((shares**2).sum()))


def test_without_noise_each_split_is_the_best_there_is() -> None:
    """By trying all of them on the rows themselves; the noise is a billionth here."""
    generator = np.random.default_rng(34)
    for _ in range(10):
        bins, codes = generator.integers(0, 6, (300, 3)), generator.integers(0, 3, 300)
        plan = Growth.plan(3, bins=6, classes=3, depth=2, epsilon=Fraction(10**4), moves=1)
        splits, counts = plan.grow(bins, codes, SeededSource(35))
        node = np.zeros(300, dtype=int)
        for level in range(2):
            for place in range(2**level):
                mine, split = node == place, splits[2**level - 1 + place]
                assert split is not None
                tried = {
                    (f, b): gini(codes[mine & (bins[:, f] < b)]) + gini(codes[mine & (bins[:, f] >= b)])
                    for f in range(3)
                    for b in range(1, 6)
                }
                assert tried[split.feature, split.bin] == pytest.approx(min(tried.values()), abs=1e-9)
            chosen = splits[2**level - 1 : 2**level - 1 + 2**level]
            node = 2 * node + np.array(
                [bins[row, s.feature] >= s.bin for row, s in enumerate(chosen[n] for n in node) if s]
            )
        exact = np.array([np.bincount(codes[node == leaf], minlength=3) for leaf in range(4)])
        assert (counts == exact).all()
        assert (plan.leaf_of(bins, splits) == node).all()


def test_a_node_that_noise_drowns_is_not_split() -> None:
    splits, counts = growth().grow(
        np.zeros((3, 2), dtype=np.int64), np.zeros(3, dtype=np.int64), SeededSource(36)
    )
    assert splits == [None, None, None]
    assert counts.shape == (4, 2)


def test_a_tree_in_words_and_its_way_back() -> None:
    X = np.array([[x / 50 - 1.0, 0.0] for x in range(100)] * 10)
    y = np.where(X[:, 0] < -0.5, "a", np.where(X[:, 0] < 0.25, "b", "c"))
    with ledger_of(POLICY) as ledger:
        options: dict[str, Any] = {"policy": POLICY, "ledger": ledger, "classes": ("a", "b", "c")}
        model = PrivateDecisionTree(**options, epsilon=500.0, depth=2, source=SeededSource(37))
        model.fit(X, y, version="1")
        assert model.score(X, y) == 1.0
        lines = model.text(["height", "width"]).splitlines()
        assert lines[0] in ("height < -0.5", "height < 0.25")
        assert sum(line.strip().startswith("a: ") for line in lines) >= 3
        again = PrivateDecisionTree(**options, epsilon=500.0, depth=2).fit(X, y, version="1")
        assert again.repeated_
        assert again.text() == model.text()
        assert again.splits_[0] == Split(0, again.splits_[0].bin)  # type: ignore[union-attr]
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(("load", "least"), [(load_iris, 0.85), (load_breast_cancer, 0.85)])
def test_real_tables(load: Any, least: float) -> None:
    """Within public ranges of width; without privacy such trees have 0.93 to 0.97."""
    X, y = load(return_X_y=True)
    X = X[:, :4]
    highs = {4: [8.0, 5.0, 7.0, 3.0]}.get(X.shape[1]) if len(y) == 150 else [30.0, 40.0, 200.0, 2500.0]
    bounds = [(0.0, high) for high in highs or []]
    with ledger_of(POLICY) as ledger:
        model = PrivateDecisionTree(
            policy=POLICY, ledger=ledger, epsilon=20.0 if len(y) == 150 else 5.0, depth=2, bounds=bounds,
            classes=tuple(range(int(y.max()) + 1)), source=SeededSource(38),
        ).fit(X, y)  # fmt: skip
        assert model.score(X, y) > least


@pytest.mark.parametrize(
    "options",
    [
        {"depth": -1},
        {"depth": 13},
        {"depth": 2.0},
        {"bins": 1},
        {"bins": 2000},
        {"bounds": (1.0, 1.0)},
        {"bounds": (0.0, float("inf"))},
        {"bounds": "wide"},
        {"bounds": [(0.0, 1.0), (0.0, 1.0)]},
        {"classes": (1,)},
        {"epsilon": 0.0},
        {"depth": 12, "bins": 1024, "classes": tuple(range(50))},
    ],
    ids=str,
)
def test_refused_before_anything_is_paid(options: dict[str, Any]) -> None:
    with ledger_of(POLICY) as ledger:
        model = PrivateDecisionTree(policy=POLICY, ledger=ledger, n_features=1, **options)
        with pytest.raises(InvalidParameter) as refused:
            model.fit(np.zeros((5, 1)), np.zeros(5))
        assert "\n" not in str(refused.value)
        assert not ledger.entries()
