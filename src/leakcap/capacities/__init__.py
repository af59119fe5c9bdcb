"""The verb: how much a channel leaks, by some ruler, to some class of adversaries.

One solver a file, each registered with `solve` for the adversary that it answers.
"""

from leakcap.capacities import cost, databases, dependence, diameter, floor, given, level, radius
from leakcap.capacities.geometric import geometric_capacity
from leakcap.capacities.verb import HasExact, capacity, solve

__all__ = [
    "HasExact",
    "capacity",
    "cost",
    "databases",
    "dependence",
    "diameter",
    "floor",
    "geometric_capacity",
    "given",
    "level",
    "radius",
    "solve",
]
