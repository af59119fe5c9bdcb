"""What the page says of Gaussian and Laplace noise on the reals: every number again, by fifty digits.

A sentence that no pattern knows fails, and every number in a known one is compared.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache

import mpmath
import pytest

from leakcap.accounting import PrivacyLoss, guess_success
from leakcap.choosing import GaussianMeaning, Meaning, meaning_of
from leakcap.mechanism import Laplace
from leakcap.web.choosing import epsilon_plots
from leakcap.web.choosing.epsilon import asked

mp = mpmath.mp.clone()
mp.dps = 50
NUMBER = r"([\d.,]+(?:e[+-]?\d+)?)"
BITS = 1 / mp.log(2)
SETTINGS = [
    {"eps": "1"},
    {"eps": "0.1", "queries": "7", "delta": "1e-9", "prior": "10", "values": "2", "family": "2"},
    {"eps": "0.01", "queries": "1000", "delta": "1e-2", "prior": "99", "values": "10000"},
    {"eps": "3", "queries": "20", "delta": "1e-12", "prior": "1", "values": "20", "family": "20"},
    {"eps": "10", "queries": "1000", "delta": "1e-2", "values": "2"},
]

QUICK_FIRST = [
    SETTINGS[1],
    *(pytest.param(query, marks=pytest.mark.slow) for query in SETTINGS if query is not SETTINGS[1]),
]


def gaussian(query: dict[str, str]) -> GaussianMeaning:
    found = meaning_of(asked({"mechanism": "gaussian", **query}))
    assert isinstance(found, GaussianMeaning)
    return found


def phi(x: object) -> mpmath.mpf:
    return mp.ncdf(x)


def upper_quantile(p: str) -> mpmath.mpf:
    return mp.sqrt(2) * mp.erfinv(1 - 2 * mp.mpf(p))


def root(f: Callable[[mpmath.mpf], mpmath.mpf], low: object, high: object) -> mpmath.mpf:
    """Where a rising function passes zero."""
    low, high = mp.mpf(low), mp.mpf(high)
    for _ in range(170):
        middle = (low + high) / 2
        low, high = (low, middle) if f(middle) > 0 else (middle, high)
    return high


def profile(mu: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    return phi(mu / 2 - epsilon / mu) - mp.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


@cache
def truth(eps: float, delta: float, queries: int) -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    """σ for one query, μ of all, and the ε of all at the same δ."""
    one = root(lambda m: profile(m, mp.mpf(eps)) - mp.mpf(delta), "1e-6", 50)
    mu = one * mp.sqrt(queries)
    top = mu * (mu / 2 + 10) + 1
    return 1 / one, mu, root(lambda e: mp.mpf(delta) - profile(mu, e), 0, top)


def covers(text: str, value: mpmath.mpf, close: float = 0.012) -> None:
    """What is shown is not below the truth, and not needlessly above it."""
    shown = mp.mpf(text.replace(",", "").rstrip("."))
    assert shown >= value * (1 - mp.mpf("1e-10")), (text, value)
    assert shown <= value * (1 + mp.mpf(close)), (text, value)


def per_cent(text: str, value: mpmath.mpf) -> None:
    shown = mp.mpf(text)
    assert 100 * value - mp.mpf("1e-8") <= shown <= min(mp.mpf(100), 100 * value + mp.mpf("0.0101"))


def moved(found: re.Match[str], epsilon: mpmath.mpf, rare: mpmath.mpf) -> None:
    if found[1] is None:
        assert 2 * epsilon >= 700
    else:
        covers(found[1], mp.exp(2 * epsilon))
        covers(found[2], rare)


def told(mu: mpmath.mpf, values: int) -> mpmath.mpf:
    """KL(N(μ,1) ‖ N(μ,1)/k + (1−1/k)N(0,1))."""
    low = mpmath.mp.clone()
    low.dps = 20
    m, k = low.mpf(mu), low.mpf(values)

    def part(z: mpmath.mpf) -> mpmath.mpf:
        return -low.npdf(z - m) * low.log(1 / k + (1 - 1 / k) * low.exp(m * m / 2 - m * z))

    return low.quad(part, [m - 15, m - 7, m - 3, m, m + 3, m + 7, m + 15])


@pytest.mark.parametrize("query", QUICK_FIRST)
def test_no_sentence_is_false(query: dict[str, str]) -> None:
    m = gaussian(query)
    a = m.asked
    sigma, mu, epsilon = truth(a.epsilon, a.delta, a.queries)
    k, values = a.family, a.values
    assert m.sigma == pytest.approx(float(sigma), rel=1e-9)
    assert sigma <= mp.mpf(m.sigma)
    among = root(
        lambda s: s - phi(mu - upper_quantile(mp.nstr((1 - s) / (values - 1), 45))), 1 / mp.mpf(values), 1
    )
    lie = 1 / (1 + mp.exp(epsilon))
    h = -lie * mp.log(lie) - (1 - lie) * mp.log1p(-lie)
    yes_no = a.delta * mp.log(2) + (1 - a.delta) * (mp.log(2) - h)
    most = min(told(mu, values), mp.log(values), a.queries * told(mu / mp.sqrt(a.queries), 2))
    rare = min(a.delta * (1 + mp.exp(-2 * epsilon)) / -mp.expm1(-epsilon), mp.mpf(1))
    # tanh ε and 2√η, η = `rare`, unless more than √η(1 + e^ε) + δ is left out: then any belief may change.
    joining = mp.tanh(epsilon) + 2 * mp.sqrt(rare)
    if joining >= 1 or mp.sqrt(rare) * (1 + mp.exp(epsilon)) + a.delta >= 1:
        joining = mp.mpf(1)
    checked: dict[str, tuple[str, Callable[[re.Match[str]], object]]] = {
        "coin_flip": (rf"probability {NUMBER} % at most", lambda f: per_cent(f[1], phi(mu / 2))),
        "one_in_k": (rf"probability {NUMBER} % at most", lambda f: per_cent(f[1], among)),
        "total_variation": (rf"most {NUMBER} percentage", lambda f: per_cent(f[1], 2 * phi(mu / 2) - 1)),
        "test_power": (
            rf"probability {NUMBER} % at most",
            lambda f: per_cent(f[1], phi(mu - upper_quantile("0.01"))),
        ),
        "family": (rf"probability {NUMBER} % at most", lambda f: per_cent(f[1], phi(k * mu / 2))),
        "odds": (
            rf"(?:most {NUMBER}, except with probability {NUMBER} at most|by any factor)\.",
            lambda f: moved(f, epsilon, rare),
        ),
        "epsilon": (
            rf"loss is {NUMBER} nats \({NUMBER} bits\): but for a slack of δ = {NUMBER}, no",
            lambda f: [
                covers(f[1], epsilon), covers(f[2], epsilon * BITS), covers(f[3], mp.mpf(a.delta))
            ],
        ),
        "information_own": (
            rf"most {NUMBER} nats \({NUMBER} bits\)",
            lambda f: [covers(f[1], most), covers(f[2], most * BITS)],
        ),
        "information_tight": (
            rf"than {NUMBER} nats \({NUMBER} bits\)",
            lambda f: [covers(f[1], yes_no), covers(f[2], yes_no * BITS)],
        ),
        "joining": (
            rf"by at most {NUMBER} percentage points",
            lambda f: per_cent(f[1], joining),
        ),
        "average_and_worst": (
            rf"than {NUMBER} nats \({NUMBER} bits\) for the true one with probability {NUMBER} at most",
            lambda f: [
                covers(f[1], epsilon), covers(f[2], epsilon * BITS), covers(f[3], phi(mu / 2 - epsilon / mu))
            ],
        ),
    }  # fmt: skip
    lines = {line.key: line.sentence for line in m.statement.lines if line.key not in ("table", "more")}
    assert set(lines) == set(checked)
    for key, (pattern, check) in checked.items():
        found = re.search(pattern, lines[key])
        assert found, lines[key]
        check(found)


@pytest.mark.parametrize("query", QUICK_FIRST)
def test_the_pictures_of_gaussian_noise(query: dict[str, str]) -> None:
    m = gaussian(query)
    a = m.asked
    sigma, mu, epsilon = truth(a.epsilon, a.delta, a.queries)
    z = upper_quantile("0.05")
    for people in (1, a.family):
        # Odds are multiplied by 0.05/Q(E) where P(E) = 0.05.
        factor = mp.mpf("0.05") / phi(-people * mu - z)
        odds = mp.mpf(a.prior) / (1 - mp.mpf(a.prior))
        assert m.after(people) == pytest.approx(float(odds * factor / (1 + odds * factor)), rel=1e-9)
        assert m.least(people) == pytest.approx(
            float(odds / factor / (1 + odds / factor)), rel=1e-7, abs=1e-290
        )
    x = mp.log((1 - mp.mpf(a.prior)) / mp.mpf(a.prior))
    right = 1 - mp.mpf(a.prior) + a.prior * profile(mu, x)
    assert m.guess.lower - 1e-12 <= right <= m.guess.upper + 1e-12
    for alarms, misses in m.tests[1:-1]:
        exact = phi(upper_quantile(repr(alarms)) - mp.sqrt(a.queries) / mp.mpf(m.sigma))
        assert misses <= exact
        assert misses == pytest.approx(float(exact), rel=1e-9, abs=1e-300)
    # The line of ε and δ touches this curve where both errors are equal, and crosses it nowhere.
    assert m.corner == pytest.approx(
        float((1 - mp.mpf(a.delta)) / (1 + mp.exp(epsilon))), rel=1e-8, abs=1e-300
    )
    one = 1 / sigma
    for alpha, bound, _, apart in m.orders:
        assert apart == pytest.approx(float(alpha * one**2 / 2), rel=1e-9)
        assert bound is not None
        assert bound.upper <= mp.log1p(one / mp.sqrt(2 * mp.pi)) * (1 + mp.mpf("1e-9"))
    assert m.orders[0][1].lower <= told(one, 2) * (1 + mp.mpf("1e-9"))  # type: ignore[union-attr]
    assert m.orders[0][1].upper >= told(one, 2) * (1 - mp.mpf("1e-9"))  # type: ignore[union-attr]
    assert m.error == pytest.approx(float(upper_quantile("0.025") * sigma), rel=1e-9)
    # Never more than the pictures of any mechanism with this ε and δ say.
    assert m.average_bits <= m.tight_bits <= m.entropy_bits == m.worst_bits


def test_gaussian_noise_is_said_to_have_no_limit() -> None:
    texts = {figure.key: figure.text for figure in epsilon_plots.figures(gaussian({}))}
    assert "A single answer has no limit" in texts["people"]
    assert "nothing short of the whole record" in texts["information"]
    assert "except with probability" in texts["odds"]
    assert "without δ no ε holds" in texts["orders"]
    assert "δ = 1e-6" in texts["tests"]


def continuous(**query: str) -> Meaning:
    return meaning_of(asked({"mechanism": "continuous", **query}))


def test_two_laplace_answers_by_integrals() -> None:
    """The losses' law by hand: atoms ±ε, a density e^{(x−ε)/2}/4 between; of two, one integral."""
    eps, prior = mp.mpf("0.5"), mp.mpf("0.3")
    x = mp.log((1 - prior) / prior)

    def gain(total: mpmath.mpf) -> mpmath.mpf:
        return max(1 - mp.exp(x - total), mp.mpf(0))

    def density(y: mpmath.mpf) -> mpmath.mpf:
        return mp.exp((y - eps) / 2) / 4

    atoms = {eps: mp.mpf(1) / 2, -eps: mp.exp(-eps) / 2}
    delta = sum(p * q * gain(a + b) for a, p in atoms.items() for b, q in atoms.items())
    for at, mass in atoms.items():
        delta += 2 * mass * mp.quad(lambda y, at=at: density(y) * gain(at + y), sorted({-eps, x - at, eps}))
    delta += mp.quad(
        lambda s: mp.exp((s - 2 * eps) / 2) / 16 * (2 * eps - abs(s)) * gain(s), [-2 * eps, 0, x, 2 * eps]
    )
    exact = 1 - prior + prior * delta
    found = continuous(eps="0.5", queries="2", prior="30").guess
    assert found.lower <= exact <= found.upper
    assert found.width < 1e-5


