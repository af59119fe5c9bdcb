"""Compositions and additive noise: the checker proves what leakcap claims, and nothing that is too much.

Truth comes from `composed_truth.py`: mpmath along another line, with moments by its own quadrature; here also
from closed forms and from an integral over the loss of one step, which no contour has part in.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from mpmath import mp, mpf

import leakcap_verify as verify
from certificate_mutants import changed, mutants, verdict
from composed_truth import claims_too_much, gaussian_delta, one_step_delta, truth
from leakcap.accounting import PrivacyLoss, guess_success
from leakcap.capacities.noise.gaussian import gaussian_capacity
from leakcap.capacities.noise.geometric import geometric_capacity
from leakcap.capacities.noise.laplace import laplace_capacity
from leakcap.mechanism import Gaussian, Laplace

GAUSSIAN, LAPLACE = PrivacyLoss.of_mechanism(Gaussian(2.0)), PrivacyLoss.of_mechanism(Laplace(2.0))
HALF, RESPONSE = GAUSSIAN.sampled(0.5), PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75])
SOME = PrivacyLoss.of_rows([0.5, 0.375, 0.125], [0.5, 0.5, 0.0])
CLAIMS = {
    "Gaussian, δ": lambda: (GAUSSIAN**3).delta(1.0),
    "Gaussian, ε": lambda: (GAUSSIAN**3).epsilon(1e-6),
    "sampled, δ": lambda: (HALF**30).delta(1.0),
    "sampled, ε": lambda: (HALF**30).epsilon(1e-3),
    "sampled, added": lambda: (HALF.reverse**30).epsilon(1e-3),
    "Laplace and Gaussian": lambda: (LAPLACE & GAUSSIAN**4).delta(0.5),
    "rows and Gaussian": lambda: (RESPONSE & GAUSSIAN**4).epsilon(1e-4),
    "what may be certain": lambda: (SOME & GAUSSIAN**4).delta(0.5),
    "Rényi": lambda: (HALF**7 & LAPLACE).renyi(3.5),
    "Rényi, added": lambda: (HALF.reverse**7).renyi(20.0),
    "geometric": lambda: geometric_capacity(4, 0.5),
    "geometric, all secrets": lambda: geometric_capacity(6, 1.5),
    "Laplace": lambda: laplace_capacity(1.5),
    "Gaussian noise": lambda: gaussian_capacity(1.5),
}
MADE: dict[str, dict[str, Any]] = {}


def made(name: str) -> dict[str, Any]:
    """The certificate of a claim, as it leaves the process."""
    if name not in MADE:
        MADE[name] = json.loads(json.dumps(CLAIMS[name]().certificate()))
    return MADE[name]


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_is_proved_and_true(name: str) -> None:
    found = made(name)
    assert found["evidence"] == "proved"
    assert verdict(found) == "proved"
    assert not claims_too_much(found)


@pytest.mark.parametrize("name", CLAIMS)
def test_what_contradicts_the_truth_is_not_proved(name: str) -> None:
    """By a hundred-millionth, from either side."""
    found = made(name)
    least, most = (float.fromhex(found["claim"][end]) for end in ("lower", "upper"))
    below = changed(changed(found, ("claim", "lower"), "0"), ("claim", "upper"), (least * (1 - 1e-8)).hex())
    above = changed(changed(found, ("claim", "lower"), (most * (1 + 1e-8)).hex()), ("claim", "upper"), "inf")
    for lie in (below, above):
        assert claims_too_much(lie)
        assert verdict(lie) in ("refuted", "not proved")


def held_against_the_truth(name: str, seed: int, most: int) -> None:
    every = list(mutants(made(name), tuple(verify.KINDS)))
    for one in random.Random(seed).sample(every, most):
        if verdict(one) == "proved":
            assert not claims_too_much(one)


@pytest.mark.parametrize("name", CLAIMS)
def test_no_mutant_that_claims_too_much_is_proved(name: str) -> None:
    """6 of each with fixed seeds."""
    held_against_the_truth(name, 6, 6)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLAIMS)
def test_of_many_mutants_none_that_claims_too_much_is_proved(name: str) -> None:
    """60 of each."""
    held_against_the_truth(name, 60, 60)


@pytest.mark.parametrize("name", ["sampled, δ", "Laplace and Gaussian"])
def test_no_line_however_it_is_chosen_proves_a_lie(name: str) -> None:
    """Steps too long, lines that end early, abscissas off the saddle: never is proved what is false."""
    found = made(name)
    low = changed(changed(found, ("claim", "lower"), "0"), ("claim", "upper"), "0x1.0000000000000p-20")
    for field, values in {
        "step": ["4", "20"],
        "nodes": [1, 3],
        "abscissa": ["1/1000", "1"],
        "lifts": [["1/1000"] * 2, ["1/1000"]],
    }.items():
        for value in values:
            assert verdict(changed(low, ("witness", field), value)) != "proved"


def test_a_checker_that_forgets_how_a_line_ends_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted mistake: nothing is left out beyond the last node, however few there are."""
    found = changed(made("sampled, δ"), ("witness", "nodes"), 2)
    assert verdict(found) == "not proved"
    plain = verify.mean
    monkeypatch.setattr(
        verify, "mean", lambda parts, z, lifts=None: verify.acb(0) if lifts else plain(parts, z, lifts)
    )
    exact = (HALF**30).delta(1.0).midpoint
    lies = [
        changed(changed(found, ("claim", "lower"), "0"), ("claim", "upper"), (exact * f).hex())
        for f in (0.5, 0.9, 0.99, 0.999)
    ]
    raised = changed(changed(found, ("claim", "lower"), (exact * 1.001).hex()), ("claim", "upper"), "inf")
    assert any(verdict(lie) == "proved" for lie in (*lies, raised))


