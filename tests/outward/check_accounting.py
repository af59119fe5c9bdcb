"""Privacy losses and what they say: Gaussian and Laplace noise, samples of them, and rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from flint import acb, arb

from leakcap.accounting import (
    PrivacyLoss,
    guess_among,
    guess_success,
    most_telling,
    odds_quantile,
    trade_off,
)
from leakcap.accounting.answers import shannon_capacity
from leakcap.divergence import Renyi, TotalVariation
from leakcap.mechanism import Gaussian, Laplace, RandomisedResponse
from outward.balls import Case, ball, renyi
from outward.check_channels import best_of_two, exact_rows, quantile, tables
from outward.laws_of_mechanisms import gaussian_profile, line_divergence
from outward.registry import checks

ORDERS = (0.01, 0.5, 1 - 1e-9, 1.0, 1.001, 2.0, 30.0, 1e4)
NOISES = (
    Gaussian(2.0),
    Gaussian(0.3),
    Gaussian(1e4),
    Laplace(1.0),
    Laplace(3.0),
    Laplace(0.05),
    Laplace(1e5),
)
RATES = (1e-9, 1e-6, 0.01, 0.5, 0.999)


@checks("leakcap.accounting.loss.PrivacyLoss.renyi", "leakcap.accounting.loss.PrivacyLoss.kullback_leibler")
def renyi_of_losses(full: bool) -> Iterator[Case]:
    for noise in NOISES:
        loss = PrivacyLoss.of_mechanism(noise)
        for order in (*ORDERS, math.inf):
            truth = line_divergence(noise, Renyi(order))
            assert truth is not None
            yield Case(f"{noise} {order}", loss.renyi(order), truth, 1e-15, 5e-324)
            yield Case(f"{noise} {order} thrice", (loss**3).renyi(order), 3 * truth, 1e-14, 5e-324)
        yield Case(
            f"{noise} KL", loss.kullback_leibler(), line_divergence(noise, Renyi(1.0)) or arb(0), 1e-15
        )
    for rows in tables()[: None if full else 4]:
        p, q = exact_rows(rows)[:2]
        for order in (*ORDERS, math.inf):
            loss = PrivacyLoss.of_rows(rows[0], rows[1])
            yield Case(f"rows {order}", loss.renyi(order), renyi(order, p, q), 1e-9, 1e-12)
            yield Case(f"rows {order} back", loss.reverse.renyi(order), renyi(order, q, p), 1e-9, 1e-12)
    for epsilon, order in product((1e-9, 0.1, 5.0), (*ORDERS, math.inf)):
        response = RandomisedResponse(2, epsilon)
        weight = arb(epsilon).exp()
        p, q = [weight / (1 + weight), 1 / (1 + weight)], [1 / (1 + weight), weight / (1 + weight)]
        found = PrivacyLoss.of_mechanism(response).renyi(order)
        yield Case(f"{response} {order}", found, renyi(order, p, q), 1e-4, 1e-12)


def moment(mu: arb, rate: arb, power: arb) -> arb:
    """E[R^power] under the standard normal, R = 1 − rate + rate·e^(μu − μ²/2)."""

    def integrand(u: acb, _: bool) -> acb:
        ratio = 1 - rate + rate * (mu * u - mu * mu / 2).exp()
        return (ratio.log() * power - u * u / 2).exp()

    reach = 36 + abs(float(power.mid())) * float(mu.mid())
    pieces = max(8, int(reach / 2))
    total = acb(0)
    for k in range(-pieces, pieces):
        ends = (arb(k) * arb(reach) / pieces, arb(k + 1) * arb(reach) / pieces)
        total += acb.integral(integrand, *ends, rel_tol=arb(2) ** -330, abs_tol=arb(2) ** -330)
    # Beyond 36σ of what the power tilts: less than 10^−260.
    return total.real / (2 * arb.pi()).sqrt() + arb(0, 1e-200)


@checks("leakcap.accounting.loss.PrivacyLoss.renyi")
def renyi_of_samples(full: bool) -> Iterator[Case]:
    for sigma, rate, order in product(
        (2.0, 0.5) if full else (2.0,),
        RATES if full else (1e-6, 0.01),
        (0.5, 1.001, 2.0, 8.0, 33.0, 70.0, 300.0) if full else (1.001, 2.0, 70.0),
    ):
        mu, q, a = 1 / ball(sigma), arb(rate), arb(order)
        loss = PrivacyLoss.of_mechanism(Gaussian(sigma)).sampled(rate)
        there, back = moment(mu, q, a).log() / (a - 1), moment(mu, q, 1 - a).log() / (a - 1)
        yield Case(f"sample of {sigma} {rate} {order}", loss.renyi(order), there, 1e-11, 1e-300)
        yield Case(f"sample of {sigma} {rate} {order} back", loss.reverse.renyi(order), back, 1e-11, 1e-300)
    for scale, rate, order in product((1.0, 0.1), RATES, (0.5, 1.001, 2.0, 8.0, 300.0)):
        loss = PrivacyLoss.of_mechanism(Laplace(scale)).sampled(rate)
        for way, power in ((loss, arb(order)), (loss.reverse, 1 - arb(order))):
            truth = laplace_moment(1 / ball(scale), arb(rate), power).log() / (arb(order) - 1)
            yield Case(f"sample of Laplace {scale} {rate} {order}", way.renyi(order), truth, 1e-11, 1e-300)


def laplace_moment(epsilon: arb, rate: arb, power: arb) -> arb:
    """E_Q[R^power]: atoms ½ at −ε and ½e^−ε at ε, density e^(−(ε+l)/2)/4 between."""

    def ratio(loss: arb) -> arb:
        return 1 - rate + rate * loss.exp()

    def integrand(loss: acb, _: bool) -> acb:
        return (ratio(loss).log() * power - (epsilon + loss) / 2).exp() / 4

    middle = acb(0)
    for k in range(8):
        ends = (-epsilon + 2 * epsilon * k / 8, -epsilon + 2 * epsilon * (k + 1) / 8)
        middle += acb.integral(integrand, *ends, rel_tol=arb(2) ** -330)
    left, right = (
        (ratio(-epsilon).log() * power).exp() / 2,
        (ratio(epsilon).log() * power - epsilon).exp() / 2,
    )
    return middle.real + left + right


@checks(
    "leakcap.accounting.loss.PrivacyLoss.delta",
    "leakcap.accounting.loss.PrivacyLoss.delta_both",
    "leakcap.accounting.loss.PrivacyLoss.delta_by_grid",
    "leakcap.accounting.loss.PrivacyLoss.total_variation",
)
def deltas(full: bool) -> Iterator[Case]:
    for noise in NOISES:
        loss = PrivacyLoss.of_mechanism(noise)
        for epsilon in (-1.0, 0.0, 1e-6, 0.1, 1.0, 5.0, 50.0):
            gamma = arb(epsilon).exp()
            if isinstance(noise, Gaussian):
                truth = gaussian_profile(arb(epsilon), 1 / ball(noise.sigma))
            else:
                truth = (1 - gamma).max(arb(0)).max(1 - ((arb(epsilon) - 1 / ball(noise.scale)) / 2).exp())
            yield Case(f"{noise} δ({epsilon})", loss.delta(epsilon), truth, 1e-15, 5e-324)
            yield Case(f"{noise} δ({epsilon}) both", loss.delta_both(epsilon), truth, 1e-15, 5e-324)
        truth = line_divergence(noise, TotalVariation())
        yield Case(f"{noise} TV", loss.total_variation(), truth if truth is not None else arb(0), 1e-15)
    for sigma, times in ((2.0, 4), (30.0, 900)):
        loss = PrivacyLoss.of_mechanism(Gaussian(sigma)) ** times
        for epsilon in (0.0, 0.5, 2.0):
            truth = gaussian_profile(arb(epsilon), arb(times).sqrt() / ball(sigma))
            yield Case(f"{times} times {sigma} δ({epsilon})", loss.delta(epsilon), truth, math.inf)
    grid = PrivacyLoss.of_mechanism(Gaussian(1.0)).delta_by_grid(1.0, width=0.05, points=1 << 12)
    yield Case("grid", grid, gaussian_profile(arb(1), arb(1)), math.inf)
    for rows in tables()[: None if full else 4]:
        p, q = exact_rows(rows)[:2]
        for epsilon in (-0.5, 0.0, 0.3):
            found = PrivacyLoss.of_rows(rows[0], rows[1]).delta(epsilon)
            truth = sum(((a - arb(epsilon).exp() * b).max(arb(0)) for a, b in zip(p, q, strict=True)), arb(0))
            yield Case(f"rows δ({epsilon})", found, truth, math.inf)


@checks(
    "leakcap.accounting.loss.PrivacyLoss.epsilon",
    "leakcap.accounting.loss.PrivacyLoss.epsilon_both",
    "leakcap.accounting.loss.PrivacyLoss.epsilon_by_grid",
    "leakcap.accounting.routes.epsilon_at",
    "leakcap.accounting.routes.epsilon_on_grid",
    "leakcap.accounting.inverse.inverse",
)
def epsilons(full: bool) -> Iterator[Case]:
    for scale in (1.0, 3.0, 100.0):
        loss = PrivacyLoss.of_mechanism(Laplace(scale))
        for delta in (0.0, 1e-12, 1e-3, 0.1):
            truth = (1 / ball(scale) + 2 * (1 - arb(delta)).log()).max(arb(0))
            yield Case(f"Laplace {scale} ε({delta})", loss.epsilon(delta), truth, math.inf)
            yield Case(f"Laplace {scale} ε({delta}) both", loss.epsilon_both(delta), truth, math.inf)
    grid = PrivacyLoss.of_mechanism(Laplace(1.0)).epsilon_by_grid(0.1, width=0.05, points=1 << 12)
    yield Case("grid", grid, 1 + 2 * (1 - arb(0.1)).log(), math.inf)


@checks(
    "leakcap.accounting.answers.guess_success",
    "leakcap.accounting.answers.trade_off",
    "leakcap.accounting.answers.odds_quantile",
    "leakcap.accounting.answers.shannon_capacity",
    "leakcap.accounting.telling.guess_among",
    "leakcap.accounting.telling.most_telling",
)
def answers(full: bool) -> Iterator[Case]:
    for sigma in (0.5, 1.0, 10.0) if full else (1.0,):
        mu, loss = 1 / ball(sigma), PrivacyLoss.of_mechanism(Gaussian(sigma))
        for prior in (0.5, 0.1, 0.9):
            p = arb(prior)
            truth = 1 - p + p * gaussian_profile(((1 - p) / p).log(), mu)
            yield Case(f"guess {sigma} {prior}", guess_success(loss, prior), truth, 1e-13)
        for level in (0.01, 0.5, 0.9) if full else (0.5,):
            x = quantile(arb(level)) - mu
            truth = 1 - (x / arb(2).sqrt()).erfc() / 2
            yield Case(f"trade-off {sigma} {level}", trade_off(loss, level), truth, math.inf)
            shift = mu * mu / 2 + mu * quantile(1 - arb(level))
            yield Case(f"odds {sigma} {level}", odds_quantile(loss, level), shift, math.inf)
    for epsilon, values in product((0.1, 1.0, 6.0), (2, 4, 100) if full else (4,)):
        weight = arb(epsilon).exp()
        among = guess_among(PrivacyLoss.of_mechanism(RandomisedResponse(values, epsilon)), values)
        assert among.unit == "probability"
        yield Case(f"among {epsilon} {values}", among, weight / (weight + values - 1), math.inf)
        loss = PrivacyLoss.of_mechanism(RandomisedResponse(2, epsilon))
        telling = most_telling(loss, 0.05)
        yield Case(f"telling {epsilon}", telling, arb(epsilon), math.inf)
    for rows in [t for t in tables() if t.shape == (2, 2)][:2]:
        found = shannon_capacity(PrivacyLoss.of_rows(rows[0], rows[1]))
        yield Case("capacity of a loss", found, best_of_two(1.0, exact_rows(rows)), math.inf)
