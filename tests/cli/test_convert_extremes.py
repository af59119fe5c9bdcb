"""`leakcap convert` at the ends of the scale: JSON has no infinity, and no message speaks of our insides."""

from __future__ import annotations

import json

import pytest

from command_line import leakcap


def test_an_infinite_answer_is_null_in_json() -> None:
    done = leakcap("convert", "PureDP(inf)", "MIDP", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["value"] is None


def test_concentrated_to_approximate() -> None:
    done = leakcap("convert", "ZeroConcentratedDP(0.1)", "ApproxDP(epsilon=1)", "--json")
    assert done.returncode == 0, done.stderr
    # At most what Canonne et al. give, min over α of e^{(α−1)(αρ−ε)}/α (1−1/α)^{α−1}.
    best = min(
        2.718281828459045 ** ((a - 1) * (0.1 * a - 1.0)) / a * (1 - 1 / a) ** (a - 1)
        for a in (1.0 + 0.01 * k for k in range(1, 3000))
    )
    value = json.loads(done.stdout)["value"]
    assert 0.0 < value <= best
    # At least what the Gaussian mechanism of the same ρ, μ² = 2ρ, itself needs: Φ(μ/2−ε/μ) − e^ε Φ(−μ/2−ε/μ).
    assert value >= 0.003185055


@pytest.mark.parametrize("target", ["ApproxDP(epsilon=inf)", "ApproxDP(epsilon=-1)", "ApproxDP(delta=2)"])
def test_out_of_range_is_said_in_the_askers_words(target: str) -> None:
    done = leakcap("convert", "MIDP(0.1)", target)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "of `ApproxDP` must be" in done.stderr
