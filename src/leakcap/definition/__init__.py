"""Privacy definitions, and the graph of what follows from what.

A definition is a ruler, an adversary, a neighbouring relation and a threshold. `convert` finds the
strongest consequence, `route` explains it, `implications` lists every edge between two definitions,
`leakcap.definition.meaning` says what a guarantee means for guesses and beliefs.
"""

from leakcap.definition import meaning, theorems
from leakcap.definition.approximate import ApproxDP, DeltaDP
from leakcap.definition.base import Definition, Neighbourhood, Relation
from leakcap.definition.bayesian import InformationPrivacy, LocalInformationPrivacy
from leakcap.definition.gaussian import GaussianDP
from leakcap.definition.graph import Implication, edges, implications, implies
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
