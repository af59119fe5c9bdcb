"""Whatever one row holds, the others are read as they were: every model, every way in, every value that lies.

A table and a neighbour that differs in one row: the same refusal or none, no warning, every other row read to
the same bits, and exact totals that move by what one row may move. A thousand pairs are tried in the default
run, tens of thousands in the slow one; what a user's own library refuses never gets here.
"""

from __future__ import annotations

import math
import random
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from leakcap.errors import InvalidInput
from leakcap.models import (
    CustomLoss,
    LinearRegression,
    LinearSVC,
    LogisticLoss,
    LogisticRegression,
    Loss,
    PrivateDecisionTree,
    PrivateGradientDescent,
    RidgeRegression,
    SoftmaxLoss,
    SquaredLoss,
    columns,
    linear,
    reading,
    values,
)
from leakcap.models.growing import level_counts
from leakcap.models.margin import MarginClassifier
from leakcap.models.moments import Moments
from leakcap.models.private_model import PrivateModel
from leakcap.models.values import label_codes
from models.ways import WAYS, Closed, Pair, pairs
from models.world import ledger_of, policy_of
from seeded import SeededSource

POLICY = policy_of(max_rows=100)
Totals = tuple[np.ndarray[Any, Any], float]
"""Exact integers of a table, and how far one row may move them (L2) in the same unit."""


def _everywhere(kind: type[Any]) -> set[type[Any]]:
    """All classes of leakcap's own below this one."""
    below = {found for one in kind.__subclasses__() for found in _everywhere(one)} | {kind}
    return {one for one in below if one.__module__.startswith("leakcap.") and not one.__abstractmethods__}


PLAN = Moments.plan([(-1.0, 1.0), (-1.0, 1.0), (-3.0, 3.0)], POLICY, epsilon=1.0, delta=1e-6)


def moments(model: LinearRegression, rows: Any, targets: Any) -> Totals:
    plan = PLAN
    found = linear._totals(plan, np.column_stack([rows, targets]))
    sizes = [plan.largest[i] * plan.largest[j] for i, j in plan.pairs]
    return np.array([total / size for total, size in zip(found, sizes, strict=True)]), math.sqrt(len(sizes))


def products(model: RidgeRegression, rows: Any, targets: Any) -> Totals:
    problem, _ = model._problem(rows, targets)
    found = np.concatenate([np.ravel(problem.a), np.ravel(problem.b)]).astype(float)
    return found / 2.0**40, math.sqrt(2.0)


def signed(model: MarginClassifier, rows: Any, targets: Any) -> Totals:
    z = model._signed(rows, targets)
    return z.sum(axis=0) / 2.0**20, math.sqrt(2.0)


def by_class(model: PrivateDecisionTree, rows: Any, targets: Any) -> Totals:
    bins, codes = model._counted(rows, targets)
    counts = level_counts(np.zeros_like(codes), bins, codes, nodes=1, bins_=model.bins, classes=2)
    return counts.ravel().astype(float), math.sqrt(2.0)


def gradients(model: PrivateGradientDescent, rows: Any, targets: Any) -> Totals:
    data = model._data(examples_like(rows, targets))
    theta = np.linspace(-0.5, 0.5, model._loss.size(3))
    return np.array(model._total(theta, data.X, data.y), dtype=float) / 2.0**16, 1.0


class examples_like:  # noqa: N801 - a stand-in for a value
    def __init__(self, rows: Any, targets: Any) -> None:
        self.rows, self.targets = rows, targets

    def read(self) -> Any:
        return self.rows, self.targets, None


LOSSES: dict[type[Loss], Loss] = {
    SquaredLoss: SquaredLoss(),
    LogisticLoss: LogisticLoss(),
    SoftmaxLoss: SoftmaxLoss((0, 1, 2)),
    CustomLoss: CustomLoss(lambda theta, x, y: (x @ theta - y) * x, lambda theta, X: X @ theta),
}
MODELS: dict[type[PrivateModel], tuple[list[dict[str, Any]], Callable[..., Totals]]] = {
    LinearRegression: ([{"bounds": (-1.0, 1.0), "target_bounds": (-3.0, 3.0)}], moments),
    RidgeRegression: ([{}], products),
    LogisticRegression: ([{}, {"classes": ("0", "1")}], signed),
    LinearSVC: ([{}], signed),
    PrivateDecisionTree: ([{}, {"bounds": [(-1.0, 1.0), (0.0, 1e300)]}], by_class),
    PrivateGradientDescent: ([{"steps": 3, "loss": loss} for loss in LOSSES.values()], gradients),
}
CASES = [(kind, options, exact) for kind, (some, exact) in MODELS.items() for options in some]


def model_of(kind: type[PrivateModel], options: dict[str, Any], **more: Any) -> Any:
    return kind(n_features=2, **options, **more)  # type: ignore[call-arg]


def test_every_model_and_loss_is_here() -> None:
    assert _everywhere(PrivateModel) == set(MODELS)
    assert _everywhere(Loss) == set(LOSSES)


