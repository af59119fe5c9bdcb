"""A decision tree grown from noisy counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.errors import InvalidParameter, require
from leakcap.ledger import Entry
from leakcap.mechanism import TwoSidedGeometric
from leakcap.models.budget import FitAccount, asked_of, check_epsilon, pure_spend
from leakcap.models.examples import Examples, Scaling
from leakcap.models.growing import Growth, Integers, Split
from leakcap.models.private_model import PrivateModel
from leakcap.models.scores import accuracy
from leakcap.models.values import Floats, label_codes
from leakcap.sampling.rational import printed

__all__ = ["PrivateDecisionTree"]

_MOST_CELLS = 10**7
_MOST_DEPTH, _MOST_BINS = 12, 1024


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateDecisionTree(PrivateModel):
    """Classes told apart by thresholds on features, chosen from noisy counts of rows; (ε, 0).

    Features are cut into `bins` of equal width over public bounds: those of the policy's columns in
    `fit_table`, `bounds` in `fit` (one pair for all features, or one for each), to which values are clamped.
    The tree has 2^`depth` leaves at most; a node that noise drowns is not split. Half of ε pays for the
    counts in the leaves, the rest for the splits. Rows whose label is none of the public `classes` are left
    out. After `fit`: `splits_` (level by level from left to right, None where there is none), `counts_`
    (noisy rows of each class in each leaf), `noise_scale_` (of these), `classes_`, `spend_`, `entry_`;
    `text()` prints the tree.
    Source: Friedman & Schuster 2010 (here counts, in place of an exponential choice); Breiman, Friedman,
    Olshen & Stone 1984 for Gini's index.

    >>> from leakcap.ledger import Caps, Ledger
    >>> from leakcap.release import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0},
    ...     "columns": {"x": {"bounds": [0.0, 1.0]}}})
    >>> x = np.linspace(-1.0, 1.0, 4_000)[:, None]
    >>> with Ledger.open("sqlite://", dataset="d", policy=policy.fingerprint(),
    ...         caps=Caps(epsilon=9.0)) as ledger:
    ...     model = PrivateDecisionTree(policy=policy, ledger=ledger, epsilon=4.0, depth=1)
    ...     _ = model.fit(x, x[:, 0] > 0)
    >>> print(model.text(["x"]).splitlines()[0])
    x < 0
    """

    kind: ClassVar[str] = "classifier"
    delta: ClassVar[float] = 0.0

    epsilon: float = 1.0
    depth: int = 3
    bins: int = 16
    bounds: Any = (-1.0, 1.0)
    classes: Sequence[Any] = (0, 1)

    splits_: list[Split | None] = field(init=False)
    counts_: Integers = field(init=False)
    classes_: NDArray[Any] = field(init=False)
    noise_scale_: float = field(init=False)

    def growth(self, features: int, *, replace: bool, most: int = 1) -> Growth:
        """The shape and the noise for so many features, and `most` rows of a person. Touches no data.

        Raises `InvalidParameter` for more counts than memory should hold.
        """
        growth = Growth.plan(
            features,
            bins=self.bins,
            classes=len(self.classes),
            depth=self.depth,
            epsilon=printed(self.epsilon),
            moves=(2 if replace else 1) * most,
        )
        if growth.cells > _MOST_CELLS:
            raise InvalidParameter(
                f"A tree of {self.depth} levels, {self.bins} bins, {features} features and "
                f"{len(self.classes)} classes needs {growth.cells:,} counts at once, and may have "
                f"{_MOST_CELLS:,}. Take a smaller `depth` or `bins`."
            )
        return growth

    def _read(self, X: ArrayLike, y: ArrayLike | None, version: str | None) -> Examples:
        """Arrays, clamped to `bounds` and scaled, value by value."""
        examples = super()._read(X, y, version)
        scaling = Scaling.of(self._pairs(examples.features), None, centred=True)
        rows, targets, people = examples.read()
        scaled = scaling.inward(rows)
        text = f"{examples.text} within {self._pairs(examples.features)!r}"
        return replace(examples, text=text, scaling=scaling, read=lambda: (scaled, targets, people))

    def _run(self, account: FitAccount, examples: Examples, *, fresh: bool) -> Self:
        growth = self.growth(examples.features, replace=account.replace, most=examples.most)
        spend = pure_spend(self.epsilon, account.policy)
        details: dict[str, str | float | int] = {
            "mechanism": "discrete Laplace on counts by class",
            "noise_scale_level": float(growth.level),
            "noise_scale_leaves": float(growth.leaves),
        }

        def draw(entry: Entry) -> Floats:
            rows, labels, _ = examples.read()
            splits, counts = growth.grow(*self._counted(rows, labels), self.source)
            return _written(splits, counts)

        asked = asked_of(self.epsilon, 0.0)
        charge = account.charge("decision tree", self._text(examples), spend, details, asked=asked)
        found = account.answered(charge, draw, data=examples.data, fresh=fresh)
        self.splits_, self.counts_ = _read_back(found.values.ravel(), self.depth, len(self.classes))
        self._growth, self._scaling = growth, examples.scaling
        self.noise_scale_, self.classes_ = float(growth.leaves), np.array(self.classes)
        self.n_features_in_ = examples.features
        self._note(spend, found)
        return self

    def _counted(self, rows: Floats, labels: NDArray[Any]) -> tuple[Integers, Integers]:
        """Bins and class of each row that counts, from features in [−1, 1]."""
        codes = label_codes(labels, self.classes)
        counts = np.isfinite(codes) & np.isfinite(rows).all(axis=1)
        return _bins(rows[counts], self.bins), codes[counts].astype(np.int64)

    def _check(self) -> None:
        owner = type(self).__name__
        check_epsilon(self.epsilon, 0.0, owner)
        for name, least, most in (("depth", 0, _MOST_DEPTH), ("bins", 2, _MOST_BINS)):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
            require(whole, name, owner, f"be a whole number from {least} to {most}", value)
        label_codes(np.zeros(0), self.classes, f"`{owner}`")
        self._pairs(1 if self.n_features is None else self.n_features)

    def _pairs(self, features: int) -> list[tuple[float, float]]:
        """The public bounds of each feature."""
        owner = type(self).__name__
        rule = "be a pair of finite numbers, the lower first, or one such pair for each feature"
        try:
            given = np.asarray(self.bounds, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.zeros(0)
        single = given.shape == (2,)
        listed = given.ndim == 2 and given.shape[1:] == (2,) and self.n_features in (None, len(given))
        require(single or listed, "bounds", owner, rule, self.bounds)
        pairs = [(float(low), float(high)) for low, high in ([given] * features if single else given)]
        good = all(math.isfinite(high - low) and low < high for low, high in pairs)
        require(good, "bounds", owner, rule, self.bounds)
        return pairs

    def _text(self, examples: Examples) -> str:
        return (
            f"decision tree of {examples.text}, depth {self.depth}, {self.bins} bins, "
            f"classes {list(self.classes)!r}"
        )

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The share of each class in the leaf of each row, from its noisy counts; equal if there are none."""
        rows = self._inputs(X)  # says so where nothing was fitted
        leaf = self._growth.leaf_of(_bins(self._scaling.inward(rows), self.bins), self.splits_)
        counts = np.maximum(self.counts_, 0).astype(np.float64)
        empty = counts.sum(axis=1) == 0
        counts[empty] = 1.0
        shares = counts / counts.sum(axis=1, keepdims=True)
        return np.asarray(shares[leaf])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class with the largest noisy count in the leaf of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """The share of right answers on data that is public or your own: it is not private."""
        return accuracy(np.asarray(y), self.predict(X))

    def leaves(self, features: Sequence[str] | None = None) -> Iterator[tuple[str, Integers]]:
        """Each leaf that rows can reach: its conditions in words, and its noisy counts by class."""
        names = self._names_of(features)
        for leaf, conditions in _paths(self.splits_, self.depth):
            said = [self._said(split, right, names) for split, right in conditions]
            yield " and ".join(said) or "all", self.counts_[leaf]

    def count_error(self) -> int:
        """How far the noise of a leaf's count goes: further with a probability of 5 % at most, exactly."""
        self._require_fitted()
        return TwoSidedGeometric(self._growth.leaves).error(0.05)

    def text(self, features: Sequence[str] | None = None) -> str:
        """The tree in words, a condition or a leaf a line."""
        names = self._names_of(features)
        lines: list[str] = []
        known: list[tuple[Split, bool]] = []
        for leaf, conditions in _paths(self.splits_, self.depth):
            same = 0
            while same < min(len(known), len(conditions)) and known[same] == conditions[same]:
                same += 1
            for place in range(same, len(conditions)):
                lines.append("  " * place + self._said(*conditions[place], names))
            counts = zip(self.classes_.tolist(), self.counts_[leaf].tolist(), strict=True)
            lines.append("  " * len(conditions) + ", ".join(f"{label}: {count}" for label, count in counts))
            known = conditions
        return "\n".join(lines)

    def _names_of(self, features: Sequence[str] | None) -> Sequence[str]:
        self._require_fitted()
        return features or [f"x{place}" for place in range(self.n_features_in_)]

    def _said(self, split: Split, right: bool, features: Sequence[str]) -> str:
        middle, half = self._scaling.middle[split.feature], self._scaling.half[split.feature]
        threshold = float(middle + half * (2.0 * split.bin / self.bins - 1.0))
        return f"{features[split.feature]} {'≥' if right else '<'} {threshold:.6g}"