def test_truth_by_closed_forms_and_by_one_integral() -> None:
    """The truth that the mutants are held against, itself against what needs no contour."""
    mp.dps = 30
    found = made("Gaussian, δ")
    assert abs(truth(found)[0] - gaussian_delta(mp.sqrt(3) / 2, mpf(1))) < mpf("1e-14")
    noise = {"name": "GaussianDpEvent", "noise_multiplier": "2"}
    step = {"name": "PoissonSampledDpEvent", "sampling_probability": "1/2", "event": noise}
    event = {"name": "SelfComposedDpEvent", "event": step, "count": 2}
    twice = {"kind": "delta-composed", "problem": {"losses": event, "at": "1/4"}}
    # E over one step's loss of the other's δ, in closed form.
    assert abs(truth(twice)[0] - one_step_delta(mpf("0.5"), mpf("0.5"), mpf("0.25"))) < mpf("1e-9")


def test_the_larger_of_both_directions_has_the_proof_of_that_one() -> None:
    """Asked from either side; it had that of the side asked for, with the numbers of the other."""
    for loss in (HALF**30, HALF.reverse**30):
        assert verdict(json.loads(json.dumps(loss.epsilon_both(1e-3).certificate()))) == "proved"
        assert verdict(json.loads(json.dumps(loss.delta_both(1.0).certificate()))) == "proved"


def test_a_guess_has_not_the_proof_of_the_delta_that_it_is_made_of() -> None:
    found = guess_success(GAUSSIAN**3).certificate()
    assert (found["kind"], verdict(found)) == ("stated", "not proved")


def test_what_is_too_dear_to_check_is_only_stated() -> None:
    """One step of a small sample has a narrow loss: its line would need thousands of nodes."""
    found = (GAUSSIAN.sampled(0.001) ** 2).epsilon(1e-8).certificate()
    assert (found["kind"], found["evidence"]) == ("stated", "numerical")


def test_no_line_says_of_itself_in_which_direction_it_runs() -> None:
    """δ of the other direction may be smaller: it would prove too much."""
    found = made("sampled, added")
    for side in ("lower", "upper"):
        assert verdict(changed(found, ("witness", side, "side"), 1)) == "refused"
    assert verdict(changed(made("sampled, δ"), ("witness", "side"), 1)) == "refused"
    assert verdict(changed(made("sampled, δ"), ("problem", "side"), 1)) == "refused"


INEXACT = {
    "any answer": {"name": "EpsilonDeltaDpEvent", "epsilon": "1/10", "delta": "0"},
    "any answer with a δ": {"name": "EpsilonDeltaDpEvent", "epsilon": "1/10", "delta": "1/2"},
    "zero-concentrated": {"name": "ZCDpEvent", "rho": "1/100"},
    "discrete": {"name": "DiscreteGaussianDpEvent", "variance": "50", "squared_sensitivity": "1"},
}


@pytest.mark.parametrize("name", INEXACT)
@pytest.mark.parametrize("found", ["Rényi", "Gaussian, δ", "Gaussian, ε"])
def test_what_is_only_known_at_most_is_no_loss(name: str, found: str) -> None:
    """Of such an event neither a lower end is known nor, where it has a δ, what happens then."""
    within = made(found)["problem"]["losses"]["events"][0]
    bounded = {"name": "BoundedDpEvent", "epsilon": "1/1000", "event": within}
    for event in (INEXACT[name], bounded, {"name": "ComposedDpEvent", "events": [within, INEXACT[name]]}):
        assert verdict(changed(made(found), ("problem", "losses"), event)) == "refused"


def test_hostile_problems_are_refused() -> None:
    found = made("sampled, δ")
    events = ("problem", "losses", "events")
    first = (*events, 0)
    for path, value in (
        ((*first, "count"), 10**13),
        ((*first, "count"), True),
        ((*first, "event", "event", "noise_multiplier"), "1/100000"),
        ((*first, "event", "event", "noise_multiplier"), "0"),
        ((*first, "event", "sampling_probability"), "2"),
        ((*first, "event", "event"), found["problem"]["losses"]["events"][0]["event"]),
        (events, []),
        (events, [found["problem"]["losses"]["events"][0]] * 65),
        (("witness", "nodes"), 10**6),
        (("witness", "nodes"), 0),
        (("witness", "step"), "0"),
        (("witness", "right"), "1/1000"),
        (("witness", "lifts"), ["100"]),
        (("witness", "lifts"), []),
    ):
        assert verdict(changed(found, path, value)) == "refused", (path, value)
    assert verdict(changed(made("geometric"), ("problem", "steps"), 10**6)) == "refused"
    assert verdict(changed(made("Laplace"), ("problem", "range"), "1000")) == "refused"
