"""What somebody might get wrong: for every law, mistakes that it has to catch.

A plant changes what is measured, through pytest's monkeypatch, on the side that the law compares; samples
that attain the inequalities stand beside random ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import leakcap as lc
from laws.inequalities import capacities, conversions, leakages
from laws.inequalities.sample import INF, Law, Sample
from leakcap import leakage

__all__ = ["PLANTED", "Plant", "tight"]

_OVER = (
    "posterior_vulnerability",
    "g_leakage",
    "mutual_information",
    "sibson",
    "arimoto",
    "joint_renyi",
    "local_information_privacy",
)
Plant = Callable[[pytest.MonkeyPatch], None]
Asked = Callable[[lc.Divergence, "lc.Adversary | None", Callable[..., lc.Bound]], lc.Bound]


def tight() -> Iterator[Sample]:
    """Erasure, randomised response of two and three values, a subset mechanism, the identity."""
    subset = np.array([[3, 3, 1, 1, 1, 3], [3, 1, 3, 1, 3, 1], [1, 3, 3, 3, 1, 1], [1, 1, 1, 3, 3, 3]]) / 12
    rows = (
        np.hstack([0.3 * np.eye(4), np.full((4, 1), 0.7)]),
        (np.ones((2, 2)) + np.eye(2)) / 3,
        (np.ones((3, 3)) + 2 * np.eye(3)) / 5,
        subset,
        np.eye(3),
    )
    rng = np.random.default_rng(0)
    for table in rows:
        yield Sample(lc.Channel(table), np.full(len(table), 1 / len(table)), rng)


def _scaled(bound: lc.Bound, factor: float) -> lc.Bound:
    return replace(bound, lower=factor * bound.lower, upper=factor * bound.upper)


def _ask(asked: Asked) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        honest = Sample.ask

        def wrong(s: Sample, ruler: lc.Divergence, adversary: lc.Adversary | None = None) -> lc.Bound:
            return asked(ruler, adversary, lambda r=ruler, a=adversary: honest(s, r, a))

        patch.setattr(Sample, "ask", wrong)

    return plant


def _answers_times(factor: float, ruler: lc.Divergence, adversary: type | None = None) -> Plant:
    """One capacity times a factor: of this ruler (any hockey-stick for one), over these adversaries."""

    def asked(r: lc.Divergence, a: lc.Adversary | None, honest: Callable[..., lc.Bound]) -> lc.Bound:
        same = r == ruler or (isinstance(ruler, lc.HockeyStick) and isinstance(r, lc.HockeyStick))
        meant = same and (a is None if adversary is None else isinstance(a, adversary))
        return _scaled(honest(), factor) if meant else honest()

    return _ask(asked)


def _level(change: Callable[[lc.Bound], lc.Bound]) -> Plant:
    """The level at every order but one and ∞."""

    def asked(r: Any, a: lc.Adversary | None, honest: Callable[..., lc.Bound]) -> lc.Bound:
        return (
            change(honest()) if isinstance(a, lc.AllPriorsJoint) and r.alpha not in (1.0, INF) else honest()
        )

    return _ask(asked)


def _turned_order(r: Any, a: lc.Adversary | None, honest: Callable[..., lc.Bound]) -> lc.Bound:
    return honest(lc.Renyi(1.0 / r.alpha if math.isfinite(r.alpha) else 0.2))


def _no_floor(r: lc.Divergence, a: lc.Adversary | None, honest: Callable[..., lc.Bound]) -> lc.Bound:
    return honest(r, lc.EntropyFloor(0.0) if isinstance(a, lc.EntropyFloor) else a)


def _floor_in_bits(r: lc.Divergence, a: lc.Adversary | None, honest: Callable[..., lc.Bound]) -> lc.Bound:
    return honest(r, lc.EntropyFloor(a.nats * math.log(2)) if isinstance(a, lc.EntropyFloor) else a)


def _measure(name: str, wrong: Callable[..., Any]) -> Plant:
    """A measure of `leakcap.leakage` that answers wrong(honest answer, channel, …)."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        honest = getattr(leakage, name)
        patch.setattr(leakage, name, lambda *a, **k: wrong(honest(*a, **k), *a))

    return plant


def _between(ruler: type[lc.Divergence], wrong: Callable[[Any, Any], Any]) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        honest = ruler.between
        patch.setattr(ruler, "between", lambda self, p, q: wrong(honest(self, p, q), self))

    return plant


