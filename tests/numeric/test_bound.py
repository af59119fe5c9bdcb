"""Bounds: outward in every unit, one number to a person where they are sharp."""

from __future__ import annotations

import math
import random

import flint
from flint import arb

from leakcap.bound import Bound
from leakcap.numeric.enclosure import enclose
from leakcap.numeric.rounding import down, up


def test_bits_are_rounded_outward() -> None:
    rng, tested = random.Random(18), 0
    with flint.ctx.workprec(200):
        for _ in range(2_000):
            nats = 10.0 ** rng.uniform(-300.0, 300.0)
            found = Bound.exact(nats, method="m").bits
            assert arb(found.lower) <= arb(nats) / arb(2).log() <= arb(found.upper), nats
            assert found.width <= 4e-16 * found.upper
            tested += 1
    assert tested == 2_000


def test_the_edges_of_bits() -> None:
    for end in (0.0, math.inf):
        found = Bound.exact(end, method="m").bits
        assert (found.lower, found.upper, found.unit) == (end, end, "bits")
    ratio = Bound.exact(2.0, method="m", unit="ratio")
    assert ratio.bits is ratio
    assert Bound(0.0, 5e-324, "m").bits.upper >= 5e-324


def test_a_closed_form_is_shown_as_one_number() -> None:
    found = Bound.enclosed(enclose(lambda d: d.of(2).log()), method="m")
    assert 0.0 < found.width < 3e-16
    assert found.is_sharp
    assert not found.is_exact
    assert str(found) == "0.6931471806 nats (m)"
    assert "value" in found._repr_html_()
    wide = Bound(0.1, 0.2, "m")
    assert not wide.is_sharp
    assert str(wide) == "[0.1, 0.2] nats (m)"
    assert Bound.exact(0.0, method="m").is_sharp
    assert Bound.exact(math.inf, method="m").is_sharp
    assert not Bound(0.0, math.inf, "m").is_sharp


def test_rounded_holds_what_its_roundings_lose() -> None:
    rng, tested = random.Random(7), 0
    for _ in range(500):
        terms = [rng.uniform(0.0, 1.0) * 10.0 ** rng.uniform(-6.0, 0.0) for _ in range(50)]
        total = 0.0
        for term in terms:
            total += term
        found = Bound.rounded(total, 49, method="a sum", unit="ratio" if total > 1.0 else "nats")
        assert math.fsum(terms) in found
        tested += total != math.fsum(terms)
    assert tested > 100  # sums that were not exact


def test_a_unit_says_how_far_a_bound_can_go() -> None:
    assert Bound.enclosed((-1e-20, 1e-20), method="m").lower == 0.0
    assert Bound.enclosed((0.5, 1.0 + 1e-15), method="m", unit="probability").upper == 1.0
    assert Bound.enclosed((1.0 - 1e-16, 1.5), method="m", unit="ratio").lower == 1.0


def test_rounding_below_the_normal_numbers_is_absolute() -> None:
    assert up(5e-324, 2) >= 1.5e-323
    assert down(5e-324, 2) <= 0.0
    assert up(0.0, 8) == down(0.0, 8) == 0.0
