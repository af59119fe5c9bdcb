"""The public names are the interface: which there are, that they work, that each says what it is."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from types import ModuleType

import numpy as np
import pytest

import leakcap as lc

NAMES = {
    "Adversary", "AllPriors", "AllPriorsJoint", "ApproxDP", "BatchBound", "BayesianAdversary",
    "BayesianNeighbours", "Bound", "Channel", "ChannelBatch", "Definition", "DeltaDP", "DependentRecords",
    "Divergence", "EntropyFloor", "GaussianDP", "GivenPrior", "HockeyStick", "InformationPrivacy",
    "InputCost", "KLDP", "LeakcapError", "LevelCapacity", "LimitedKnowledge", "LocalInformationPrivacy",
    "MIDP", "MaximalLeakage", "Neighbourhood", "Neighbours", "PowerConstraint", "PrivateTable", "PureDP",
    "Relation", "Renyi",
    "RenyiDP", "StrongAdversary", "TotalVariation", "ZeroConcentratedDP", "batch_capacity", "capacity",
    "connect", "convert", "definition", "gain", "implications", "leakage", "mechanism", "refines", "route",
    "utility",
}  # fmt: skip

C = lc.Channel([[0.75, 0.25], [0.25, 0.75]])
UNIFORM = [0.5, 0.5]


def modules() -> list[ModuleType]:
    found = pkgutil.walk_packages(lc.__path__, "leakcap.")
    return [lc, *(importlib.import_module(m.name) for m in found if not m.name.endswith("__main__"))]


def silent(module: ModuleType) -> list[str]:
    """Public functions, classes, methods and properties of one module that say nothing about themselves."""
    if not inspect.getdoc(module):
        return [module.__name__]
    found = []
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if (inspect.isfunction(value) or inspect.isclass(value)) and not inspect.getdoc(value):
            found.append(f"{module.__name__}.{name}")
        if inspect.isclass(value):
            members = (
                (n, m.fget if isinstance(m, property) else getattr(m, "__func__", m))
                for n, m in tuple(vars(value).items())  # a record may be completed when it is looked at
            )
            found += [
                f"{module.__name__}.{name}.{n}"
                for n, m in members
                if not n.startswith("_") and inspect.isfunction(m) and not inspect.getdoc(getattr(value, n))
            ]
    return found


def test_exactly_these_names() -> None:
    assert set(lc.__all__) == NAMES
    assert len(lc.__all__) == len(NAMES)
    assert [name for name in lc.__all__ if not hasattr(lc, name)] == []


def test_every_room_lists_names_that_it_has() -> None:
    for module in modules():
        listed = getattr(module, "__all__", [])
        assert [name for name in listed if not hasattr(module, name)] == [], module.__name__


def test_everything_public_says_what_it_is() -> None:
    assert [name for module in modules() for name in silent(module)] == []


def test_a_silent_function_is_found() -> None:
    bare = ModuleType("leakcap.bare", "A module.")
    exec("def quiet(): return 1\nclass Loud:\n    'Says.'\n    def hush(self): return 1", vars(bare))
    for value in (bare.quiet, bare.Loud):
        value.__module__ = "leakcap.bare"
    assert silent(bare) == ["leakcap.bare.quiet", "leakcap.bare.Loud.hush"]


DEFINITIONS = [
    lc.PureDP(epsilon=1.0), lc.ApproxDP(epsilon=1.0, delta=0.1), lc.DeltaDP(delta=0.1), lc.KLDP(nats=0.1),
    lc.MIDP(nats=0.1), lc.RenyiDP(alpha=2.0, epsilon=1.0), lc.LevelCapacity(alpha=2.0, nats=0.1),
    lc.ZeroConcentratedDP(rho=0.1), lc.GaussianDP(mu=1.0), lc.MaximalLeakage(nats=0.1),
    lc.InformationPrivacy(epsilon=1.0), lc.LocalInformationPrivacy(epsilon=1.0),
]  # fmt: skip


@pytest.mark.parametrize("guarantee", DEFINITIONS, ids=lambda g: type(g).__name__)
def test_definitions_are_written_with_positions_or_names(guarantee: lc.Definition) -> None:
    # The fields without their names, in the order of the class: PureDP(1.0), ApproxDP(1.0, 0.1), …
    positional = [getattr(guarantee, f) for f in type(guarantee).__match_args__ if f != "neighbours"]
    assert type(guarantee)(*positional) == guarantee


def test_conversions_as_they_are_written() -> None:
    assert math.isclose(
        lc.convert(lc.PureDP(1.0), lc.LevelCapacity, alpha=2).nats, 0.24022901392, abs_tol=1e-9
    )
    assert math.isclose(lc.convert(lc.MIDP(0.1), lc.ApproxDP, epsilon=0.5).delta, 0.329776, abs_tol=1e-6)
    assert math.isclose(lc.convert(lc.MIDP(0.1), lc.DeltaDP).delta, 0.439589, abs_tol=1e-6)
    binary = math.log(2) - sum(-p * math.log(p) for p in (1 / (1 + math.e), math.e / (1 + math.e)))
    assert math.isclose(lc.convert(lc.PureDP(1.0), lc.MIDP, values=2).nats, binary, abs_tol=1e-12)
    steps = lc.route(lc.PureDP(1.0), lc.MIDP).steps
    assert len(steps) == 1
    assert steps[0].edge.citation


def test_measures_take_a_channel_and_a_prior() -> None:
    assert math.isclose(lc.leakage.mutual_information(C, UNIFORM), 0.13081203594113694, abs_tol=1e-15)
    assert lc.leakage.sibson(C, UNIFORM, alpha=math.inf) == pytest.approx(math.log(1.5), abs=1e-15)
    assert lc.leakage.g_leakage(C, UNIFORM, lc.gain.identity(2)) == pytest.approx(1.5, abs=1e-15)
    assert bool(lc.refines(C, C >> C))


@pytest.mark.parametrize(
    ("ruler", "adversary", "value"),
    [
        (lc.Renyi(math.inf), lc.Neighbours(), math.log(3)),
        (lc.HockeyStick(1.0), lc.Neighbours(), 0.5),
        (lc.TotalVariation(), lc.Neighbours(), 0.5),
        (lc.Renyi(1), lc.AllPriors(), 0.13081203594113694),
        (lc.Renyi(1), lc.GivenPrior(UNIFORM), 0.13081203594113694),
        (lc.Renyi(1), lc.AllPriorsJoint(), 0.13081203594113694),
        (lc.Renyi(math.inf), lc.EntropyFloor(math.log(2)), math.log(1.5)),
        (lc.Renyi(1), lc.InputCost([0.0, 1.0], 0.5), 0.13081203594113694),
    ],
)
def test_one_verb(ruler: lc.Divergence, adversary: lc.Adversary, value: float) -> None:
    bound = lc.capacity(C, ruler, adversary)
    assert bound.lower - 1e-12 <= value <= bound.upper + 1e-12
    assert bound.width <= 1e-8


def test_a_batch_is_measured_at_once() -> None:
    both = lc.ChannelBatch(np.stack([C.matrix, np.eye(2)]))
    answer = lc.batch_capacity(both, lc.Renyi(math.inf))
    assert isinstance(answer, lc.BatchBound)
    np.testing.assert_allclose(answer.upper, [math.log(3), math.inf], rtol=0, atol=1e-14)
