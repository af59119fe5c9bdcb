"""How much less is told where fewer keys of others are revealed: 12 × 20 × 6, all margins, 256 keys.

The upper end for a lattice of tables reveals all keys outside the person's kind. Here keys of people are
kept who differ from the person in one column alone: their own cells leave each an arc of keys, and what is
revealed leaves three sums of these unknown (docs/theory/cell-keys.md). Simulated, with a fixed seed and
counts of five or more; a mean of draws stands in place of each sum, which makes the second figure a little
too high.

    python benchmarks/fewer_keys.py [trials]
"""

from __future__ import annotations

import sys
from itertools import product

import numpy as np

from leakcap.disclosure import most_entropic_table

KEYS, COLUMNS, DRAWS = 256, (12, 20, 6), 4000
SHARING = np.array(list(product((0, 1), repeat=len(COLUMNS))))
"""For each of the person's cells, which sums of those who differ in one column are in it too."""


def added() -> np.ndarray:
    """What is added at each key to a count of five or more."""
    found, low = np.zeros(KEYS, dtype=np.int64), 0
    for value, high in most_entropic_table(5, 3).rows[-1]:
        found[low : round(float(high) * KEYS)] = value
        low = round(float(high) * KEYS)
    return found


ADDED = added()


def left_of_one(generator: np.random.Generator) -> np.ndarray:
    """The keys that somebody who differs in one column can have: seen in four cells at known places."""
    own, places = generator.integers(KEYS), generator.integers(KEYS, size=4)
    keys = np.arange(KEYS)
    seen = ADDED[(keys[:, None] + places) % KEYS] == ADDED[(own + places) % KEYS]
    return np.flatnonzero(seen.all(axis=1))


def right(generator: np.random.Generator, keep: bool) -> float:
    """How often the best guess is right at one drawn outcome; `keep` keeps keys of those nearby."""
    sums = np.zeros((1, len(COLUMNS)), dtype=np.int64)
    if keep:
        nearby = [[left_of_one(generator) for _ in range(size - 1)] for size in COLUMNS]
        draws = [sum(generator.choice(arc, DRAWS + 1) for arc in arcs) for arcs in nearby]
        sums = np.stack(draws, axis=1)
    places = generator.integers(KEYS, size=len(SHARING))
    truth, world = sums[0], int(generator.integers(2))
    shown = world + ADDED[(generator.integers(KEYS) + places + SHARING @ truth) % KEYS]
    sums = sums[1:] if keep else sums
    likely = []
    for asked in (0, 1):
        alive = np.ones((len(sums), KEYS), dtype=bool)
        for place, share, value in zip(places, SHARING, shown, strict=True):
            keys = (np.arange(KEYS) + (place + sums @ share)[:, None]) % KEYS
            alive &= (value - asked == ADDED)[keys]
        likely.append(alive.mean())
    return max(likely) / sum(likely) if sum(likely) else 1.0


def main(trials: int) -> None:
    """Print both."""
    for name, keep in (("all other keys", False), ("of people who differ in two columns or more", True)):
        generator = np.random.default_rng(7)
        found = np.array([right(generator, keep) for _ in range(trials)])
        print(f"{name}: {found.mean():.4f} ± {found.std() / np.sqrt(trials):.4f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
