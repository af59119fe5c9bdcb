"""A finite channel: a stochastic matrix from secrets to observations, as a value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any

from leakcap.arrays import NDArray, np
from leakcap.cards import card
from leakcap.channel.checks import labels_of, probability_of, same_labels
from leakcap.channel.entries import (
    beside,
    both,
    is_exact,
    is_sparse,
    product,
    scipy_sparse,
    summed_columns,
    to_exact,
    to_floats,
)
from leakcap.channel.merging import proportional, repeated
from leakcap.channel.reading import entries_of, frame_of
from leakcap.errors import InvalidChannel
from leakcap.numeric.logspace import Floats

__all__ = ["Channel"]

_DENSE_FUNCTION = 1 << 24
"""Entries up to which a function is written out as a matrix (128 MiB)."""
_DENSE_LIMIT = 1 << 28
"""Entries up to which a sparse channel gives a dense `matrix` (2 GiB of doubles)."""


@dataclass(frozen=True, eq=False)
class Channel:
    """P(y | x) as a matrix of shape (x, y): one row a secret, one column an observation.

    Given as nested lists or an array; as a pandas or Polars frame (its index, or its first column if that
    is not numeric, labels the secrets); as a SciPy sparse matrix, which stays sparse; or with every entry
    a `fractions.Fraction` (integers and decimals count), which stays exact. Rows must be finite,
    non-negative and sum to one within 1e-9 (exactly, for fractions). `inputs` and `outputs` are labels
    (0, 1, 2, … when left out). Errors are `InvalidChannel`.

        a >> b                     b applied to what a shows
        b << a                     the same, read from the secret that a starts from
        a & b                      both observed, with independent noise
        a ** n                     n independent observations, up to what they say about the secret
        a.visible_choice(b, p)     a with probability p, else b, and told which
        a.hidden_choice(b, p)      the same, not told which
        a.reduced()                outputs that say the same merged

    >>> Channel([[0.9, 0.1], [0.2, 0.8]]).shape
    (2, 2)
    """

    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]

    def __init__(
        self,
        matrix: Any,
        *,
        inputs: Iterable[Hashable] | None = None,
        outputs: Iterable[Hashable] | None = None,
    ) -> None:
        """Check the matrix and freeze it; errors are `InvalidChannel`."""
        matrix, rows, columns = frame_of(matrix)
        entries = entries_of(matrix)
        object.__setattr__(self, "_entries", entries)
        object.__setattr__(
            self, "inputs", labels_of("inputs", rows if inputs is None else inputs, entries.shape[0])
        )
        outputs = columns if outputs is None else outputs
        object.__setattr__(self, "outputs", labels_of("outputs", outputs, entries.shape[1]))

    @staticmethod
    def of_function(function: Callable[[Hashable], Hashable], inputs: Iterable[Hashable]) -> Channel:
        """The deterministic channel x → f(x), its outputs in the order in which they first come.

        Beyond 2^24 entries it is sparse.

        >>> Channel.of_function(lambda n: n % 2, [1, 2, 3]).matrix.tolist()
        [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
        """
        secrets = tuple(inputs)
        images = [function(secret) for secret in secrets]
        try:
            outputs = {image: y for y, image in enumerate(dict.fromkeys(images))}
        except TypeError:
            raise InvalidChannel(
                "what a function shows must be hashable. Got lists, sets or arrays. "
                "Use numbers, texts or tuples."
            ) from None
        places = np.arange(len(secrets)), np.array([outputs[image] for image in images], dtype=np.intp)
        shape = len(secrets), len(outputs)
        if shape[0] * shape[1] > _DENSE_FUNCTION:
            rows = scipy_sparse().csr_array((np.ones(shape[0]), places), shape=shape)
        else:
            rows = np.zeros(shape)
            rows[places] = 1.0
        return Channel(rows, inputs=secrets, outputs=tuple(outputs))

    @staticmethod
    def load(path: str | PathLike[str]) -> Channel:
        """The channel in a CSV, Parquet or JSON file; the formats are in `leakcap.channel.files`."""
        from leakcap.channel.files import load

        return load(path, Channel)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a CSV, Parquet or JSON file, by the name's ending; `Channel.load` reads it back."""
        from leakcap.channel.files import save

        save(self, path)

    @property
    def shape(self) -> tuple[int, int]:
        """(number of secrets, number of observations)."""
        return len(self.inputs), len(self.outputs)

    @cached_property
    def matrix(self) -> Floats:
        """P(y | x) as a read-only array of doubles; a fraction becomes the double nearest to it.

        A sparse channel is written out when this is asked, up to 2 GiB; beyond that `InvalidChannel`.
        """
        entries = self._held
        if isinstance(entries, np.ndarray) and entries.dtype == np.float64:
            return entries
        if is_sparse(entries) and len(self.inputs) * len(self.outputs) > _DENSE_LIMIT:
            raise InvalidChannel(
                f"a dense matrix must have at most {_DENSE_LIMIT} entries. Got a sparse channel of shape "
                f"{self.shape}. Use `channel.sparse`, or a capacity that keeps it sparse: listed "
                "`Neighbours`, `GivenPrior`, and `AllPriors` at `Renyi(1)` and `Renyi(math.inf)`."
            )
        rows = to_floats(entries)
        rows.setflags(write=False)
        return rows

    @cached_property
    def exact(self) -> NDArray[Any] | None:
        """P(y | x) as `fractions.Fraction`s (an object array), or None for a channel of doubles.

        >>> Channel([[Fraction(1, 3), Fraction(2, 3)]]).exact.tolist()
        [[Fraction(1, 3), Fraction(2, 3)]]
        """
        return self._held if is_exact(self._held) else None

    @cached_property
    def sparse(self) -> Any | None:
        """P(y | x) as a SciPy CSR array (not to be changed), or None for a dense channel."""
        return self._held if is_sparse(self._held) else None

    @property
    def _held(self) -> Any:
        return self.__dict__["_entries"]

    def relabelled(
        self, *, inputs: Iterable[Hashable] | None = None, outputs: Iterable[Hashable] | None = None
    ) -> Channel:
        """The same channel under other labels.

        >>> Channel([[1.0]]).relabelled(outputs=["seen"]).outputs
        ('seen',)
        """
        rows = self.inputs if inputs is None else inputs
        columns = self.outputs if outputs is None else outputs
        return Channel(self._held, inputs=rows, outputs=columns)

    def __rshift__(self, post: Channel) -> Channel:
        """Cascade: this channel, then `post` on what it shows (post-processing)."""
        if not isinstance(post, Channel):
            return NotImplemented
        rule = "the outputs of the first channel of a cascade must be the inputs of the second."
        same_labels(self.outputs, post.inputs, rule)
        return Channel(product(self._held, post._held), inputs=self.inputs, outputs=post.outputs)

    def __lshift__(self, pre: Channel) -> Channel:
        """Correlate: `pre` from another secret to this channel's inputs, then this channel (Dalenius)."""
        return pre >> self

    def __and__(self, other: Channel) -> Channel:
        """Both channels observed, with independent noise given the secret; outputs are pairs."""
        if not isinstance(other, Channel):
            return NotImplemented
        same_labels(self.inputs, other.inputs, "two channels observed together must have the same inputs.")
        size = len(self.inputs) * len(self.outputs) * len(other.outputs)
        if size > _DENSE_LIMIT and self.sparse is None and other.sparse is None:
            raise InvalidChannel(
                f"two channels observed together must have at most {_DENSE_LIMIT} entries. Got {size}, for "
                f"{len(self.inputs)} secrets with {len(self.outputs)} and {len(other.outputs)} outputs. "
                "Merge outputs first (`reduced`), or give sparse channels."
            )
        pairs = [(a, b) for a in self.outputs for b in other.outputs]
        return Channel(both(self._held, other._held), inputs=self.inputs, outputs=pairs)

    def __pow__(self, times: int) -> Channel:
        """`times` independent observations, kept up to what they say about the secret.

        Outputs are tuples of counts: how often each output of `self.reduced()` came; those that say the
        same are merged. Every leakage is that of `self & self & …`. Masses below 5e-324 become zero, which
        can only raise a ratio (to ∞). Errors are `InvalidChannel`.

        >>> (Channel([[0.75, 0.25], [0.25, 0.75]]) ** 2).outputs
        ((2, 0), (1, 1), (0, 2))
        """
        if isinstance(times, bool) or not isinstance(times, (int, np.integer)) or times < 1:
            raise InvalidChannel(
                f"the exponent of `**` must be a number of observations, at least 1. Got {times!r}."
            )
        entries, counts = repeated(self.reduced()._held, int(times))
        return Channel(entries, inputs=self.inputs, outputs=[tuple(row) for row in counts.tolist()])

    def visible_choice(self, other: Channel, probability: float | Fraction) -> Channel:
        """This channel with `probability`, else `other`, and the observer is told which.

        Outputs are (0, y) for this channel's and (1, y) for the other's.
        Source: Alvim et al. 2020, chapter 8 (external probabilistic choice).

        >>> one = Channel([[1.0, 0.0], [0.0, 1.0]])
        >>> one.visible_choice(Channel([[1.0], [1.0]]), 0.25).matrix.tolist()
        [[0.25, 0.0, 0.75], [0.0, 0.25, 0.75]]
        """
        same_labels(self.inputs, other.inputs, "two channels to choose from must have the same inputs.")
        entries = beside(self._held, other._held, probability_of(probability, "probability"))
        outputs = [(0, y) for y in self.outputs] + [(1, y) for y in other.outputs]
        return Channel(entries, inputs=self.inputs, outputs=outputs)

    def hidden_choice(self, other: Channel, probability: float | Fraction) -> Channel:
        """This channel with `probability`, else `other`, not told which: outputs of one label are one.

        Source: Alvim et al. 2020, chapter 8 (internal probabilistic choice).

        >>> one, flipped = Channel([[1.0, 0.0], [0.0, 1.0]]), Channel([[0.0, 1.0], [1.0, 0.0]])
        >>> one.hidden_choice(flipped, 0.75).matrix.tolist()
        [[0.75, 0.25], [0.25, 0.75]]
        """
        same_labels(self.inputs, other.inputs, "two channels to choose from must have the same inputs.")
        entries = beside(self._held, other._held, probability_of(probability, "probability"))
        place = {y: index for index, y in enumerate(dict.fromkeys(self.outputs + other.outputs))}
        groups = np.array([place[y] for y in self.outputs + other.outputs], dtype=np.intp)
        return Channel(summed_columns(entries, groups, len(place)), inputs=self.inputs, outputs=tuple(place))

    def reduced(self) -> Channel:
        """Outputs that say the same about the secret merged, impossible ones dropped.

        Columns are merged when proportional: exactly for fractions, within 2⁻⁴² relatively for doubles. The
        label of a merged output is that of its first member. No leakage changes (beyond that rounding).

        >>> Channel([[0.5, 0.25, 0.25, 0.0], [0.2, 0.4, 0.4, 0.0]]).reduced().outputs
        (0, 1)
        """
        groups, firsts = proportional(self._held)
        if firsts.size == self.shape[1]:
            return self
        entries = summed_columns(self._held, groups, firsts.size)
        return Channel(entries, inputs=self.inputs, outputs=[self.outputs[y] for y in firsts])

    def restricted(self, inputs: Sequence[Hashable]) -> Channel:
        """Some of the secrets only, by label.

        >>> Channel([[1.0], [1.0]], inputs="ab").restricted("b").inputs
        ('b',)
        """
        place = {x: index for index, x in enumerate(self.inputs)}
        unknown = [x for x in inputs if x not in place]
        if unknown:
            raise InvalidChannel(
                f"`inputs` must be secrets of the channel. Got {unknown[0]!r}, which it lacks."
            )
        rows = np.array([place[x] for x in inputs], dtype=np.intp)
        return Channel(self._held[rows], inputs=tuple(inputs), outputs=self.outputs)

    def __eq__(self, other: object) -> bool:
        """Equal labels and equal entries: as fractions where both are exact, as doubles otherwise."""
        if not isinstance(other, Channel):
            return NotImplemented
        if self.inputs != other.inputs or self.outputs != other.outputs:
            return False
        if self.sparse is not None and other.sparse is not None:
            return bool((self.sparse != other.sparse).nnz == 0)
        mine, theirs = self.exact, other.exact
        if mine is not None and theirs is not None:
            return bool((mine == theirs).all())
        return np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        """Hash of labels and of the entries that are not zero."""
        if self.sparse is not None:
            ordered = self.sparse.sorted_indices()
            return hash((self.inputs, self.outputs, ordered.data.tobytes()))
        return hash((self.inputs, self.outputs, self.matrix[self.matrix > 0].tobytes()))

    def __repr__(self) -> str:
        """The kind and the shape; a matrix is too long for a line."""
        kind = "sparse " if self.sparse is not None else "exact " if self.exact is not None else ""
        return f"<{kind}Channel of {self.shape[0]} secrets and {self.shape[1]} observations>"

    def _repr_html_(self) -> str:
        """The matrix as a notebook shows it, its corner where it is large."""
        if self.sparse is not None:
            return card(repr(self).strip("<>"), [("entries that are not zero", f"{self.sparse.nnz:,}")])
        rows, columns = min(self.shape[0], 10), min(self.shape[1], 8)
        more = ["…"] if columns < self.shape[1] else []
        corner = self.matrix[:rows, :columns]
        cells = [
            (str(name), *(f"{p:.6g}" for p in row), *more)
            for name, row in zip(self.inputs[:rows], corner, strict=True)
        ]
        cells += [("…",)] if rows < self.shape[0] else []
        heads = ["P(y | x)", *map(str, self.outputs[:columns]), *more]
        return card(repr(self).strip("<>"), cells, heads=heads)

    def as_exact(self) -> NDArray[Any] | None:
        """`exact`, and also for a channel of zeros and ones, which is exact as it stands."""
        return to_exact(self._held)
