"""The gain functions by name: `leakcap.gain.identity(3)`, `leakcap.gain.k_guesses(channel.inputs, 2)`, …

`secrets` is the number of secrets or their labels; with labels, a gain refuses a channel that names its
inputs otherwise.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from leakcap.errors import InvalidParameter, InvalidPrior, require
from leakcap.gain.base import Gain, Table
from leakcap.gain.structured import Classes, Diagonal, TopGuesses
from leakcap.numeric.logspace import Floats

__all__ = [
    "distance",
    "distribution_reciprocal",
    "identity",
    "k_guesses",
    "matrix",
    "negative_distance",
    "property_of",
    "within",
]

Secrets = int | Sequence[Hashable]


def identity(secrets: Secrets) -> Gain:
    """One guess at the whole secret: g(w, x) = 1{w = x}; its vulnerability is Bayes vulnerability.

    Source: Smith 2009.

    >>> identity(2).table
    array([[1., 0.],
           [0., 1.]])
    """
    count, labels = _count("identity", secrets)
    return Diagonal(np.ones(count), labels)


def k_guesses(secrets: Secrets, k: int) -> Gain:
    """k guesses at the whole secret: an action is a set of k secrets, worth 1 when x is in it.

    Source: Alvim et al. 2012, §III-C.

    >>> k_guesses(3, 2).table
    array([[1., 1., 0.],
           [1., 0., 1.],
           [0., 1., 1.]])
    """
    count, labels = _count("k_guesses", secrets)
    require(
        isinstance(k, int) and 1 <= k <= count, "k", "k_guesses", f"be a whole number from 1 to {count}", k
    )
    return TopGuesses(count, k, labels)


def property_of(classes: Sequence[Hashable] | Mapping[Hashable, Hashable]) -> Gain:
    """One guess at a property of the secret: g(w, x) = 1{class of x = w}.

    `classes` lists the class of each secret, or maps labels of secrets to their classes.

    >>> property_of({"y": "ill", "m": "ill", "n": "well"}).table
    array([[1., 1., 0.],
           [0., 0., 1.]])
    """
    require(len(classes) > 0, "classes", "property_of", "name the class of each secret", classes)
    if isinstance(classes, Mapping):
        return Classes(tuple(classes.values()), tuple(classes.keys()))
    return Classes(tuple(classes))


def distance(distances: ArrayLike, *, actions: Sequence[Hashable] | None = None) -> Gain:
    """A guess is worth more the nearer it is: g(w, x) = 1 − d(w, x)/max d, which is in [0, 1].

    `distances` is the matrix d of shape (w, x), not negative.

    >>> distance([[0, 1, 2], [1, 0, 1], [2, 1, 0]]).table
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """
    d = _distances("distance", distances)
    largest = float(d.max())
    return matrix(1.0 - d / largest if largest > 0 else np.ones_like(d), actions=actions)


def negative_distance(distances: ArrayLike, *, actions: Sequence[Hashable] | None = None) -> Gain:
    """Minus the distance to the guess, g(w, x) = −d(w, x): for additive leakages only (g is negative).

    >>> float(negative_distance([[0, 1], [1, 0]]).table[0, 1])
    -1.0
    """
    return matrix(0.0 - _distances("negative_distance", distances), actions=actions)


def within(distances: ArrayLike, radius: float, *, actions: Sequence[Hashable] | None = None) -> Gain:
    """A guess counts when it is within `radius` of the secret: g(w, x) = 1{d(w, x) ≤ radius}.

    >>> within([[0, 1, 2], [1, 0, 1], [2, 1, 0]], 1).table
    array([[1., 1., 0.],
           [1., 1., 1.],
           [0., 1., 1.]])
    """
    require(radius >= 0, "radius", "within", "be a number ≥ 0", radius)
    return matrix((_distances("within", distances) <= radius).astype(np.float64), actions=actions)


def distribution_reciprocal(prior: ArrayLike) -> Gain:
    """A right guess is worth its surprise: g_π(w, x) = 1{w = x}/π_x, 0 where π_x = 0.

    Its prior vulnerability under π is 1, its average leakage the Bayes capacity of the secrets that π
    allows, and its max-case leakage the lift. Source: Fernandes, McIver & Sadeghi 2022, theorem 1.

    >>> distribution_reciprocal([0.25, 0.75]).table.round(4).tolist()
    [[4.0, 0.0], [0.0, 1.3333]]
    """
    try:
        vector = np.array(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidPrior("a prior must be a vector of numbers, one a secret.") from None
    if vector.ndim != 1 or not np.isfinite(vector).all() or (vector < 0).any() or vector.sum() <= 0:
        raise InvalidPrior("a prior must be a vector of probabilities, not all zero. Got something else.")
    total = vector.sum()
    if abs(total - 1.0) > 1e-9:
        raise InvalidPrior(f"a prior must sum to one within 1e-09. Got {float(total)!r}.")
    return Diagonal(np.divide(total, vector, out=np.zeros_like(vector), where=vector > 0))


def matrix(
    entries: ArrayLike,
    *,
    actions: Sequence[Hashable] | None = None,
    secrets: Sequence[Hashable] | None = None,
) -> Gain:
    """Any gain function, as a matrix of shape (w, x) of finite numbers.

    >>> matrix([[1, 0], [0, 1], [0.6, 0.6]], actions=["a", "b", "pass"]).actions
    ('a', 'b', 'pass')
    """
    table = _finite("matrix", entries)
    names = tuple(range(len(table))) if actions is None else tuple(actions)
    require(len(names) == len(table), "actions", "matrix", f"have {len(table)} labels", len(names))
    require(len(set(names)) == len(names), "actions", "matrix", "be distinct", names)
    labels = None if secrets is None else tuple(secrets)
    if labels is not None:
        require(
            len(labels) == table.shape[1], "secrets", "matrix", f"have {table.shape[1]} labels", len(labels)
        )
    table.setflags(write=False)
    return Table(table, names, labels)


def _count(owner: str, secrets: Secrets) -> tuple[int, tuple[Hashable, ...] | None]:
    if isinstance(secrets, int):
        require(secrets >= 1, "secrets", owner, "be at least 1", secrets)
        return secrets, None
    require(
        isinstance(secrets, Iterable), "secrets", owner, "be a number of secrets, or their labels", secrets
    )
    labels = tuple(secrets)
    require(len(labels) >= 1, "secrets", owner, "name at least one secret", labels)
    require(len(set(labels)) == len(labels), "secrets", owner, "be distinct labels", labels)
    return len(labels), labels


def _finite(owner: str, entries: ArrayLike) -> Floats:
    try:
        table = np.array(entries, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"`entries` of `{owner}` must be a rectangular matrix of numbers.") from None
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidParameter(
            f"`entries` of `{owner}` must have shape (w, x), not empty. Got {table.shape}."
        )
    if not np.isfinite(table).all():
        raise InvalidParameter(f"`entries` of `{owner}` must be finite. Got NaN or ∞.")
    return table


def _distances(owner: str, distances: ArrayLike) -> Floats:
    d = _finite(owner, distances)
    require(bool((d >= 0).all()), "distances", owner, "not be negative", float(d.min()))
    return d
