"""Privacy definitions, and the graph of what follows from what.

A definition is a ruler, an adversary, a neighbouring relation and a threshold. `convert` finds the
strongest consequence, `route` explains it, `implications` lists every edge between two definitions,
`leakcap.definition.meaning` says what a guarantee means for guesses and beliefs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakcap.lazily import lazily

if TYPE_CHECKING:
    from leakcap.definition import meaning, theorems
    from leakcap.definition.approximate import ApproxDP, DeltaDP
    from leakcap.definition.base import Definition, Neighbourhood, Relation
    from leakcap.definition.bayesian import InformationPrivacy, LocalInformationPrivacy
    from leakcap.definition.catalogue import edges, implications
    from leakcap.definition.gaussian import GaussianDP
    from leakcap.definition.graph import Implication, implies
    from leakcap.definition.information import KLDP, MIDP, Centre, LevelCapacity, MaximalLeakage
    from leakcap.definition.pure import PureDP
    from leakcap.definition.relation import to_replace_one
    from leakcap.definition.renyi import RenyiDP, ZeroConcentratedDP
    from leakcap.definition.search import convert, route
    from leakcap.definition.steps import Route, Step

__all__ = [
    "KLDP",
    "MIDP",
    "ApproxDP",
    "Centre",
    "Definition",
    "DeltaDP",
    "GaussianDP",
    "Implication",
    "InformationPrivacy",
    "LevelCapacity",
    "LocalInformationPrivacy",
    "MaximalLeakage",
    "Neighbourhood",
    "PureDP",
    "Relation",
    "RenyiDP",
    "Route",
    "Step",
    "ZeroConcentratedDP",
    "convert",
    "edges",
    "implications",
    "implies",
    "meaning",
    "route",
    "theorems",
    "to_replace_one",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "leakcap.definition.approximate": ("ApproxDP", "DeltaDP"),
        "leakcap.definition.base": ("Definition", "Neighbourhood", "Relation"),
        "leakcap.definition.bayesian": ("InformationPrivacy", "LocalInformationPrivacy"),
        "leakcap.definition.gaussian": ("GaussianDP",),
        "leakcap.definition.catalogue": ("edges", "implications"),
        "leakcap.definition.graph": ("Implication", "implies"),
        "leakcap.definition.information": ("KLDP", "MIDP", "Centre", "LevelCapacity", "MaximalLeakage"),
        "leakcap.definition.pure": ("PureDP",),
        "leakcap.definition.relation": ("to_replace_one",),
        "leakcap.definition.renyi": ("RenyiDP", "ZeroConcentratedDP"),
        "leakcap.definition.search": ("convert", "route"),
        "leakcap.definition.steps": ("Route", "Step"),
    },
    rooms=("meaning", "theorems"),
)
