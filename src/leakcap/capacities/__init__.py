"""The verb: how much a channel leaks, by some ruler, to some class of adversaries.

One solver a file, each registered with `solver` for the adversary that it answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakcap.lazily import lazily

if TYPE_CHECKING:
    from leakcap.capacities.batch import BatchBound, batch_capacity
    from leakcap.capacities.noise.geometric import geometric_capacity
    from leakcap.capacities.power import gaussian_power_capacity
    from leakcap.capacities.records.databases import hamming_neighbours, personal_capacities
    from leakcap.capacities.verb import HasExact, capacity, solve

__all__ = [
    "BatchBound",
    "HasExact",
    "batch_capacity",
    "capacity",
    "gaussian_power_capacity",
    "geometric_capacity",
    "hamming_neighbours",
    "personal_capacities",
    "solve",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "leakcap.capacities.batch": ("BatchBound", "batch_capacity"),
        "leakcap.capacities.noise.geometric": ("geometric_capacity",),
        "leakcap.capacities.power": ("gaussian_power_capacity",),
        "leakcap.capacities.records.databases": ("hamming_neighbours", "personal_capacities"),
        "leakcap.capacities.verb": ("HasExact", "capacity", "solve"),
    },
)
