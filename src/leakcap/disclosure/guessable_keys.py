"""Whether record keys are a secret at all: keys from an id, a row's number or a known seed are none.

Whoever knows the keys of records knows the key of every cell, and takes the perturbation off again. Looking
at keys is the owner's act: nothing of them is repeated in what is said.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import chi2

from leakcap.errors import InvalidInput, require

__all__ = ["key_faults"]

_LEAST, _SEEDS, _FIRST = 16, 3000, 16
_TWISTED = 227
"""Words of the Mersenne Twister that follow from the first state alone."""
_UNLIKELY = 1e-9
_OWNER = "key_faults"


def key_faults(keys: ArrayLike, *, ids: ArrayLike | None = None) -> list[str]:
    """What makes these record keys guessable, a sentence each; empty where nothing was found.

    `keys` are whole numbers from 0, one a record, in the order of the file, 16 or more; `ids` the numbers
    that tell records apart. Found are keys that are the id or the row's number modulo something, keys that
    NumPy's, Python's or R's generators give from a seed below 3,000, and keys that are not uniform (false
    alarm: 10⁻⁹).
    Keys without a fault may still be no secret: who made them, how, and who has seen them is not in them.

    >>> ids = [number * 7919 for number in range(100)]
    >>> key_faults([one % 4096 for one in ids], ids=ids)
    ['The keys are the ids modulo 4096: whoever knows an id knows the key.']
    """
    own = _whole("keys", keys)
    rule = f"be {_LEAST} whole numbers or more"
    require(len(own) >= _LEAST, "keys", _OWNER, rule, len(own))
    if min(own) < 0:
        raise InvalidInput("Record keys must be whole numbers from 0. Some are negative.")
    found = list[str]()
    if ids is not None:
        named = _whole("ids", ids)
        require(len(named) == len(own), "ids", _OWNER, f"be {len(own)}, one a key", len(named))
        found += _from("the ids", "whoever knows an id knows the key", named, own)
    found += _from(
        "the rows' numbers", "whoever knows the order of the file knows the key", range(len(own)), own
    )
    found += _from_a_seed(own)
    return found or _uneven(own)


def _whole(name: str, values: ArrayLike) -> list[int]:
    given = np.asarray(values)
    if given.dtype.kind == "f":
        # Whole numbers below 2⁶³ and beyond, together, are floats to NumPy.
        given = np.asarray(values, dtype=object)
    whole = given.ndim == 1 and (given.dtype.kind in "iu" or given.dtype == object)
    if not whole or not all(isinstance(one, int) and not isinstance(one, bool) for one in given.tolist()):
        raise InvalidInput(f"`{name}` of `{_OWNER}` must be a list of whole numbers, none of them missing.")
    return [int(one) for one in given.tolist()]


def _from(source: str, who: str, numbers: Sequence[int], keys: list[int]) -> Iterator[str]:
    """Numbers less keys have a common divisor above every key where keys are numbers modulo it."""
    for moved, beside in ((0, ""), (1, " plus one"), (-1, " less one")):
        apart = [number + moved - key for number, key in zip(numbers, keys, strict=True)]
        common = math.gcd(*apart)
        if common == 0:
            yield f"The keys are {source}{beside}: {who}."
            return
        if common > max(keys):
            yield f"The keys are {source}{beside} modulo {common}: {who}."
            return


def _from_a_seed(keys: list[int]) -> list[str]:
    first = tuple(keys[:_FIRST])
    least = max(keys) + 1
    sizes = sorted({least, 1 << (least - 1).bit_length()})
    found = (
        f"The keys are what {name} gives from the seed {seed}: whoever has the program has the keys."
        for name in _makers()
        for size in sizes
        if size >= 2
        if (seed := _seeds_by_keys(name, size).get(first)) is not None
    )
    return list(islice(found, 1))


@lru_cache(maxsize=16)
def _seeds_by_keys(name: str, size: int) -> dict[tuple[int, ...], int]:
    """The first keys that each seed gives; kept, since the files of one office have keys of one size."""
    found = dict[tuple[int, ...], int]()
    for seed, given in enumerate(_makers()[name](size)):
        found.setdefault(tuple(given), seed)
    return found


def _makers() -> dict[str, Callable[[int], Iterator[list[int]]]]:
    return {
        "R's `runif`": _of_r_uniform,
        "R's `sample`": _of_r_sample,
        "NumPy's `default_rng`": _of_generators,
        "NumPy's `RandomState`": _of_states,
        "Python's `random`": _of_python,
    }


def _of_generators(size: int) -> Iterator[list[int]]:
    if size > 1 << 64:
        return
    for seed in range(_SEEDS):
        yield np.random.default_rng(seed).integers(0, size, _FIRST, dtype=_wide(size)).tolist()


def _of_states(size: int) -> Iterator[list[int]]:
    """One state, seeded anew each time: a new one would first ask the operating system for a seed."""
    if size > 1 << 64:
        return
    state = np.random.RandomState(0)
    for seed in range(_SEEDS):
        state.seed(seed)
        yield state.randint(0, size, _FIRST, dtype=_wide(size)).tolist()


def _wide(size: int) -> type[np.int64 | np.uint64]:
    """The numbers that hold whole ones below `size`: for 2⁶³ and less those that NumPy has by default."""
    return np.int64 if size <= 1 << 63 else np.uint64


def _of_python(size: int) -> Iterator[list[int]]:
    for seed in range(_SEEDS):
        source = random.Random(seed)
        yield [source.randrange(size) for _ in range(_FIRST)]


def _of_r_uniform(size: int) -> Iterator[list[int]]:
    """`floor(size * runif(n))`, which is `sample` of R before 3.6, too."""
    if size > 1 << 53:
        return
    found = (_words_of_r(_FIRST).astype(np.float64) * 2.0**-32 * size).astype(np.int64)
    yield from found.tolist()


def _of_r_sample(size: int) -> Iterator[list[int]]:
    """`sample(0:(size - 1), n, replace = TRUE)`: words of 16 bits, those beyond the range left out."""
    bits = (size - 1).bit_length()
    if bits > 31:
        return
    parts = (_words_of_r(_TWISTED) >> np.uint32(16)).astype(np.int64)
    words = bits // 16 + 1
    drawn = parts[:, : _TWISTED // words * words].reshape(_SEEDS, -1, words)
    values = drawn @ (1 << 16 * np.arange(words - 1, -1, -1)) & ((1 << bits) - 1)
    for row in values:
        yield row[row < size][:_FIRST].tolist()


def _words_of_r(many: int) -> NDArray[np.uint32]:
    """What the Mersenne Twister gives first after R's `set.seed(0)`, `set.seed(1)`, …: a row a seed.

    R fills the state by a congruential generator, fifty steps after the seed; its first number stands for the
    place in the state and is overwritten. Source: R's RNG.c; Matsumoto & Nishimura 1998.
    """
    state = np.empty((625, _SEEDS), dtype=np.uint32)
    seed = np.arange(_SEEDS, dtype=np.uint32)
    for step in range(-50, len(state)):
        seed = seed * np.uint32(69069) + np.uint32(1)
        if step >= 0:
            state[step] = seed
    old = state[1:]
    joined = (old[:many] & np.uint32(0x80000000)) | (old[1 : many + 1] & np.uint32(0x7FFFFFFF))
    words = old[397 : 397 + many] ^ (joined >> np.uint32(1)) ^ (joined & np.uint32(1)) * np.uint32(0x9908B0DF)
    words ^= words >> np.uint32(11)
    words ^= (words << np.uint32(7)) & np.uint32(0x9D2C5680)
    words ^= (words << np.uint32(15)) & np.uint32(0xEFC60000)
    words ^= words >> np.uint32(18)
    return np.asarray(words.T)


def _uneven(keys: list[int]) -> list[str]:
    """A test of even shares, in as many classes of neighbouring keys as have five records each."""
    size = max(keys) + 1
    classes = min(size, max(2, len(keys) // 5), 256)
    if size < 2:
        return ["All keys are the same: there is no noise."]
    counts = np.bincount([key * classes // size for key in keys], minlength=classes)
    widths = (
        np.bincount([key * classes // size for key in range(size)], minlength=classes)
        if size <= 1 << 20
        else None
    )
    expected: NDArray[np.float64] = np.full(classes, len(keys) / classes)
    if widths is not None:
        expected = len(keys) * widths / size
    far = float(((counts - expected) ** 2 / expected).sum())
    if chi2.sf(far, classes - 1) < _UNLIKELY:
        return ["The keys are not uniform: what is added to a cell is not what the table says."]
    return []
