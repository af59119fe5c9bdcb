"""Pairs of a secret and an output, drawn from a system of which nothing else is known."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidInput, InvalidParameter, InvalidPrior, require
from leakcap.numeric.logspace import Floats

__all__ = ["DrawnPairs", "Prior", "read_pairs"]

Prior = Mapping[Any, float] | str | None
Whole = NDArray[np.intp]

_LEAST, _LEAST_EACH = 50, 4


@dataclass(frozen=True)
class DrawnPairs:
    """Secrets and outputs as numbers of their labels; `numbers` are the outputs' coordinates, if any.

    Without a `prior` the pairs are independent draws of one joint law. With one, the outputs of each secret
    are independent draws of its row, however many of them there are.
    """

    secrets: tuple[Hashable, ...]
    secret: Whole
    output: Whole
    outputs: int
    numbers: Floats | None
    prior: Floats | None

    def __len__(self) -> int:
        return len(self.secret)

    def of(self, places: Whole) -> DrawnPairs:
        """Those at some places."""
        numbers = None if self.numbers is None else self.numbers[places]
        return replace(self, secret=self.secret[places], output=self.output[places], numbers=numbers)

    @property
    def each(self) -> Whole:
        """How many pairs each secret has."""
        return np.bincount(self.secret, minlength=len(self.secrets))

    @property
    def belief(self) -> Floats:
        """The prior; where none is given, how often each secret came."""
        return self.each / len(self) if self.prior is None else self.prior

    @property
    def weights(self) -> Floats:
        """What each pair counts, one in all: a secret's pairs together what the secret's prior is."""
        if self.prior is None:
            return np.full(len(self), 1.0 / len(self))
        return (self.prior / np.maximum(self.each, 1))[self.secret]

    def divided(self, share: float, generator: np.random.Generator) -> tuple[DrawnPairs, DrawnPairs]:
        """About so large a part, drawn at random, and the others; with a prior a part of each secret's."""
        order = generator.permutation(len(self))
        if self.prior is None:
            cut = round(share * len(self))
            return self.of(order[:cut]), self.of(order[cut:])
        order = order[np.argsort(self.secret[order], kind="stable")]
        each = self.each
        rank = np.arange(len(self)) - np.repeat(np.cumsum(each) - each, each)
        first = rank < np.clip(np.round(share * each), 1, each - 1)[self.secret[order]]
        return self.of(order[first]), self.of(order[~first])

    def joint(self) -> Any:
        """The weights by output and secret, a sparse matrix."""
        from scipy.sparse import coo_array

        shape = (self.outputs, len(self.secrets))
        return coo_array((self.weights, (self.output, self.secret)), shape=shape).tocsr()


def read_pairs(
    secrets: Sequence[Hashable] | NDArray[Any],
    outputs: Sequence[Any] | NDArray[Any],
    prior: Prior,
    order: Sequence[Hashable] | None = None,
) -> DrawnPairs:
    """Pairs as they were given, checked; secrets in `order`, in the prior's, or sorted.

    >>> pairs = read_pairs(["b", "a"] * 50, [1.5, 2.5] * 50, "uniform")
    >>> pairs.secrets, pairs.outputs, pairs.belief.tolist()
    (('a', 'b'), 2, [0.5, 0.5])
    """
    named = secrets.tolist() if isinstance(secrets, np.ndarray) else list(secrets)
    size = len(outputs)
    require(len(named) == size, "secrets", "black_box", "be as many as `outputs`", f"{len(named)} for {size}")
    require(size >= _LEAST, "outputs", "black_box", f"be {_LEAST} samples or more", size)
    if any(isinstance(one, float) and math.isnan(one) for one in named):
        raise InvalidInput(
            "`secrets` of `black_box` must not be NaN. Name the secret, or leave the sample out."
        )
    try:
        labels = _labels(named, prior, order)
    except TypeError:
        raise InvalidInput(
            "`secrets` of `black_box` must be numbers, texts or tuples of them. Got what cannot be a label."
        ) from None
    place = {label: i for i, label in enumerate(labels)}
    missing = sum(one not in place for one in named)
    if missing:
        raise InvalidPrior(
            f"`prior` of `black_box` (and a gain with names) must have every secret. {missing} samples are "
            "of secrets that it does not name."
        )
    codes, kinds, numbers = _outputs(outputs)
    found = DrawnPairs(
        labels, np.array([place[one] for one in named], dtype=np.intp), codes, kinds, numbers, None
    )
    require(
        int((found.each > 0).sum()) > 1,
        "secrets",
        "black_box",
        "be two or more different ones",
        1,
        "Nothing leaks about a secret that is known.",
    )
    return found if prior is None else replace(found, prior=_belief(prior, labels, found.each))


