"""Attackers on a black box: from pairs to learn from to a belief about the secret after each output."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leakcap.audit.drawn import DrawnPairs
from leakcap.errors import InvalidInput, InvalidParameter
from leakcap.numeric.logspace import Floats

__all__ = ["Attacker", "Posterior", "attackers_of"]

Posterior = Callable[[DrawnPairs], Floats]
"""Beliefs about the secret after the output of each pair, one row each; no pair's secret is looked at."""

_MIXED = 0.02


class Attacker(ABC):
    """A way to learn; what it learns may be as wrong as it likes without making a lower end wrong."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called in an answer."""

    @abstractmethod
    def learn(self, seen: DrawnPairs) -> Posterior:
        """What it makes of pairs."""


@dataclass(frozen=True)
class _Frequencies(Attacker):
    """How often each secret gave each output, drawn towards how often the output came at all."""

    shrunk: float
    bins: int = 0

    @property
    def name(self) -> str:
        return f"frequencies in {self.bins} bins" if self.bins else "frequencies"

    def learn(self, seen: DrawnPairs) -> Posterior:
        cut = _cuts(seen, self.bins) if self.bins else None
        seen = seen if cut is None else _binned(seen, cut)
        joint, each, belief = seen.joint(), seen.each.astype(float), seen.belief
        kept = each / (each + self.shrunk)
        towards = belief * self.shrunk / (each + self.shrunk)
        marginal = np.asarray(joint.sum(axis=1)).ravel()

        def posterior(asked: DrawnPairs) -> Floats:
            code = asked.output if cut is None else _binned(asked, cut).output
            rows = joint[code].toarray() * kept + np.outer(marginal[code], towards)
            rows[marginal[code] == 0.0] = belief
            return np.asarray(rows / rows.sum(axis=1, keepdims=True))

        return posterior


def _cuts(seen: DrawnPairs, bins: int) -> Floats:
    assert seen.numbers is not None
    return np.unique(np.quantile(seen.numbers[:, 0], np.arange(1, bins) / bins))


def _binned(pairs: DrawnPairs, cuts: Floats) -> DrawnPairs:
    assert pairs.numbers is not None
    return replace(
        pairs, output=np.searchsorted(cuts, pairs.numbers[:, 0], side="right"), outputs=len(cuts) + 1
    )


@dataclass(frozen=True)
class _Nearest(Attacker):
    """The secrets of the k nearest outputs, in units of each coordinate's spread, and the prior as one."""

    power: float

    @property
    def name(self) -> str:
        return "nearest neighbours"

    def learn(self, seen: DrawnPairs) -> Posterior:
        from scipy.spatial import cKDTree

        assert seen.numbers is not None
        k = max(1, min(len(seen), round(math.log(len(seen)) if self.power == 0 else len(seen) ** self.power)))
        scale = _spread(seen.numbers)
        tree, belief = cKDTree(seen.numbers / scale), seen.belief
        worth = seen.weights * len(seen)

        def posterior(asked: DrawnPairs) -> Floats:
            assert asked.numbers is not None
            near = np.asarray(tree.query(asked.numbers / scale, k=k)[1]).reshape(len(asked), k)
            rows = np.tile(belief, (len(asked), 1))
            whose = np.repeat(np.arange(len(asked)), k), seen.secret[near].ravel()
            np.add.at(rows, whose, worth[near].ravel())
            return np.asarray(rows / rows.sum(axis=1, keepdims=True))

        return posterior


def _spread(numbers: Floats) -> Floats:
    """How wide the middle nine tenths of each coordinate are; one number far away changes nothing."""
    low, high = np.quantile(numbers, [0.05, 0.95], axis=0)
    whole = np.ptp(numbers, axis=0)
    wide = np.where(high > low, high - low, whole)
    return np.where(wide > 0.0, wide, 1.0)


@dataclass(frozen=True)
class _Fitted(Attacker):
    """A classifier with `fit` and `predict_proba` or `predict`, as scikit-learn's; it sees coordinates."""

    classifier: Any

    @property
    def name(self) -> str:
        return type(self.classifier).__name__

    def learn(self, seen: DrawnPairs) -> Posterior:
        from copy import deepcopy

        model = deepcopy(self.classifier)
        try:
            model.fit(seen.numbers, seen.secret)
        except ValueError as error:
            raise InvalidInput(
                f"`attackers` of `black_box`: {self.name} could not learn from {len(seen)} samples of "
                f"{int((seen.each > 0).sum())} secrets. Give more samples, or another attacker."
            ) from error
        tilt = seen.belief / np.maximum(seen.each / len(seen), 1e-300)
        belief = seen.belief

        def posterior(asked: DrawnPairs) -> Floats:
            rows = np.zeros((len(asked), len(asked.secrets)))
            if hasattr(model, "predict_proba"):
                rows[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(asked.numbers)
            else:
                rows[np.arange(len(asked)), np.asarray(model.predict(asked.numbers), dtype=np.intp)] = 1.0
            rows = np.where(np.isfinite(rows), rows, 0.0) * tilt
            rows += _MIXED * np.maximum(rows.sum(axis=1, keepdims=True), 1e-9) * belief
            return np.asarray(rows / rows.sum(axis=1, keepdims=True))

        return posterior


def attackers_of(asked: Sequence[Any] | None, pairs: DrawnPairs) -> list[Attacker]:
    """The attackers that were asked for: by name, as a classifier, or all that suit the outputs.

    >>> from leakcap.audit.drawn import read_pairs
    >>> sorted({one.name for one in attackers_of(None, read_pairs([0, 1] * 50, ["a", "b"] * 50, None))})
    ['frequencies']
    """
    numeric = pairs.numbers is not None
    wanted = asked if asked is not None else ["frequencies", *(["nearest", "bins"] if numeric else [])]
    found: list[Attacker] = []
    for one in wanted:
        if one == "frequencies":
            found += [_Frequencies(shrunk) for shrunk in (0.1, 1.0, 5.0, 30.0)]
            continue
        if one not in ("nearest", "bins", "forest") and not hasattr(one, "fit"):
            raise InvalidParameter(
                "`attackers` of `black_box` must be 'frequencies', 'nearest', 'bins', 'forest' or "
                f"classifiers with `fit`. Got {str(one)[:60]!r}."
            )
        if not numeric:
            raise InvalidParameter(
                "`attackers` of `black_box` other than 'frequencies' need outputs that are numbers. Got "
                "texts, or vectors of several lengths."
            )
        found += _numeric(one, pairs)
    return found


def _numeric(one: Any, pairs: DrawnPairs) -> list[Attacker]:
    if one == "nearest":
        return [_Nearest(power) for power in (0.0, 0.35, 0.5, 2 / 3)]
    if one == "bins":
        single = pairs.numbers is not None and pairs.numbers.shape[1] == 1
        return [_Frequencies(1.0, bins) for bins in (4, 12, 40)] if single else []
    return [_Fitted(_forest() if isinstance(one, str) else one)]


def _forest() -> Any:
    try:
        from sklearn.ensemble import RandomForestClassifier  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise InvalidParameter(
            "`attackers` of `black_box`: 'forest' needs scikit-learn. `pip install 'leakcap[learned]'`."
        ) from None
    return RandomForestClassifier(n_estimators=100, min_samples_leaf=5, random_state=0)
