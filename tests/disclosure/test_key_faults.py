"""Record keys that are no secret are found, and keys that are one pass."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from leakcap.disclosure.key_faults import key_faults
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
        (found,) = key_faults(keys)
        assert name in found
        assert f"the seed {seed}:" in found


def test_keys_that_are_a_secret_pass() -> None:
    """A false alarm has probability 10⁻⁹; the seed of this draw is beyond those that are tried."""
    for seed in (20_000, 20_001):
        keys = np.random.default_rng(seed).integers(0, 256, len(IDS))
        assert key_faults(keys, ids=IDS) == []


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
