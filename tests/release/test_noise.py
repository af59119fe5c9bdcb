"""The law of the noise, chosen by the query: Gaussian beside Laplace, at every statistic that has any."""

from __future__ import annotations

import math
import runpy
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from scipy.stats import binom

from leakcap.errors import BudgetExceeded, InvalidQuery
from leakcap.ledger.curve import ORDERS, surcharges
from leakcap.mechanism import DiscreteGaussian
from leakcap.release import PrivateTable, Query
from leakcap.release.measurements.measurement import noisy_of
from leakcap.release.measurements.rho import largest_rho
from leakcap.release.planning.better import share_of_caps
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.price import price_of
from leakcap.release.statistics import statistic_of, statistics
from leakcap.sampling import discrete_gaussian
from release.test_coverage import CASES, RUNS, SETTINGS, drawn
from release.world import planned, policy_of
from seeded import ALARM, SeededSource

CAPS: dict[str, Any] = {"epsilon": 5.0, "delta": 1e-6}
NOISY = [
    pytest.param(name, place, id=f"{name}-{place}")
    for name, statistic in sorted(statistics().items())
    if statistic.has_noise
    for place in range(len(CASES[name]))
]


def priced(name: str, place: int, relation: str, **given: Any) -> Any:
    case = CASES[name][place]
    changed: dict[str, Any] = {"neighbours": relation, "caps": CAPS}
    changed |= {"rows": 50} if relation == "replace-one" else {}
    return planned(policy_of(**(case.policy | changed)), statistic=name, **given, **case.query)


@pytest.mark.parametrize(("name", "place"), NOISY)
@pytest.mark.parametrize("relation", ["add-remove-one", "replace-one"])
def test_every_statistic_is_charged_the_curve_of_its_gaussian_noise(
    name: str, place: int, relation: str
) -> None:
    plan = priced(name, place, relation, epsilon=0.5, noise="gaussian")
    parts, price = noisy_of(plan.parts), price_of(plan)
    assert len(parts) == len(plan.parts) > 0
    rho, spent = largest_rho(0.5, 1e-6), price.curve[ORDERS.index(1)]
    assert rho * 0.99 < spent <= rho * (1 + 1e-12)
    for order, nats in zip(ORDERS, price.curve, strict=True):
        assert math.isclose(nats, order * spent, rel_tol=1e-12)
    assert price.epsilon <= 0.5
    assert price.delta == 1e-6
    assert math.isinf(price.spend.epsilon)
    assert price.spend.delta == 0.0
    # About one person something, and no more than the divergence from what a neighbour would give.
    assert 0.0 < price.nats_person.upper <= spent * (1 + 1e-9)
    if len(parts) == 1:  # σ is Δ₂ over √(2ρ), on a grid of eleven digits
        sigma, wanted = float(parts[0].scale), math.sqrt(float(parts[0].squared) / (2 * rho))
        assert wanted <= sigma <= wanted * (1 + 2.0**-9)


# How wide intervals may be beside the least. Products of noises are bounded, where the others follow the law.
WIDTH = {"variance": 1.2, "standard_deviation": 1.2, "covariance": 1.2, "correlation": 1.3}


@pytest.mark.parametrize(("name", "place"), NOISY)
@pytest.mark.parametrize("where", sorted(SETTINGS))
def test_intervals_of_gaussian_noise_cover_and_are_hardly_wider_than_they_must_be(
    name: str, place: int, where: str
) -> None:
    """False alarms: 10⁻⁶ a comparison, over the choice of the seed."""
    plan, stretched = drawn(name, place, where, RUNS, "gaussian")
    found = stretched[1.0]
    noises = CASES[name][place].noises
    for row, held in enumerate(found.held.tolist()):
        assert binom.cdf(held, RUNS, 0.95) >= ALARM, f"row {row}: {held / RUNS} hold"
        if noises:
            parts = noisy_of(plan.parts)
            sigma = float(parts[row if name == "rows_cut" else 0].scale) * math.sqrt(noises[row])
            assert found.width[row] / 2 <= 1.96 * sigma + 1.0
        else:
            if "survey" in CASES[name][place].policy:
                continue  # over the sampling too
            assert found.width[row] <= WIDTH.get(name, 1.1) * found.least[row] + 1e-9, row