@pytest.mark.parametrize(
    ("eps", "queries"),
    [
        (0.1, 100),
        *(pytest.param(*p, marks=pytest.mark.slow) for p in [(0.01, 1000), (1.0, 7), (3.0, 5), (10.0, 2)]),
    ],
)
def test_the_grid_agrees_with_the_contour(eps: float, queries: int) -> None:
    by_contour = guess_success(PrivacyLoss.of_mechanism(Laplace(1.0, eps)) ** queries)
    found = continuous(eps=str(eps), queries=str(queries)).guess
    assert found.lower <= by_contour.upper
    assert by_contour.lower <= found.upper
    assert found.upper - by_contour.upper < 1e-4


def test_one_laplace_answer_in_closed_form() -> None:
    m = continuous(eps="0.7", values="2")
    e = mp.mpf("0.7")
    assert m.guess.upper == pytest.approx(float(1 - mp.exp(-e / 2) / 2), rel=1e-12)
    s = mp.exp(-e)
    told_nats = mp.log(2 / (1 + s)) - mp.sqrt(s) * (mp.pi / 2 - 2 * mp.atan(mp.sqrt(s)))
    assert m.exposure.nats.upper == pytest.approx(float(told_nats), rel=1e-9)
    assert m.error == pytest.approx(math.log(20) / 0.7, rel=1e-12)
    assert m.after() == pytest.approx(float(1 / (1 + s)), rel=1e-12)


def test_two_values_need_not_attain_what_an_interval_does() -> None:
    """At ε = 10 the best prior on an interval has a density: the lower end is not claimed for 128 values."""
    assert continuous(eps="10", values="128").exposure.nats.lower == 0.0
    assert continuous(eps="1", values="2").exposure.nats.lower > 0.0