def _sibson_and_joint_swapped(patch: pytest.MonkeyPatch) -> None:
    sibson, joint = leakage.sibson, leakage.joint_renyi
    patch.setattr(leakage, "sibson", joint)
    patch.setattr(leakage, "joint_renyi", sibson)


def _csiszar_off(bound: lc.Bound, *_: Any) -> lc.Bound:
    return replace(bound, lower=bound.lower + 0.02, upper=bound.upper + 0.02)


def _csiszar_low(bound: lc.Bound, *_: Any) -> lc.Bound:
    return replace(bound, lower=0.9 * bound.lower, upper=0.9 * bound.upper)


def _unweighted(value: float, channel: lc.Channel, prior: Any, goal: Any, **_: Any) -> float:
    """Average leakage that weighs every output alike instead of by q_y."""
    best = goal.best(np.ones(len(prior)), leakage.Hyper(channel, prior).inner.T)
    return float(best.sum()) / leakage.g_vulnerability(prior, goal)


def _denied(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lc, "refines", lambda *_: SimpleNamespace(holds=False))


def _swapped(seen: leakage.Privacies, *_: Any) -> leakage.Privacies:
    return replace(seen, relative_entropy=seen.information, information=seen.relative_entropy)


def _one_sided(seen: leakage.Privacies, *_: Any) -> leakage.Privacies:
    return replace(seen, inferential=0.5 * seen.inferential)


def _not_averaged(seen: leakage.Privacies, channel: lc.Channel, *_: Any) -> leakage.Privacies:
    return replace(seen, mutual_information=channel.shape[1] * seen.mutual_information)


