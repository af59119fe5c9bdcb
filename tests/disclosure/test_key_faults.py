"""Record keys that are no secret are found, and keys that are one pass."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from leakcap.disclosure import key_faults
from leakcap.errors import InvalidInput, InvalidParameter, LeakcapError

IDS = [10_000_019 * number + 4_711 for number in range(400)]


@pytest.mark.parametrize("modulus", [256, 4096, 1000, 97])
def test_ids_and_row_numbers_modulo_something(modulus: int) -> None:
    """As `generate_record_key_from_ons_id` of `cell-key-perturbation` 3.1.0 makes them, with 4096."""
    (found,) = key_faults([one % modulus for one in IDS], ids=IDS)
    assert found == f"The keys are the ids modulo {modulus}: whoever knows an id knows the key."
    rows = [(number + 1) % modulus for number in range(2 * modulus)]
    assert f"the rows' numbers plus one modulo {modulus}" in key_faults(rows)[0]


def test_ids_themselves() -> None:
    assert key_faults(list(range(100)), ids=list(range(100)))[0].startswith("The keys are the ids: ")


@pytest.mark.parametrize("seed", [0, 42, 2025, 2999])
@pytest.mark.parametrize("size", [256, 4096])
def test_keys_from_a_known_seed(seed: int, size: int) -> None:
    """As `generate_random_rkey` of `cell-key-perturbation` 3.1.0 makes them, with 2025."""
    made: dict[str, list[int]] = {
        "default_rng": np.random.default_rng(seed).integers(low=0, high=size, size=60).tolist(),
        "RandomState": np.random.RandomState(seed).randint(0, size, 60).tolist(),
    }
    source = random.Random(seed)
    made["Python's `random`"] = [source.randrange(size) for _ in range(60)]
    for name, keys in made.items():
        # But for one seed the largest key is there, so that all of a size are held against the same numbers.
        (found,) = key_faults(keys if seed == 2025 else [*keys, size - 1])
        assert name in found
        assert f"the seed {seed}:" in found


def r_words(seed: int, many: int) -> list[int]:
    """What R draws after `set.seed`: its scrambling word by word, then NumPy's own Mersenne Twister."""
    filled = []
    for _ in range(50 + 625):
        seed = (69069 * seed + 1) % 2**32
        filled.append(seed)
    twister = np.random.MT19937(0)
    twister.state = {
        "bit_generator": "MT19937",
        "state": {"key": np.array(filled[51:], dtype=np.uint32), "pos": 624},
    }
    return [int(word) for word in twister.random_raw(many)]


def r_index(words: Iterator[int], size: int) -> int:
    """R's `R_unif_index` from version 3.6 on: sixteen bits at a time, rejected where they are too large."""
    bits = math.ceil(math.log2(size))
    while True:
        value = 0
        for _ in range(0, bits + 1, 16):
            value = 65536 * value + math.floor(next(words) * 2.0**-32 * 65536)
        value %= 2**bits
        if value < size:
            return value


def r_permutation(seed: int, size: int) -> list[int]:
    """`set.seed(seed); sample(size)`."""
    words, left, found = iter(r_words(seed, 400)), list(range(1, size + 1)), []
    for many in range(size, 0, -1):
        place = r_index(words, many) if many > 1 else 0
        found.append(left[place])
        left[place] = left[many - 1]
    return found


def test_the_second_route_is_what_r_prints() -> None:
    """Printed by R 3.6 and later in its manuals' examples and in countless pages."""
    printed = {1: [0.2655087, 0.3721239, 0.5728534], 42: [0.9148060, 0.9370754, 0.2861395]}
    for seed, numbers in printed.items():
        assert [round(word * 2.0**-32, 7) for word in r_words(seed, 3)] == numbers
    assert r_permutation(1, 10) == [9, 4, 7, 1, 2, 5, 3, 10, 6, 8]
    assert r_permutation(42, 10) == [1, 5, 10, 8, 2, 4, 6, 9, 7, 3]
    assert r_permutation(123, 10) == [3, 10, 2, 8, 6, 9, 1, 7, 5, 4]


@pytest.mark.parametrize("seed", [1, 2999])
@pytest.mark.parametrize("size", [256, 1000, 65536, 100_000])
def test_keys_from_r(seed: int, size: int) -> None:
    words = r_words(seed, 400)
    drawn = iter(words)
    made = {
        "R's `runif`": [math.floor(word * 2.0**-32 * size) for word in words[:59]],
        "R's `sample`": [r_index(drawn, size) for _ in range(59)],
    }
    for name, keys in made.items():
        # The largest key is there, so that the number of keys is known.
        assert key_faults([*keys, size - 1]) == [
            f"The keys are what {name} gives from the seed {seed}: whoever has the program has the keys."
        ]


def test_keys_from_r_with_a_seed_beyond_those_tried_pass() -> None:
    words = r_words(20_000, 400)
    assert key_faults([math.floor(word * 2.0**-32 * 256) for word in words]) == []


def test_keys_that_are_a_secret_pass() -> None:
    """A false alarm has probability 10⁻⁹; the seed of this draw is beyond those that are tried."""
    for seed in (20_000, 20_001):
        keys = np.random.default_rng(seed).integers(0, 256, len(IDS))
        assert key_faults(keys, ids=IDS) == []


@pytest.mark.parametrize("bits", [63, 64, 80])
def test_keys_of_many_bits(bits: int) -> None:
    """A secret passes, whatever the size; what NumPy gives of 63 or 64 bits is found, beside Python's."""
    source = random.Random(20_260)
    assert key_faults([source.getrandbits(bits) for _ in range(200)]) == []
    python = random.Random(7)
    known = [[python.randrange(1 << bits) for _ in range(40)]]
    if bits <= 64:
        wide = np.int64 if bits == 63 else np.uint64
        known.append(np.random.default_rng(7).integers(0, 1 << bits, 40, dtype=wide).tolist())
        known.append(np.random.RandomState(7).randint(0, 1 << bits, 40, dtype=wide).tolist())
    for keys in known:
        (fault,) = key_faults(keys)
        assert "from the seed 7" in fault


def test_keys_that_are_not_uniform() -> None:
    draw = np.random.default_rng(30_000)
    skewed = np.minimum(draw.integers(0, 256, 4000), draw.integers(0, 256, 4000))
    assert key_faults(skewed) == [
        "The keys are not uniform: what is added to a cell is not what the table says."
    ]
    assert "All keys are the same" in key_faults([0] * 30)[0] or "rows" in key_faults([0] * 30)[0]


@pytest.mark.parametrize(
    "given",
    [
        {"keys": [1] * 15},
        {"keys": [0.5] * 20},
        {"keys": [-1] * 20},
        {"keys": [True] * 20},
        {"keys": ["a"] * 20},
        {"keys": [[1] * 20] * 20},
        {"keys": [1] * 20, "ids": [1] * 19},
        {"keys": [1] * 20, "ids": [None] * 20},
    ],
)
def test_what_is_no_key_is_refused(given: Any) -> None:
    with pytest.raises((InvalidInput, InvalidParameter)) as caught:
        key_faults(**given)
    assert isinstance(caught.value, LeakcapError)
