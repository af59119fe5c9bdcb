"""Gains with structure, whose best action is found without the table of all actions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidParameter, require
from leakcap.gain.base import Gain, sparse_columns
from leakcap.numeric.columns import row_blocks
from leakcap.numeric.logspace import Floats

__all__ = ["Classes", "Diagonal", "TopGuesses"]

_FAINT = 1e-290
"""Output probabilities below this have no safe reciprocal."""

_ROWS = 32
"""Rows looked at together."""

_LARGEST_TABLE = 1 << 24
"""Entries of the largest table that is written out."""


@dataclass(frozen=True, eq=False)
class Diagonal(Gain):
    """One guess at the secret, worth `worth[x]` when x is right: g(w, x) = 1{w = x}·worth_x.

    >>> Diagonal(np.ones(2)).best(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.2, 0.8]]))
    array([0.45, 0.4 ])
    """

    worth: Floats
    secret_labels: tuple[Hashable, ...] | None = None

    def __post_init__(self) -> None:
        ok = self.worth.ndim == 1 and bool(np.isfinite(self.worth).all() and (self.worth >= 0).all())
        require(ok, "worth", "Diagonal", "be a vector of finite numbers ≥ 0", self.worth.tolist())

    @property
    def size(self) -> int:
        """The number of secrets."""
        return len(self.worth)

    @property
    def secrets(self) -> tuple[Hashable, ...] | None:
        """The labels of the secrets, None for any labels."""
        return self.secret_labels

    @property
    def actions(self) -> tuple[Hashable, ...]:
        """The secrets that can be guessed."""
        return self.secret_labels or tuple(range(self.size))

    @property
    def table(self) -> Floats:
        """g as a matrix of shape (w, x)."""
        return np.asarray(np.diag(self.worth), dtype=np.float64)

    @property
    def nonnegative(self) -> bool:
        """Always."""
        return True

    def best(self, weights: Floats, columns: Any) -> Floats:
        """The largest weighted entry of each column, in one pass over blocks of rows."""
        scale = self.worth * weights
        if sparse_columns(columns):
            return _sparse_best(scale, columns)
        if np.all(scale == scale[0]):
            return np.asarray(scale[0] * columns.max(axis=0))
        top = scale[0] * columns[0]
        room: Floats | None = None
        for rows in row_blocks((columns.shape[0], columns.shape[1])):
            room = np.empty_like(columns[rows]) if room is None else room
            scaled = np.multiply(columns[rows], scale[rows, None], out=room[: len(columns[rows])])
            np.maximum(top, scaled.max(axis=0), out=top)
        return np.asarray(top)

    def worst(self, weights: Floats, columns: Any, centre: Floats) -> float:
        """max_x scale_x·max_y C_xy/q_y: rows by falling scale, until the lift says that none can win."""
        scale = self.worth * weights
        faint = bool(np.min(centre, where=centre > 0, initial=1.0) < _FAINT)
        if sparse_columns(columns) or faint or np.all(scale == scale[0]):
            return super().worst(weights, columns, centre)
        inverse = np.divide(1.0, centre, out=np.zeros_like(centre), where=centre > 0)
        lift, best = float((columns.max(axis=0) * inverse).max()), 0.0
        order = np.argsort(-scale)
        for start in range(0, order.size, _ROWS):
            rows = order[start : start + _ROWS]
            if scale[rows[0]] * lift <= best:
                break
            best = max(best, float(((columns[rows] * inverse).max(axis=1) * scale[rows]).max()))
        return best

    def best_actions(self, weights: Floats, columns: Floats) -> NDArray[np.intp]:
        """The guess for each y."""
        return np.asarray(((self.worth * weights)[:, None] * columns).argmax(axis=0))


@dataclass(frozen=True, eq=False)
class TopGuesses(Gain):
    """k guesses at the secret: an action is a set of k secrets, worth 1 when it holds the right one.

    >>> TopGuesses(3, 2).best(np.ones(3) / 3, np.array([[0.6], [0.3], [0.3]]))
    array([0.3])
    """

    count: int
    guesses: int
    secret_labels: tuple[Hashable, ...] | None = None

    @property
    def size(self) -> int:
        """The number of secrets."""
        return self.count

    @property
    def secrets(self) -> tuple[Hashable, ...] | None:
        """The labels of the secrets, None for any labels."""
        return self.secret_labels

    @property
    def actions(self) -> tuple[Hashable, ...]:
        """All sets of k secrets, in lexicographic order."""
        self._require_small()
        labels = self.secret_labels or tuple(range(self.count))
        return tuple(itertools.combinations(labels, self.guesses))

    @property
    def table(self) -> Floats:
        """g as a matrix of shape (w, x); refused when it would be huge."""
        self._require_small()
        sets = np.array(list(itertools.combinations(range(self.count), self.guesses)))
        rows = np.zeros((len(sets), self.count))
        np.put_along_axis(rows, sets, 1.0, axis=1)
        return rows

    @property
    def nonnegative(self) -> bool:
        """Always."""
        return True

    def best(self, weights: Floats, columns: Any) -> Floats:
        """The sum of the k largest entries of each column."""
        if sparse_columns(columns):
            return _sparse_top(weights, columns, self.guesses)
        result = np.empty(columns.shape[1])
        for part in row_blocks((columns.shape[1], columns.shape[0])):
            joint = weights[:, None] * columns[:, part]
            result[part] = np.partition(joint, self.count - self.guesses, axis=0)[-self.guesses :].sum(axis=0)
        return result

    def best_actions(self, weights: Floats, columns: Floats) -> NDArray[np.intp]:
        """The place in `actions` of a best set for each y."""
        return np.asarray(((self.table * weights) @ columns).argmax(axis=0))

    def _require_small(self) -> None:
        number = math.comb(self.count, self.guesses)
        if number * self.count > _LARGEST_TABLE:
            raise InvalidParameter(
                f"the table of a gain must have at most {_LARGEST_TABLE} entries. Got {number} actions on "
                f"{self.count} secrets. Ask for its vulnerability, which needs no table."
            )


@dataclass(frozen=True, eq=False)
class Classes(Gain):
    """One guess at a property of the secret, a function of it: g(w, x) = 1{property(x) = w}.

    >>> parity = Classes(("even", "odd", "even"))
    >>> parity.best(np.ones(3) / 3, np.ones((3, 1)))
    array([0.66666667])
    """

    classes: tuple[Hashable, ...]
    secret_labels: tuple[Hashable, ...] | None = None

    @property
    def size(self) -> int:
        """The number of secrets."""
        return len(self.classes)

    @property
    def secrets(self) -> tuple[Hashable, ...] | None:
        """The labels of the secrets, None for any labels."""
        return self.secret_labels

    @property
    def actions(self) -> tuple[Hashable, ...]:
        """The values of the property, in order of first appearance."""
        return tuple(dict.fromkeys(self.classes))

    @property
    def table(self) -> Floats:
        """g as a matrix of shape (w, x)."""
        index = self._index()
        return np.asarray(np.arange(len(self.actions))[:, None] == index[None, :], dtype=np.float64)

    @property
    def nonnegative(self) -> bool:
        """Always."""
        return True

    def best(self, weights: Floats, columns: Any) -> Floats:
        """The largest sum of joint probabilities over the secrets of one class."""
        return np.asarray(self._sums(weights, columns).max(axis=0))

    def best_actions(self, weights: Floats, columns: Floats) -> NDArray[np.intp]:
        """The guessed class for each y."""
        return np.asarray(self._sums(weights, columns).argmax(axis=0))

    def _sums(self, weights: Floats, columns: Floats) -> Floats:
        index = self._index()
        return np.array([weights[index == w] @ columns[index == w] for w in range(len(self.actions))])

    def _index(self) -> NDArray[np.intp]:
        place = {label: w for w, label in enumerate(self.actions)}
        return np.array([place[label] for label in self.classes], dtype=np.intp)


def _sparse_best(scale: Floats, columns: Any) -> Floats:
    csr = columns.tocsr()
    x = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    # Any other guess than the right one is worth nothing: zero is always within reach.
    top = np.zeros(csr.shape[1])
    np.maximum.at(top, csr.indices, scale[x] * csr.data)
    return top


def _sparse_top(weights: Floats, columns: Any, guesses: int) -> Floats:
    csr = columns.tocsr()
    joint = weights[np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))] * csr.data
    order = np.lexsort((-joint, csr.indices))
    outputs = csr.indices[order]
    rank = np.arange(order.size) - np.searchsorted(outputs, outputs)
    kept = rank < guesses
    return np.asarray(np.bincount(outputs[kept], weights=joint[order][kept], minlength=csr.shape[1]))