def _converted(source: type, field: str, factor: float) -> Plant:
    """The conversion from one definition takes a fraction of its budget for all of it."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        honest = lc.convert

        def wrong(given: Any, *a: Any, **k: Any) -> Any:
            return honest(
                replace(given, **{field: factor * getattr(given, field)})
                if isinstance(given, source)
                else given,
                *a,
                **k,
            )

        patch.setattr(lc, "convert", wrong)

    return plant


def _half_the_neighbours(patch: pytest.MonkeyPatch) -> None:
    honest = conversions.neighbours
    patch.setattr(
        conversions,
        "neighbours",
        lambda people: [(i, j) for i, j in honest(people) if people[i][0] == people[j][0]],
    )


def _times(factor: float) -> Callable[..., float]:
    return lambda value, *_: factor * value


def _capacity_tenth(patch: pytest.MonkeyPatch) -> None:
    honest = lc.capacity
    patch.setattr(lc, "capacity", lambda *a, **k: _scaled(honest(*a, **k), 0.1))


def _bound_times(factor: float) -> Callable[..., lc.Bound]:
    return lambda bound, *_: _scaled(bound, factor)


PLANTED: dict[Law, dict[str, Plant]] = {
    capacities.radius_level_diameter: {
        "level below the radius": _level(lambda b: _scaled(b, 0.5)),
        "level above the diameter": _level(lambda b: _scaled(b, 8.0)),
        "level at one below Shannon": _answers_times(0.9, lc.Renyi(1.0), lc.AllPriorsJoint),
        "falls with the order": _ask(_turned_order),
        "ceiling a little low": _level(lambda b: replace(b, lower=0.999 * b.lower, upper=0.999 * b.upper)),
        "lower end not attained": _level(lambda b: replace(b, lower=b.lower + 1e-6, upper=b.upper + 1e-6)),
        "maximal leakage in bits": _answers_times(1 / math.log(2), lc.Renyi(INF), lc.AllPriors),
    },
    capacities.rulers: {
        "variation without its half": _between(lc.TotalVariation, lambda v, _: 2.0 * v),
        "orders that fall": _between(lc.Renyi, lambda v, r: v / r.alpha if math.isfinite(r.alpha) else v),
        "profile that rises": _between(lc.HockeyStick, lambda v, r: v * r.exp_epsilon**4),
        "profile that is not convex": _between(
            lc.HockeyStick, lambda v, r: v - 1e-3 * (r.exp_epsilon - 1) ** 2
        ),
    },
    leakages.informations: {
        "sibson and joint swapped": _sibson_and_joint_swapped,
        "csiszar above sibson": _measure("csiszar", _csiszar_off),
        "csiszar below sibson": _measure("csiszar", _csiszar_low),
        "arimoto doubled": _measure("arimoto", _times(2.0)),
        "information in bits": _measure("mutual_information", _times(1 / math.log(2))),
    },
    leakages.guesses: {
        "outputs weighed alike": _measure("g_leakage", _unweighted),
        "lift a little low": _measure("lift", _times(1 - 1e-6)),
        "capacity a little high": _measure("gain_capacity", _bound_times(1 + 1e-6)),
        "Bayes capacity too large": _measure("bayes_capacity", _bound_times(1.5)),
        "lift capacity a little low": _measure("lift_capacity", _bound_times(1 - 1e-6)),
    },
    leakages.pointwise: {
        "log-lift a little high": _measure("log_lift", lambda v, *_: v + 1e-6),
        "LIP halved": _measure("local_information_privacy", _times(0.5)),
        "LIP doubled": _measure("local_information_privacy", _times(2.0)),
        "information doubled": _measure("mutual_information", _times(2.0)),
    },
    leakages.correlated: {
        "Dalenius doubled": _measure("dalenius", _times(2.0)),
        "capacity turned over": _measure(
            "bayes_capacity", lambda b, *_: lc.Bound.exact(1 / b.upper, method="")
        ),
        "epsilon turned over": _ask(
            lambda r, a, honest: lc.Bound.exact(1 / (1e-9 + honest().upper), method="turned over")
        ),
    },
    leakages.four_privacies: {
        "two swapped": _measure("privacies", _swapped),
        "strongest on one side": _measure("privacies", _one_sided),
        "information of all outputs": _measure("privacies", _not_averaged),
    },
    leakages.entropy_floor: {
        "floor forgotten": _ask(_no_floor),
        "floor in bits": _ask(_floor_in_bits),
        "epsilon a little low": _answers_times(1 - 1e-6, lc.Renyi(INF), None),
    },
    leakages.refined: {
        "denied": _denied,
        "log-lift without its outputs' maximum": _measure("lift", lambda v, c, p: float(1 / v)),
        "csiszar that falls": _measure("csiszar", lambda b, c, *_: _scaled(b, 1.0 / c.shape[1] ** 3)),
        **{f"{name} turned over": _measure(name, _times(-1.0)) for name in _OVER},
    },
    conversions.from_epsilon: {
        "epsilon a tenth low": _answers_times(0.9, lc.Renyi(INF)),
        "Bayes capacity a little high": _measure("bayes_capacity", _bound_times(1 + 1e-6)),
        "divergence a little high": _answers_times(1 + 1e-6, lc.Renyi(1.0)),
        "Rényi a little high": _answers_times(1 + 1e-6, lc.Renyi(4.0)),
    },
    conversions.two_values: {
        "capacity a little high": _answers_times(1 + 1e-6, lc.Renyi(1.0), lc.AllPriors),
        "profile halved": _answers_times(0.5, lc.HockeyStick(1.0)),
    },
    conversions.from_information: {
        "capacity low": _answers_times(0.99, lc.Renyi(1.0), lc.AllPriors),
        "variation a little high": _answers_times(1 + 1e-6, lc.TotalVariation()),
        "conversion of half the budget": _converted(lc.MIDP, "nats", 0.5),
    },
    conversions.from_variation: {
        "capacity a little high": _answers_times(1 + 1e-6, lc.Renyi(1.0), lc.AllPriors),
        "variation a little low": _answers_times(1 - 1e-6, lc.TotalVariation()),
        "variation a tenth": _answers_times(0.1, lc.TotalVariation()),
    },
    conversions.to_the_profile: {
        "Rényi budget a third": _converted(lc.RenyiDP, "epsilon", 0.3),
        "Gaussian budget a little low": _converted(lc.GaussianDP, "mu", 0.99),
        "epsilon halved": _answers_times(0.5, lc.Renyi(INF)),
    },
    conversions.databases: {
        "half the neighbours": _half_the_neighbours,
        "privacy a little high": _measure("information_privacy", lambda v, *_: v + 1e-6),
        "privacy a little low": _measure("information_privacy", lambda v, *_: v - 1e-6),
        "privacy twice": _measure("information_privacy", _times(2.0)),
        "epsilon a tenth": _capacity_tenth,
    },
}