def _bins(scaled: Floats, bins: int) -> Integers:
    """The bin of each number in [−1, 1], number by number; NaN is in none and stands in the first."""
    places = np.floor((np.nan_to_num(scaled, nan=-1.0) + 1.0) / 2.0 * bins)
    return np.clip(places, 0, bins - 1).astype(np.int64)


def _written(splits: Sequence[Split | None], counts: Integers) -> Floats:
    """The tree as numbers, as the ledger keeps it: feature and bin of each split, then the counts."""
    told = [(-1, 0) if split is None else (split.feature, split.bin) for split in splits]
    return np.concatenate([np.array(told, dtype=np.float64).ravel(), counts.ravel().astype(np.float64)])


def _read_back(numbers: Floats, depth: int, classes: int) -> tuple[list[Split | None], Integers]:
    whole = np.rint(numbers).astype(np.int64)
    inner = 2**depth - 1
    pairs = whole[: 2 * inner].reshape(inner, 2).tolist()
    splits = [None if feature < 0 else Split(feature, bin_) for feature, bin_ in pairs]
    return splits, whole[2 * inner :].reshape(2**depth, classes)


def _paths(splits: Sequence[Split | None], depth: int) -> Iterator[tuple[int, list[tuple[Split, bool]]]]:
    """Each leaf that can be reached, from left to right, with the splits above it and which side it is on."""
    for leaf in range(2**depth):
        conditions: list[tuple[Split, bool]] = []
        for level in range(depth):
            node = leaf >> (depth - level)
            right = bool(leaf >> (depth - level - 1) & 1)
            split = splits[2**level - 1 + node]
            if split is not None:
                conditions.append((split, right))
            elif right:
                break
        else:
            yield leaf, conditions
