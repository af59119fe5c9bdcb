"""Random small channels of the awkward kinds: near-deterministic, near-equal rows, zero columns and entries.

`from strange_channels import strange_channels, GEOMETRIC, RESPONSE`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from leakcap.channel import Channel

GEOMETRIC = Channel([[2 / 3, 1 / 6, 1 / 6], [1 / 3, 1 / 3, 1 / 3], [1 / 6, 1 / 6, 2 / 3]])
"""G of theory: truncated geometric, ε = ln 4."""

RESPONSE = Channel([[3 / 5, 1 / 5, 1 / 5], [1 / 5, 3 / 5, 1 / 5], [1 / 5, 1 / 5, 3 / 5]])
"""R of theory: randomised response over three values, ε = ln 3."""

Floats = NDArray[np.float64]


def _plain(rng: np.random.Generator, n: int, m: int) -> Floats:
    return rng.dirichlet(np.ones(m), n)


def _near_deterministic(rng: np.random.Generator, n: int, m: int) -> Floats:
    rows = np.full((n, m), 1e-9) * rng.random((n, m))
    rows[np.arange(n), rng.integers(m, size=n)] = 1.0
    return rows / rows.sum(axis=1, keepdims=True)


def _near_equal(rng: np.random.Generator, n: int, m: int) -> Floats:
    rows = rng.dirichlet(np.ones(m), 1) * (1.0 + 1e-7 * rng.standard_normal((n, m)))
    return rows / rows.sum(axis=1, keepdims=True)


def _zero_entries(rng: np.random.Generator, n: int, m: int) -> Floats:
    rows = rng.dirichlet(np.full(m, 0.2), n) * (rng.random((n, m)) < 0.6)
    rows[rows.sum(axis=1) == 0, 0] = 1.0
    return rows / rows.sum(axis=1, keepdims=True)


def _zero_column(rng: np.random.Generator, n: int, m: int) -> Floats:
    rows = rng.dirichlet(np.ones(m), n)
    rows[:, rng.integers(m)] = 0.0
    return rows / rows.sum(axis=1, keepdims=True)


KINDS = (_plain, _near_deterministic, _near_equal, _zero_entries, _zero_column)


EVERY_CHANNEL = "LEAKCAP_EVERY_CHANNEL"


def thousands() -> int:
    """How many random channels a slow law walks: a thousand, or with `LEAKCAP_EVERY_CHANNEL=1` ten thousand.

    A violation that a share r of all channels shows is missed with probability (1 − r)^count, which is one in
    a hundred at one channel in 217 for a thousand, and at one in 2,172 for ten thousand. The five awkward
    kinds come in turn. Ten thousand by every law take twenty minutes of a processor.
    """
    return 10_000 if os.environ.get(EVERY_CHANNEL) else 1_000


def strange_channels(count: int, *, seed: int, largest: int = 8) -> Iterator[tuple[Channel, Floats]]:
    """`count` channels of 2 to `largest` secrets and outputs, each with a prior; every sixth has a zero."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        n, m = (int(v) for v in rng.integers(2, largest + 1, size=2))
        prior = rng.dirichlet(np.full(n, 0.7))
        if k % 6 == 0:
            prior[rng.integers(n)] = 0.0
            prior /= prior.sum()
        yield Channel(KINDS[k % len(KINDS)](rng, n, m)), prior
