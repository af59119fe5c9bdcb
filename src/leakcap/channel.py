"""A finite channel: a stochastic matrix from secrets to observations, as a value."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.errors import InvalidChannel, InvalidPrior

__all__ = ["Channel", "as_prior"]

ROW_TOLERANCE = 1e-9
"""Rows (and priors) may miss one by this much; they are then scaled to sum to one."""


@dataclass(frozen=True, eq=False)
class Channel:
    """P(y | x) as a matrix of shape (x, y): one row a secret, one column an observation.

    Rows must be finite, non-negative and sum to one within 1e-9. `inputs` and `outputs` are labels
    (0, 1, 2, … when left out).

    >>> Channel([[0.9, 0.1], [0.2, 0.8]]).shape
    (2, 2)
    """

    matrix: NDArray[np.float64]
    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]

    def __init__(
        self,
        matrix: ArrayLike,
        *,
        inputs: Sequence[Hashable] | None = None,
        outputs: Sequence[Hashable] | None = None,
    ) -> None:
        """Check the matrix and freeze it; errors are `InvalidChannel`."""
        rows = _stochastic(matrix)
        object.__setattr__(self, "matrix", rows)
        object.__setattr__(self, "inputs", _labels("inputs", inputs, rows.shape[0]))
        object.__setattr__(self, "outputs", _labels("outputs", outputs, rows.shape[1]))

    @property
    def shape(self) -> tuple[int, int]:
        """(number of secrets, number of observations)."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def __rshift__(self, post: Channel) -> Self:
        """Cascade: this channel, then `post` on what it shows (post-processing)."""
        if self.outputs != post.inputs:
            raise InvalidChannel(
                "the outputs of the first channel of a cascade must be the inputs of the second. "
                f"Got {len(self.outputs)} outputs and {len(post.inputs)} inputs with other labels. "
                "Label both alike."
            )
        return type(self)(self.matrix @ post.matrix, inputs=self.inputs, outputs=post.outputs)

    def __lshift__(self, pre: Channel) -> Channel:
        """Correlate: `pre` from another secret to this channel's inputs, then this channel (Dalenius)."""
        return pre >> self

    def __and__(self, other: Channel) -> Self:
        """Both channels observed, with independent noise given the secret."""
        if self.inputs != other.inputs:
            raise InvalidChannel(
                "two channels observed together must have the same inputs. "
                f"Got {len(self.inputs)} and {len(other.inputs)} inputs with other labels. Label both alike."
            )
        joint = self.matrix[:, :, None] * other.matrix[:, None, :]
        pairs = [(a, b) for a in self.outputs for b in other.outputs]
        return type(self)(joint.reshape(len(self.inputs), -1), inputs=self.inputs, outputs=pairs)

    def __eq__(self, other: object) -> bool:
        """Equal labels and equal entries."""
        if not isinstance(other, Channel):
            return NotImplemented
        same = self.inputs == other.inputs and self.outputs == other.outputs
        return same and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        """Hash of labels and entries."""
        return hash((self.inputs, self.outputs, self.matrix.tobytes()))


def as_prior(prior: ArrayLike, size: int) -> NDArray[np.float64]:
    """A checked distribution over `size` secrets; errors are `InvalidPrior`.

    >>> as_prior([0.25, 0.75], 2)
    array([0.25, 0.75])
    """
    vector = np.array(prior, dtype=np.float64)
    if vector.shape != (size,):
        raise InvalidPrior(f"a prior must have one entry a secret. Got shape {vector.shape} for {size} secrets.")
    if not np.isfinite(vector).all() or (vector < 0).any():
        raise InvalidPrior("a prior must be finite and non-negative. Got NaN, ∞ or a negative entry.")
    total = float(vector.sum())
    if abs(total - 1.0) > ROW_TOLERANCE:
        raise InvalidPrior(f"a prior must sum to one within {ROW_TOLERANCE:g}. Got {total!r}.")
    return vector / total


def _stochastic(matrix: ArrayLike) -> NDArray[np.float64]:
    try:
        rows = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidChannel("a channel must be a rectangular matrix of numbers.") from None
    if rows.ndim != 2 or 0 in rows.shape:
        raise InvalidChannel(f"a channel must be a non-empty matrix of shape (x, y). Got shape {rows.shape}.")
    for bad, name in ((np.isnan(rows), "NaN"), (np.isinf(rows), "infinite"), (rows < 0, "negative")):
        if bad.any():
            x, y = (int(i) for i in np.argwhere(bad)[0])
            raise InvalidChannel(f"entries of a channel must be probabilities. Got a {name} one at row {x}, column {y}.")
    totals = rows.sum(axis=1)
    worst = int(np.argmax(np.abs(totals - 1.0)))
    if abs(totals[worst] - 1.0) > ROW_TOLERANCE:
        raise InvalidChannel(
            f"rows of a channel must sum to one within {ROW_TOLERANCE:g}. Got {totals[worst]!r} in row {worst}. "
            "Divide each row by its sum if that is meant."
        )
    off = np.abs(totals - 1.0) > 8 * np.finfo(np.float64).eps
    rows[off] /= totals[off, None]
    rows.setflags(write=False)
    return rows


def _labels(name: str, labels: Sequence[Hashable] | None, size: int) -> tuple[Hashable, ...]:
    if labels is None:
        return tuple(range(size))
    result = tuple(labels)
    if len(result) != size:
        raise InvalidChannel(f"`{name}` of `Channel` must have {size} labels. Got {len(result)}.")
    if len(set(result)) != size:
        raise InvalidChannel(f"`{name}` of `Channel` must be distinct. Got a repeated label.")
    return result
