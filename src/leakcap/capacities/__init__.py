"""The verb: how much a channel leaks, by some ruler, to some class of adversaries.

One solver a file, each registered with `solve` for the adversary that it answers.
"""

from leakcap.capacities import cost, diameter, floor, given, level, power, radius
from leakcap.capacities.batch import BatchBound, batch_capacity
from leakcap.capacities.noise.geometric import geometric_capacity
from leakcap.capacities.power import gaussian_power_capacity
from leakcap.capacities.records import bayesian, databases, dependence, knowledge
from leakcap.capacities.records.databases import hamming_neighbours, personal_capacities
from leakcap.capacities.verb import HasExact, capacity, solve

__all__ = [
    "BatchBound",
    "HasExact",
    "batch_capacity",
    "bayesian",
    "capacity",
    "cost",
    "databases",
    "dependence",
    "diameter",
    "floor",
    "gaussian_power_capacity",
    "geometric_capacity",
    "given",
    "hamming_neighbours",
    "knowledge",
    "level",
    "personal_capacities",
    "power",
    "radius",
    "solve",
]