def seen(case: int, pair: Pair, *, lies: bool) -> tuple[str, Any]:
    """What a model reads: its refusal, or the bits of all rows but the one that lies, and exact totals."""
    kind, options, exact = CASES[case]
    X, y = pair.given(lies=lies)
    model = model_of(kind, options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            rows, targets, _ = model._read(X, y, None).read()
        except InvalidInput as refusal:
            return f"{type(refusal).__name__}: {refusal}", None
        labelled = issubclass(kind, MarginClassifier | PrivateDecisionTree)
        numbers = label_codes(targets, model.classes) if labelled else targets
        others = np.delete(np.column_stack([rows, numbers]), 3, axis=0)
        totals = exact(model, rows, targets)
        without = exact(model, np.where(np.arange(6) == 3, np.nan, rows.T).T, targets)
    moved = float(np.linalg.norm(totals[0] - without[0]))
    assert moved <= totals[1] * (1 + 1e-9), (pair, moved)
    return "", (others.tobytes(), without[0].tobytes())


@cache
def seen_plain(case: int, way: str, style: str) -> tuple[str, Any] | None:
    try:
        return seen(case, Pair(way, style, "target", None), lies=False)
    except Closed:
        return None


def differing(chosen: list[tuple[int, Pair]]) -> tuple[Counter[str], list[Any]]:
    """How many pairs each way let through, and those that were told apart."""
    tried: Counter[str] = Counter()
    told = []
    for case, pair in chosen:
        plain = seen_plain(case, pair.way, pair.style)
        if plain is None:
            continue
        try:
            found = seen(case, pair, lies=True)
        except Closed:
            continue
        except Exception as error:  # a warning, or an error that is no refusal
            found = (repr(error), None)
        tried[pair.way] += 1
        if found != plain:
            told.append((CASES[case][:2], pair, plain[0], found[0]))
    return tried, told


def chosen(share: float, seed: int, *, missing: float = 0.0) -> list[tuple[int, Pair]]:
    """A share of all pairs, and at least a share of those of a missing value, which every way takes."""
    picks = random.Random(seed)
    likely = ((pair, max(share, missing) if pair.value is None else share) for pair in pairs())
    return [(picks.randrange(len(CASES)), pair) for pair, chance in likely if picks.random() < chance]


def test_no_row_changes_how_another_is_read() -> None:
    tried, told = differing(chosen(0.008, 1))
    assert not told, told[:5]
    assert len(tried) > 0.8 * len(WAYS)
    assert tried.total() > 900


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_no_row_changes_how_another_is_read_in_ten_thousands(part: int) -> None:
    tried, told = differing(chosen(0.125, 100 + part, missing=1.0))
    assert not told, told[:5]
    assert set(tried) == set(WAYS)
    assert tried.total() > 15_000


PLANTED: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "lists": lambda patch: patch.setattr(reading, "_given", lambda data, name, owner: np.asarray(data)),
    "pandas": lambda patch: patch.setattr(reading, "library_of", lambda data: None),
    "list of tuples": lambda patch: patch.setattr(values, "number_of", float),
    "pandas of arrow text": lambda patch: patch.setattr(
        columns, "_text", lambda stored: None if stored is None else stored.decode()
    ),
}
"""By a way that they spoil: all read at once, numbers that fail, text taken for Unicode."""


@pytest.mark.parametrize("way", PLANTED)
def test_the_family_notices(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[way](monkeypatch)
    seen_plain.cache_clear()
    try:
        told = [pair for pair in pairs() if pair.way == way and isinstance(pair.value, complex | str | bytes)]
        assert differing([(0, pair) for pair in random.Random(9).sample(told, 120)])[1]
    finally:
        seen_plain.cache_clear()


def fitted(case: int, pair: Pair, *, lies: bool) -> str:
    """A fit to its end: what it refuses, or nothing. No warning, and one entry in the ledger or none."""
    kind, options, _ = CASES[case]
    X, y = pair.given(lies=lies)
    with ledger_of(POLICY) as ledger, warnings.catch_warnings():
        warnings.simplefilter("error")
        model = model_of(kind, options, policy=POLICY, ledger=ledger, source=SeededSource(7))
        try:
            model.fit(X, y)
        except InvalidInput as refusal:
            assert ledger.entries() == []
            return str(refusal)
        assert [entry.state for entry in ledger.entries()] == ["released"]
        return ""


def fits(share: float, seed: int) -> int:
    tried = 0
    for case, pair in chosen(share, seed):
        try:
            assert fitted(case, pair, lies=True) == fitted(case, pair, lies=False), (case, pair)
            tried += 1
        except Closed:
            pass
    return tried


def test_whole_fits_beside_a_row_that_lies() -> None:
    assert fits(0.00015, 5) > 10


@pytest.mark.slow
def test_hundreds_of_whole_fits_beside_a_row_that_lies() -> None:
    assert fits(0.004, 6) > 400