@pytest.mark.parametrize("name", ["count", "contingency", "cumulative", "mean", "ratio", "variance"])
def test_gaussian_intervals_half_as_wide_are_caught(name: str) -> None:
    _, stretched = drawn(name, 0, "many rows", RUNS, "gaussian")
    assert min(binom.cdf(held, RUNS, 0.95) for held in stretched[0.5].held.tolist()) < ALARM


@pytest.mark.parametrize("factor", [0.9, 1.0])
def test_noise_of_another_deviation_is_caught(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: σ a tenth too small. The mean square of 4,000 is within 5 standard errors of σ²."""
    monkeypatch.setattr(
        "leakcap.mechanism.discrete_gaussian.discrete_gaussian",
        lambda variance, size, source: discrete_gaussian(variance * Fraction(factor) ** 2, size, source),
    )
    (part,) = noisy_of(priced("count", 0, "add-remove-one", epsilon=0.5, noise="gaussian").parts)
    z = part.draw(np.zeros(4000, dtype=np.int64), SeededSource(5)).astype(float)
    off = abs(float(np.mean(z**2)) / part.noise.variance() - 1.0)
    assert (off <= 5 * math.sqrt(2 / 4000)) == (factor == 1.0)


def test_a_person_in_sixteen_groups_costs_the_root_of_sixteen() -> None:
    unit = {"id": "id", "max_rows": 16, "max_groups": 16}
    policy = policy_of(unit=unit, caps=CAPS, columns={"w": {"keys": [f"g{i}" for i in range(20)]}})
    asked: dict[str, Any] = {"statistic": "distinct", "by": ("w",), "epsilon": 1.0}
    many, one = planned(policy, noise="gaussian", **asked), planned(policy_of(caps=CAPS), **COUNT)
    (part,), (alone,) = noisy_of(many.parts), noisy_of(one.parts)
    assert (part.steps, part.squared, alone.squared) == (16, 16, 1)
    assert math.isclose(part.scale, 4 * alone.scale, rel_tol=2.0**-9)
    (laplace,) = noisy_of(planned(policy, **asked).parts)
    assert laplace.scale == 16


COUNT: dict[str, Any] = {"statistic": "count", "epsilon": 1.0, "noise": "gaussian"}
COLUMNS: dict[str, Any] = {"ward": {"keys": ["a", "b"]}, "age": {"bounds": [0.0, 120.0]}}
ROWS = pyarrow.table(
    {"ward": ["a"] * 500 + ["b"] * 300, "age": [40.0] * 800, "id": [place // 2 for place in range(800)]}
)


def opened(caps: dict[str, Any] | None = None, **changed: Any) -> PrivateTable:
    policy: dict[str, Any] = {"dataset": "d", "neighbours": "add-remove-one", "columns": COLUMNS}
    return PrivateTable(ROWS, policy=policy | {"caps": caps or CAPS} | changed, ledger="sqlite://")


def test_each_way_of_asking_buys_the_same() -> None:
    table = opened()
    query = Query(name="n", **COUNT)
    priced_so: dict[str, Any] = {"epsilon": 1.0, "noise": "gaussian", "fresh": True}
    asked = [
        table.count(**priced_so),
        table.all.count().release(**priced_so),
        table.sql("SELECT COUNT(*) FROM d", **priced_so)[0],
        table.batch(epsilon=1.0).add(table.all.count(), noise="gaussian").release(fresh=True)[0],
        table.release([query], fresh=True)[0],
    ]
    assert len({(one.noise_scale, one.price.mechanism, one.price.delta, one.text) for one in asked}) == 1
    assert asked[0].price.mechanism == "discrete Gaussian"
    assert {entry.spend.epsilon for entry in table.ledger.entries()} == {math.inf}
    (low, high), error = asked[0].interval, DiscreteGaussian(asked[0].noise_scale).error(0.05)
    assert high - low == 2 * error  # type: ignore[operator]
    table.ledger.verify()


def test_an_answer_is_repeated_for_free_and_another_law_is_another_question() -> None:
    table = opened()
    first, again = (table.count(epsilon=0.5, noise="gaussian") for _ in range(2))
    assert again.repeated
    assert again.value == first.value
    assert not table.count(epsilon=0.5).repeated
    assert not table.count(rho=0.02, noise="gaussian").repeated
    assert table.count(rho=0.02, noise="gaussian").repeated
    assert len(table.ledger.entries()) == 3


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_prices_by_rho_and_by_the_error_that_is_wanted(noise: str) -> None:
    table = opened()
    by_rho = table.all.count().preview(rho=0.02, noise=noise)
    assert 0.02 * 0.995 < by_rho.price.curve[ORDERS.index(1)] <= 0.02 * (1 + 1e-12)
    wanted = table.all.count().at(error=30, noise=noise)
    assert wanted.epsilon is not None
    assert table.preview(wanted)[0].error <= 30
    assert table.all.count().preview(epsilon=0.97 * wanted.epsilon, noise=noise).error > 30
    assert table.count(error=30, noise=noise).query == wanted


def test_the_best_noise_takes_as_much_of_the_caps_and_says_why() -> None:
    table = opened(unit={"id": "id", "max_rows": 16, "max_groups": 16})
    asked: dict[str, Any] = {"name": "n", "statistic": "distinct", "by": ("ward",), "epsilon": 0.2}
    laplace, best = (plan_query(Query(**asked, noise=one), table.policy) for one in ("laplace", "best"))
    (share, cap), (taken, other) = share_of_caps(laplace), share_of_caps(best)
    assert cap == other == "epsilon"
    assert share * Fraction(99, 100) <= taken <= share
    assert statistic_of(best.query).expected(best).error < statistic_of(laplace.query).expected(laplace).error
    assert best.chosen is not None
    assert best.chosen.startswith("gaussian: ±")
    release = table.distinct(by="ward", epsilon=0.2, noise="best")
    noise: Any = release.to_dict()["noise"]
    assert noise["chosen"] == release.price.chosen == best.chosen
    assert table.distinct(by="ward", epsilon=0.2, noise="best").repeated


def test_the_best_noise_is_laplace_where_that_errs_less() -> None:
    """At an ε so large that ε added up is the cheaper way to pay: nearly all of the cap for one answer."""
    found = opened().all.count().preview(epsilon=4.9, noise="best")
    assert found.price.mechanism == "discrete Laplace"
    assert found.price.chosen is not None
    assert found.price.chosen.startswith("laplace: ±")


def test_without_a_delta_the_best_noise_is_the_only_one() -> None:
    found = opened({"epsilon": 5.0}).count(epsilon=0.2, noise="best")
    assert found.price.mechanism == "discrete Laplace"
    assert found.price.chosen == "laplace, the only one here"


def test_what_is_said_of_gaussian_answers_has_their_delta() -> None:
    table = opened()
    told = table.count(epsilon=0.5, noise="gaussian").statement().exposure
    assert told.delta == 1e-6 < told.delta_contents
    assert told.epsilon <= 0.5
    so_far = table.statement().exposure
    assert math.isfinite(so_far.epsilon)
    assert so_far.delta > 0.0


POSITIVE = "must be a positive finite number"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"epsilon": 0.5, "noise": "cauchy"}, "`noise` of query `count` must be one of laplace, gauss"),
        ({"epsilon": 0.5, "rho": 0.5}, "`rho` of query `count` must be left out beside `epsilon`"),
        ({"rho": math.nan}, f"`rho` of query `count` {POSITIVE}"),
        ({"rho": -1.0}, f"`rho` of query `count` {POSITIVE}"),
        ({"rho": 0.0, "noise": "gaussian"}, f"`rho` of query `count` {POSITIVE}"),
        ({"rho": 1e-300, "noise": "gaussian"}, "`rho` of query `count` is out of the range"),
        ({"rho": 1e300, "noise": "gaussian"}, "`rho` of query `count` must be at most 1,000,000"),
        ({"rho": 1e300}, "`rho` of query `count` must be at most 1,000,000"),
        ({"rho": 1e-30}, "`rho` of query `count` is out of the range"),
        ({"error": 0}, f"`error` of query `count` {POSITIVE}"),
        ({"error": math.nan}, f"`error` of query `count` {POSITIVE}"),
        ({"error": 30, "epsilon": 0.5}, "`error` of query `count` must be left out beside `epsilon`"),
        ({"rho": 1e-300, "noise": "best"}, "`rho` of query `count` is out of the range"),
        ({}, "`epsilon` of `count` is missing"),
    ],
)
def test_bad_input_is_one_clear_line_and_nothing_is_spent(asked: dict[str, Any], words: str) -> None:
    table = opened()
    with pytest.raises(InvalidQuery) as error:
        table.count(**asked)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert table.ledger.entries() == []


def test_next_to_no_epsilon_buys_what_delta_alone_allows() -> None:
    """Noise so wide that a coin flip about two tables is guessed no better than δ says needs no ε."""
    asked = opened().all.count().preview(epsilon=1e-300, noise="gaussian").price
    assert asked.epsilon <= 1e-300
    assert 0 < math.erf(math.sqrt(asked.rho) / 2) <= asked.delta == 1e-6


@pytest.mark.parametrize("caps", [{"epsilon": 5.0}, CAPS | {"delta_of_answers": 1e-6}])
def test_gaussian_noise_needs_a_delta_for_all_answers(caps: dict[str, Any]) -> None:
    table = opened(caps)
    with pytest.raises(InvalidQuery, match="Gaussian noise needs a δ for all answers together"):
        table.count(epsilon=0.5, noise="gaussian")
    assert table.ledger.entries() == []


@pytest.mark.parametrize(
    "ask",
    [
        lambda table, **paid: table.median("age", **paid),
        lambda table, **paid: table.bounds("age", **paid),
        lambda table, **paid: table.top("ward", 1, **paid),
    ],
)
def test_choices_have_a_draw_of_their_own(ask: Callable[..., Any]) -> None:
    table = opened()
    with pytest.raises(InvalidQuery, match=r"`noise` of query .* must be left out of a"):
        ask(table, epsilon=0.5, noise="gaussian")
    assert table.ledger.entries() == []
    assert ask(table, epsilon=0.5, noise="best").price.chosen == "laplace, the only one here"


def test_an_account_without_a_delta_refuses_it_by_name() -> None:
    table = opened({**CAPS, "each_analyst": {"epsilon": 5.0}})
    with pytest.raises(BudgetExceeded, match=r"no bound is known for what was asked.*Nothing was spent"):
        table.count(epsilon=0.5, noise="gaussian")
    assert table.ledger.entries() == []


def errors(groups: int, epsilon: float, delta: float, cap: float = 50.0) -> dict[str, float]:
    """As `benchmarks/gaussian.py` has them."""
    room = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "gaussian.py"))
    found: dict[str, float] = room["errors"](groups, epsilon, delta, cap=cap)
    return found


def test_sixteen_groups_at_one_epsilon_and_delta_and_for_as_much_of_the_caps() -> None:
    """The figures of the benchmark; that what is bought is private is for `test_noise_laws.py`."""
    alone = errors(16, 0.05, 1e-5)
    assert alone["gaussian"] <= 0.55 * alone["laplace"]
    assert abs(alone["laplace"] - 320 * math.log(20)) < 1  # 16/ε, and P(|Z| > t) = e^(−t/scale)
    dear = errors(16, 1.0, 1e-6)
    assert 0.7 < dear["gaussian"] / dear["laplace"] < 0.76
    beside = errors(16, 0.1, 1e-6, cap=3.0)
    # Small shifts of either law cost Δ₂²α/2 times its Fisher information, 1/b² and 1/σ²: as much of a cap on
    # all answers buys σ = b, and the errors are 1.96σ and b·ln 20, whatever the number of groups.
    least = 1.959964 / math.log(20)
    assert least <= beside["best"] / beside["laplace"] < 1.02 * least


def test_previews_show_what_each_law_would_cost() -> None:
    table = opened()
    (shown,) = table.preview([Query(name="n", statistic="count", epsilon=0.2, noise="gaussian")])
    laplace, gaussian = shown.ways
    assert (laplace.noise, gaussian.noise) == ("laplace", "gaussian")
    assert (laplace.error, laplace.delta, gaussian.delta) == (15.0, 0.0, 1e-6)
    assert gaussian.error == shown.error > laplace.error
    assert 0.0 < gaussian.share < laplace.share < 1.0
    # What is said of a cap on all answers: so many of them fit, and one more does not.
    fits = math.floor(1.0 / gaussian.share)
    rho = shown.price.curve[ORDERS.index(1)]
    best = max(
        (5.0 - more / 1e12) / (order * rho) for order, more in zip(ORDERS, held(), strict=True) if more
    )
    assert fits == math.floor(best)
    assert opened({"epsilon": 5.0}).all.count().preview(epsilon=0.2).ways == ()


def held() -> tuple[int | None, ...]:
    """What each order adds, under half of the δ: the ledger's own, tested against its proof elsewhere."""
    return surcharges(500_000)