def _labels(named: list[Hashable], prior: Prior, order: Sequence[Hashable] | None) -> tuple[Hashable, ...]:
    if isinstance(prior, Mapping):
        return tuple(prior if order is None else order)
    if prior not in (None, "uniform"):
        raise InvalidParameter(
            "`prior` of `black_box` must be 'uniform', probabilities by secret, or None for secrets as they "
            "came. "
            f"Got {type(prior).__name__}."
        )
    if order is not None:
        return tuple(order)
    seen = list(dict.fromkeys(named))
    try:
        return tuple(sorted(seen))  # type: ignore[type-var]
    except TypeError:
        return tuple(seen)


def _belief(prior: Prior, labels: tuple[Hashable, ...], each: Whole) -> Floats:
    if isinstance(prior, Mapping):
        belief = np.array([float(prior.get(label, 0.0)) for label in labels])
    else:
        belief = np.full(len(labels), 1.0 / len(labels))
    if not (belief > 0.0).all() or abs(float(belief.sum()) - 1.0) > 1e-9:
        raise InvalidPrior(
            "`prior` of `black_box` must be probabilities above 0 of all secrets that add up to 1. "
            f"Got a sum of {float(belief.sum()):.6g}, the least {float(belief.min()):.6g}."
        )
    if (each < _LEAST_EACH).any():
        raise InvalidInput(
            f"`secrets` of `black_box` must have {_LEAST_EACH} samples or more of each secret in `prior`. "
            f"{int((each < _LEAST_EACH).sum())} have fewer, {int((each == 0).sum())} none."
        )
    return np.asarray(belief / belief.sum(), dtype=np.float64)


def _outputs(outputs: Sequence[Any] | NDArray[Any]) -> tuple[Whole, int, Floats | None]:
    """The number of each output's label, how many labels there are, and coordinates."""
    numbers = _numbers(outputs)
    if numbers is None:
        return *_named(outputs), None
    bad = int((~np.isfinite(numbers)).any(axis=1).sum())
    if bad:
        raise InvalidInput(
            f"`outputs` of `black_box` must be finite numbers, or texts. {bad} are NaN or infinite. Give all "
            "outputs as texts if the system answers so, or leave those samples out."
        )
    # As they were given: two integers beyond 2⁵³ may be one double, and to merge outputs hides a leak.
    if not isinstance(outputs, np.ndarray):
        return *_named(outputs), numbers
    kinds, codes = np.unique(outputs, axis=0, return_inverse=True)
    return codes.reshape(-1).astype(np.intp), len(kinds), numbers


def _named(outputs: Sequence[Any] | NDArray[Any]) -> tuple[Whole, int]:
    place: dict[Hashable, int] = {}
    named = [place.setdefault(_key(one), len(place)) for one in outputs]
    return np.array(named, dtype=np.intp), len(place)


def _numbers(outputs: Sequence[Any] | NDArray[Any]) -> Floats | None:
    """Outputs as rows of numbers, or None where they are not numbers of one width."""
    kinds = set(map(type, outputs)) if not isinstance(outputs, np.ndarray) else set()
    if any(issubclass(kind, str | bytes) for kind in kinds):
        return None
    try:
        read = np.asarray(outputs)
    except ValueError:
        return None
    if read.dtype.kind not in "fiub" or read.ndim not in (1, 2) or read.size == 0:
        return None
    return cast(Floats, read.reshape(len(read), -1).astype(np.float64))


def _key(output: Any) -> Hashable:
    if isinstance(output, np.ndarray):
        return tuple(output.ravel().tolist())
    if isinstance(output, list):
        return tuple(map(_key, output))
    if isinstance(output, float) and math.isnan(output):
        return "NaN"
    try:
        hash(output)
    except TypeError:
        raise InvalidInput(
            f"`outputs` of `black_box` must be numbers, texts, or lists of them. Got {type(output).__name__}."
        ) from None
    return cast(Hashable, output)
