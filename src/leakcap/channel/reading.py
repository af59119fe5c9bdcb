"""Whatever a channel is given as — arrays, fractions, frames, sparse matrices — checked and frozen."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any

from leakcap.arrays import NDArray, np
from leakcap.channel.checks import check_entries, check_exact, check_totals
from leakcap.channel.entries import is_sparse, scipy_sparse
from leakcap.errors import InvalidChannel
from leakcap.numeric.logspace import Floats

__all__ = ["entries_of", "frame_of", "stochastic"]

Labels = Sequence[Hashable] | None


def frame_of(given: Any) -> tuple[Any, Labels, Labels]:
    """(matrix, inputs, outputs) of a labelled frame; labels None for anything else.

    A frame with an index (pandas) carries the secrets there. One without (Polars) may carry them in its
    first column, if that is not numeric.
    """
    if not hasattr(given, "columns") or not hasattr(given, "to_numpy"):
        return given, None, None
    outputs = [_plain(name) for name in given.columns]
    if hasattr(given, "index"):
        return given.to_numpy(), [_plain(name) for name in given.index], outputs
    first = given[given.columns[0]].to_numpy() if outputs else np.empty(0)
    if first.dtype.kind in "fiub" or all(isinstance(v, (Rational, Decimal)) for v in first):
        return given.to_numpy(), None, outputs
    rest = given[list(given.columns[1:])].to_numpy()
    return rest, [_plain(name) for name in first], outputs[1:]


def _plain(label: Any) -> Hashable:
    """A Python value instead of a numpy scalar, so that labels of two libraries agree."""
    plain: Hashable = label.item() if isinstance(label, np.generic) else label
    return plain


def entries_of(given: Any) -> Any:
    """Checked, read-only entries: doubles, fractions (object array) or a CSR array."""
    if is_sparse(given):
        return _sparse(given)
    array = _rectangular(given)
    if array.dtype == object and _rational(array):
        return _fractions(array)
    if array.dtype.kind not in "fiub" and not (array.dtype == object and _numbers(array)):
        raise InvalidChannel(
            "a channel must be a rectangular matrix of numbers. Got text, complex numbers, dates or gaps. "
            "Convert the entries to float or `fractions.Fraction` first."
        )
    return stochastic(np.array(array, dtype=np.float64))


def stochastic(rows: Floats) -> Floats:
    """Check a fresh matrix of doubles, scale its rows to one and freeze it."""
    width = max(rows.shape[-1], 1)
    check_entries(rows, lambda index: divmod(index, width))
    with np.errstate(over="ignore"):  # what overflows does not sum to one
        totals = rows.sum(axis=-1)
    off = check_totals(totals.ravel()).reshape(totals.shape)
    if off.any():
        rows[off] /= totals[off][:, None]
    rows.setflags(write=False)
    return rows


def _rectangular(given: Any) -> NDArray[Any]:
    if isinstance(given, (str, bytes)) or given is None:
        raise InvalidChannel(
            f"a channel must be a rectangular matrix of numbers. Got {type(given).__name__}. "
            "Read a file with `Channel.load`."
        )
    try:
        array = np.asarray(given)
    except (TypeError, ValueError):
        raise InvalidChannel(
            "a channel must be a rectangular matrix of numbers. Got rows of different lengths. "
            "Give every secret one entry for each observation, 0 where it never happens."
        ) from None
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidChannel(
            f"a channel must be a non-empty matrix of shape (x, y). Got shape {array.shape}. "
            "Give one row a secret and one column an observation."
        )
    return array


def _rational(array: NDArray[Any]) -> bool:
    return all(isinstance(v, (Rational, Decimal)) for v in array.flat)


def _numbers(array: NDArray[Any]) -> bool:
    return all(isinstance(v, (float, np.floating, Rational, Decimal)) for v in array.flat)


def _fractions(array: NDArray[Any]) -> NDArray[Any]:
    rows = np.empty(array.shape, dtype=object)
    for index, value in np.ndenumerate(array):
        try:
            whole = isinstance(value, Integral)  # numpy integers would bring their overflow along
            rows[index] = Fraction(int(value) if whole else value)
        except (ValueError, OverflowError):
            raise InvalidChannel(
                "entries of a channel must be probabilities. Got "
                f"{value} at row {index[0]}, column {index[1]}."
            ) from None
    check_exact(rows)
    rows.setflags(write=False)
    return rows


def _sparse(given: Any) -> Any:
    csr = scipy_sparse().csr_array(given, dtype=np.float64, copy=True)
    if csr.ndim != 2 or 0 in csr.shape:
        raise InvalidChannel(f"a channel must be a non-empty matrix of shape (x, y). Got shape {csr.shape}.")
    csr.sum_duplicates()
    lengths = np.diff(csr.indptr)
    rows = np.repeat(np.arange(csr.shape[0]), lengths)
    check_entries(csr.data, lambda index: (int(rows[index]), int(csr.indices[index])))
    totals = np.asarray(np.bincount(rows, weights=csr.data, minlength=csr.shape[0]), dtype=np.float64)
    off = check_totals(totals)
    if off.any():
        csr.data /= np.where(off, totals, 1.0)[rows]
    csr.eliminate_zeros()
    for part in (csr.data, csr.indices, csr.indptr):
        part.setflags(write=False)
    return csr
