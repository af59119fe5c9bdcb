"""Whatever is wrong with the input, the error is one of leakcap's, in one line that says what is wrong.

Nothing here may be answered, and nothing may fail from the inside; warnings are errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import leakcap as lc
from leakcap import gain, leakage, utility
from leakcap.errors import InvalidChannel, InvalidParameter, InvalidPrior, LeakcapError

Thunk = Callable[[], object]
Case = tuple[str, Thunk]

NAN, INF = math.nan, math.inf
C = lc.Channel([[0.75, 0.25], [0.25, 0.75]])
UNIFORM = [0.5, 0.5]
LOSS = [[0, 1], [1, 0]]

MATRICES: dict[str, Any] = {
    "sum above one": [[0.5, 0.6], [0.5, 0.5]],
    "sum off by a millionth": [[0.5, 0.5 + 1e-6], [0.5, 0.5]],
    "negative": [[1.5, -0.5], [0.5, 0.5]],
    "NaN": [[NAN, 0.5], [0.5, 0.5]],
    "infinite": [[INF, 0.5], [0.5, 0.5]],
    "minus infinite": [[-INF, 0.5], [0.5, 0.5]],
    "overflowing": [[1e308, 1e308]],
    "no rows": [],
    "an empty row": [[]],
    "ragged": [[0.5, 0.5], [1.0]],
    "an empty entry": [["", 0.5], [0.5, 0.5]],
    "None inside": [[None, 0.5], [0.5, 0.5]],
    "text inside": [["a", "b"], ["c", "d"]],
    "a vector": [0.5, 0.5],
    "a cube": [[[0.5, 0.5]]],
    "a number": 1.0,
    "complex": [[1j, 1], [0, 1]],
    "text": "0.5,0.5",
    "nothing": None,
    "fractions that miss one": [[Fraction(1, 2), Fraction(1, 3)]],
    "a negative fraction": [[Fraction(3, 2), Fraction(-1, 2)]],
    "a fraction and NaN": [[Fraction(1, 2), NAN]],
    "a frame that misses one": pd.DataFrame({"a": [0.5, 0.6], "b": [0.5, 0.5]}),
    "a frame with a gap": pd.DataFrame({"a": [0.5, None], "b": [0.5, 0.5]}),
    "a frame of text": pd.DataFrame({"a": ["x"], "b": [0.5]}),
    "an empty frame": pd.DataFrame(),
    "sparse that misses one": sparse.csr_array(np.array([[0.5, 0.6], [0.5, 0.5]])),
    "sparse and negative": sparse.csr_array(np.array([[1.5, -0.5], [0.5, 0.5]])),
    "sparse with NaN": sparse.csr_array(np.array([[NAN, 0.5], [0.5, 0.5]])),
    "sparse with an empty row": sparse.csr_array((2, 2)),
}

PRIORS: dict[str, Any] = {
    "too short": [1.0],
    "too long": [0.2, 0.3, 0.5],
    "sum above one": [0.5, 0.6],
    "negative": [1.5, -0.5],
    "NaN": [NAN, 1.0],
    "infinite": [INF, 0.0],
    "empty": [],
    "None inside": [None, 1],
    "text inside": ["a", "b"],
    "text": "uniform",
    "a matrix": [[0.5, 0.5]],
    "a number": 1.0,
    "nothing": None,
    "fractions that miss one": [Fraction(1, 2), Fraction(1, 3)],
}

PLAIN = (
    "mutual_information", "lift", "log_lift", "pointwise_maximal_leakage", "local_information_privacy",
    "bayes_vulnerability", "bayes_risk", "posterior_guessing_entropy", "gain_capacity", "privacies", "Hyper",
    "additive_gain_capacity", "inferential_privacy", "information_privacy", "relative_entropy_privacy",
    "mutual_information_privacy",
)  # fmt: skip


def under(name: str, **free: float) -> Callable[[Any], object]:
    return lambda prior: getattr(leakage, name)(C, prior, **free)


UNDER_A_PRIOR: dict[str, Callable[[Any], object]] = {
    **{name: under(name) for name in PLAIN},
    **{name: under(name, alpha=2.0) for name in ("sibson", "arimoto", "csiszar", "joint_renyi")},
    "capacity": lambda p: lc.capacity(C, lc.Renyi(1.0), lc.GivenPrior(p)),
    "g_leakage": lambda p: leakage.g_leakage(C, p, gain.identity(2)),
    "g_vulnerability": lambda p: leakage.g_vulnerability(p, gain.identity(2)),
    "reciprocal gain": lambda p: leakage.g_leakage(C, UNIFORM, gain.distribution_reciprocal(p)),
    "dalenius": lambda p: leakage.dalenius(leakage.lift, C, lc.Channel([[0.5, 0.5], [0.2, 0.8]]), p),
    "distortion": lambda p: utility.expected_distortion(C, p, LOSS),
    "optimal_mechanism": lambda p: utility.optimal_mechanism(p, LOSS, epsilon=1.0),
    "rate": lambda p: utility.least_mutual_information(p, LOSS, max_loss=0.1),
}

NO_NUMBERS: tuple[Any, ...] = (NAN, "1", None, True, 1j, [2.0])


def orders() -> Iterator[Case]:
    for alpha in (0, -1, -INF, *NO_NUMBERS):
        for name in ("sibson", "arimoto", "csiszar", "joint_renyi"):
            yield f"{name} {alpha}", lambda m=name, a=alpha: getattr(leakage, m)(C, UNIFORM, alpha=a)
        yield f"Renyi {alpha}", lambda a=alpha: lc.Renyi(a)
        yield f"RenyiDP {alpha}", lambda a=alpha: lc.RenyiDP(a, 1.0)
        yield f"LevelCapacity {alpha}", lambda a=alpha: lc.LevelCapacity(a, 1.0)


def thresholds() -> Iterator[Case]:
    for value in (-1, *NO_NUMBERS):
        for kind in (lc.PureDP, lc.KLDP, lc.MIDP, lc.DeltaDP, lc.ZeroConcentratedDP, lc.GaussianDP):
            yield f"{kind.__name__} {value}", lambda k=kind, v=value: k(v)
        for kind in (lc.MaximalLeakage, lc.InformationPrivacy, lc.LocalInformationPrivacy):
            yield f"{kind.__name__} {value}", lambda k=kind, v=value: k(v)
        yield f"HockeyStick {value}", lambda v=value: lc.HockeyStick(v)
        yield f"EntropyFloor {value}", lambda v=value: lc.EntropyFloor(v)
        yield f"PowerConstraint {value}", lambda v=value: lc.PowerConstraint(v)
        for limit in ("floor", "extent", "uncertainty", "dependents", "unknown"):
            if (limit, value) not in (("extent", INF), ("dependents", None)):
                yield (
                    f"LimitedKnowledge {limit} {value}",
                    lambda f=limit, v=value: lc.LimitedKnowledge(**{f: v}),
                )
        yield (
            f"InputCost {value}",
            lambda v=value: lc.capacity(C, lc.Renyi(1.0), lc.InputCost((0.0, v), -2.0)),
        )
        yield f"optimal {value}", lambda v=value: utility.optimal_mechanism(UNIFORM, LOSS, epsilon=v)


def adversaries() -> Iterator[Case]:
    def ask(ruler: Any, adversary: Any, channel: Any = C) -> Thunk:
        return lambda: lc.capacity(channel, ruler, adversary)

    one, widest = lc.Renyi(1.0), lc.Renyi(INF)
    yield "a floor above ln n", ask(widest, lc.EntropyFloor(5.0))
    yield "a floor at another order", ask(lc.Renyi(2.0), lc.EntropyFloor(0.1))
    yield "costs of the wrong length", ask(one, lc.InputCost((1.0,), 1.0))
    yield "a cost nobody can keep", ask(one, lc.InputCost((1.0, 2.0), 0.5))
    yield "a pair that is not there", ask(widest, lc.Neighbours(((0, 5),)))
    yield "pairs of labels", ask(widest, lc.Neighbours((("a", "b"),)))
    yield "pairs without brackets", ask(widest, lc.Neighbours((0, 1)))
    yield "no ruler", ask(None, None)
    yield "a word for an adversary", ask(one, "all")
    yield "a list for a channel", ask(one, None, [[0.5, 0.5]])
    yield "total variation over beliefs", ask(lc.TotalVariation(), lc.AllPriors())
    yield "no databases", ask(one, lc.StrongAdversary())
    yield "no databases, a belief", ask(one, lc.BayesianAdversary(UNIFORM))
    yield "no databases, dependence", ask(widest, lc.DependentRecords(2))


def gains() -> Iterator[Case]:
    below = gain.matrix([[-1, 1], [1, -1]])
    for worst in (False, True):
        yield f"negative, over priors {worst}", lambda w=worst: leakage.g_capacity(C, below, max_case=w)
        yield f"negative ratio {worst}", lambda w=worst: leakage.g_leakage(C, UNIFORM, below, max_case=w)
    bad = {"NaN": [[NAN, 1], [1, 1]], "infinite": [[INF, 1], [1, 1]], "columns": [[1, 2, 3]], "flat": [1, 2],
           "empty": [], "text": [["a", "b"]], "ragged": [[1], [1, 2]], "nothing": None}  # fmt: skip
    for name, table in bad.items():
        yield f"matrix {name}", lambda t=table: leakage.g_leakage(C, UNIFORM, gain.matrix(t))
        yield f"distance {name}", lambda t=table: leakage.g_leakage(C, UNIFORM, gain.distance(t))
    for k in (0, -1, 3, 1.5, "a", None):
        yield f"{k} guesses", lambda k=k: leakage.g_leakage(C, UNIFORM, gain.k_guesses(2, k))
    for size in (0, -1, 1.5, None):
        yield f"{size} secrets", lambda s=size: gain.identity(s)
    yield "property", lambda: leakage.g_leakage(C, UNIFORM, gain.property_of([1, 2, 3]))
    yield "worth nothing", lambda: leakage.g_leakage(C, UNIFORM, gain.matrix([[0, 0]]))
    yield "worth nothing at all", lambda: leakage.g_capacity(C, gain.matrix([[0, 0]]))


def algebra() -> Iterator[Case]:
    named = lc.Channel([[0.5, 0.5], [0.5, 0.5]], inputs=["a", "b"], outputs=["u", "v"])
    yield ">> labels", lambda: C >> named
    yield "<< labels", lambda: C << named
    yield "& labels", lambda: C & named
    yield ">> sizes", lambda: C >> lc.Channel([[1.0], [1.0], [1.0]])
    yield "refines labels", lambda: lc.refines(C, named)
    yield "refines a list", lambda: lc.refines(C, [[1]])
    for power in (0, -1, 1.5, "a"):
        yield f"power {power}", lambda p=power: C**p
    for share in (-0.1, 1.1, NAN, "x", None):
        yield f"visible {share}", lambda p=share: C.visible_choice(C, p)
        yield f"hidden {share}", lambda p=share: C.hidden_choice(C, p)
    for names in ({"inputs": ["a"]}, {"inputs": ["a", "a"]}, {"outputs": "abc"}, {"inputs": [[1], [2]]}):
        yield f"labels {names}", lambda n=names: lc.Channel(C.matrix, **n)
    for metric in ([[0, NAN], [NAN, 0]], [[0, -1], [-1, 0]], [[1, 1], [1, 1]], [[0, 1], [2, 0]], [[0]], "ab"):
        yield (
            f"metric {metric}",
            lambda m=metric: utility.optimal_mechanism(UNIFORM, LOSS, epsilon=1.0, metric=m),
        )
    for loss in ([[NAN, 1], [1, 0]], [[0, 1]], [0, 1], "ab", None):
        yield f"loss {loss}", lambda l=loss: utility.optimal_mechanism(UNIFORM, l, epsilon=1.0)
    for name in ("x.csv", "x.parquet", "x.json", "x"):
        yield f"no file {name}", lambda n=name: lc.Channel.load(f"nowhere/{n}")


def faults(cases: Iterator[Case], kind: type[LeakcapError] = LeakcapError) -> list[str]:
    """Cases that are answered, fail from the inside, or fail with words that help nobody."""
    found, count = [], 0
    for name, thunk in cases:
        count += 1
        try:
            thunk()
        except kind as error:
            words = str(error)
            if len(words) < 25 or "\n" in words:
                found.append(f"{name}: says {words!r}")
        except Exception as error:  # any other kind is a finding
            found.append(f"{name}: {type(error).__name__} {error}")
        else:
            found.append(f"{name}: answered")
    assert count > 10
    return found


def test_no_matrix_that_is_no_channel() -> None:
    assert faults(((n, lambda m=m: lc.Channel(m)) for n, m in MATRICES.items()), InvalidChannel) == []
    batches = ((n, lambda m=m: lc.ChannelBatch([m])) for n, m in MATRICES.items())
    assert faults(batches, InvalidChannel) == []


def test_no_prior_that_is_no_distribution() -> None:
    cases = (
        (f"{verb} of {name}", lambda f=f, p=p: f(p))
        for verb, f in UNDER_A_PRIOR.items()
        for name, p in PRIORS.items()
    )
    assert faults(cases, LeakcapError) == []


def test_no_prior_alone() -> None:
    bad = {name: p for name, p in PRIORS.items() if name not in {"too short", "too long"}}
    assert faults(((n, lambda p=p: leakage.guessing_entropy(p)) for n, p in bad.items()), InvalidPrior) == []


@pytest.mark.parametrize("cases", [orders, thresholds, adversaries, gains, algebra])
def test_nothing_out_of_range(cases: Callable[[], Iterator[Case]]) -> None:
    assert faults(cases()) == []


def test_outputs_that_never_happen_change_nothing() -> None:
    wide = lc.Channel([[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]])
    prior = [0.3, 0.7]
    for verb, measure in UNDER_A_PRIOR.items():
        if verb in {"mutual_information", "lift", "log_lift", "bayes_risk", "privacies"}:
            function = getattr(leakage, verb)
            assert function(wide, prior) == function(C, prior), verb
        assert measure(prior) is not None
    for ruler in (lc.Renyi(0.5), lc.Renyi(1.0), lc.Renyi(3.0), lc.Renyi(INF), lc.TotalVariation()):
        assert lc.capacity(wide, ruler).upper == lc.capacity(C, ruler).upper


def test_the_tolerance_is_as_stated() -> None:
    near = lc.Channel([[0.5, 0.5 + 9e-10], [0.5, 0.5]])
    assert math.isclose(float(near.matrix[0].sum()), 1.0, abs_tol=2e-16)
    with pytest.raises(InvalidChannel, match="1e-09"):
        lc.Channel([[0.5, 0.5 + 2e-9], [0.5, 0.5]])
    with pytest.raises(InvalidParameter, match="alpha"):
        lc.Renyi(0.0)


def test_an_answer_is_found() -> None:
    cases = [("fine", lambda: C)] * 11 + [("inside", lambda: 1 / 0)]
    assert faults(iter(cases)) == ["fine: answered"] * 11 + ["inside: ZeroDivisionError division by zero"]
