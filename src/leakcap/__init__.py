"""leakcap: every privacy guarantee is the capacity of a channel, seen by some adversary. Here it is capped.

    capacity(channel, divergence, adversary) -> Bound      what a mechanism leaks, to whom, certified
    convert(guarantee, Definition) -> guarantee            what follows from a guarantee, by the best route
    leakage.<measure>(channel, prior)                      what it leaks under a belief, towards a `gain`
    mechanism.<Name>                                       the catalogue
    PrivateTable(data, policy=..., ledger=...)             private statistics under durable caps
    connect(url)["ward"]                                   the same of a table that a curator holds

Everything is in nats unless a name says bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakcap.lazily import lazily

if TYPE_CHECKING:
    from leakcap import definition, gain, leakage, mechanism, utility
    from leakcap.adversary import (
        Adversary,
        AllPriors,
        AllPriorsJoint,
        BayesianAdversary,
        BayesianNeighbours,
        DependentRecords,
        EntropyFloor,
        GivenPrior,
        InputCost,
        LimitedKnowledge,
        Neighbours,
        PowerConstraint,
        StrongAdversary,
    )
    from leakcap.bound import Bound
    from leakcap.capacities import BatchBound, batch_capacity, capacity
    from leakcap.channel import Channel, ChannelBatch
    from leakcap.client import connect
    from leakcap.definition import (
        KLDP,
        MIDP,
        ApproxDP,
        Definition,
        DeltaDP,
        GaussianDP,
        InformationPrivacy,
        LevelCapacity,
        LocalInformationPrivacy,
        MaximalLeakage,
        Neighbourhood,
        PureDP,
        Relation,
        RenyiDP,
        ZeroConcentratedDP,
        convert,
        implications,
        route,
    )
    from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation
    from leakcap.errors import LeakcapError
    from leakcap.refinement import refines
    from leakcap.release import PrivateTable

__version__ = "0.1.0"

__all__ = [
    "KLDP",
    "MIDP",
    "Adversary",
    "AllPriors",
    "AllPriorsJoint",
    "ApproxDP",
    "BatchBound",
    "BayesianAdversary",
    "BayesianNeighbours",
    "Bound",
    "Channel",
    "ChannelBatch",
    "Definition",
    "DeltaDP",
    "DependentRecords",
    "Divergence",
    "EntropyFloor",
    "GaussianDP",
    "GivenPrior",
    "HockeyStick",
    "InformationPrivacy",
    "InputCost",
    "LeakcapError",
    "LevelCapacity",
    "LimitedKnowledge",
    "LocalInformationPrivacy",
    "MaximalLeakage",
    "Neighbourhood",
    "Neighbours",
    "PowerConstraint",
    "PrivateTable",
    "PureDP",
    "Relation",
    "Renyi",
    "RenyiDP",
    "StrongAdversary",
    "TotalVariation",
    "ZeroConcentratedDP",
    "batch_capacity",
    "capacity",
    "connect",
    "convert",
    "definition",
    "gain",
    "implications",
    "leakage",
    "mechanism",
    "refines",
    "route",
    "utility",
]


# Each name is loaded when it is first asked for: a command that needs no mathematics should not wait for it.
_HOMES = {
    "leakcap.adversary": (
        "Adversary",
        "AllPriors",
        "AllPriorsJoint",
        "BayesianAdversary",
        "BayesianNeighbours",
        "DependentRecords",
        "EntropyFloor",
        "GivenPrior",
        "InputCost",
        "LimitedKnowledge",
        "Neighbours",
        "PowerConstraint",
        "StrongAdversary",
    ),
    "leakcap.bound": ("Bound",),
    "leakcap.capacities": (
        "BatchBound",
        "batch_capacity",
        "capacity",
    ),
    "leakcap.channel": (
        "Channel",
        "ChannelBatch",
    ),
    "leakcap.client": ("connect",),
    "leakcap.definition": (
        "KLDP",
        "MIDP",
        "ApproxDP",
        "Definition",
        "DeltaDP",
        "GaussianDP",
        "InformationPrivacy",
        "LevelCapacity",
        "LocalInformationPrivacy",
        "MaximalLeakage",
        "Neighbourhood",
        "PureDP",
        "Relation",
        "RenyiDP",
        "ZeroConcentratedDP",
        "convert",
        "implications",
        "route",
    ),
    "leakcap.divergence": (
        "Divergence",
        "HockeyStick",
        "Renyi",
        "TotalVariation",
    ),
    "leakcap.errors": ("LeakcapError",),
    "leakcap.refinement": ("refines",),
    "leakcap.release": ("PrivateTable",),
}
_ROOMS = ("definition", "gain", "leakage", "mechanism", "utility")

__getattr__, __dir__ = lazily(__name__, _HOMES, rooms=_ROOMS)
