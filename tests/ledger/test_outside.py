"""What other software spent: what its events prove, by other routes, and that hostile files spend nothing."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import make_dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest

from leakcap.accounting import LossTable, PrivacyLoss, loss_table
from leakcap.errors import (
    BudgetExceeded,
    DataError,
    InvalidParameter,
    LeakcapError,
    LedgerError,
    RequestReused,
)
from leakcap.ledger import (
    Caps,
    Ledger,
    OutsideSpend,
    OutsideSpends,
    as_dp_event,
    outside_event,
    profile_event,
    read_spends,
    trade_off_event,
)
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.measured import charge_covers, event_epsilon, guarantee
from leakcap.ledger.profiles import delta_at, points_of, profile_of
from leakcap.ledger.values import event_text
from leakcap.mechanism import Gaussian
from leakcap.policy import load_policy

GAUSS = {"name": "GaussianDpEvent", "noise_multiplier": 2}
CAPS = Caps(epsilon=3.0, delta=1e-4, delta_of_answers=5e-5)


def curve(event: Any) -> dict[float, float]:
    return dict(zip(ORDERS, guarantee(event_text(outside_event(event))).curve, strict=True))


def test_curves_are_those_of_closed_forms() -> None:
    tree = {"name": "SingleEpochTreeAggregationDpEvent", "noise_multiplier": 2, "step_counts": [3, 8]}
    assert curve(tree)[2] == pytest.approx(4 * 2 / 8, rel=1e-12)  # 8 leaves are 4 levels
    response = curve({"name": "RandomizedResponseDpEvent", "noise_parameter": 0.5, "num_buckets": 4})
    p = [mpmath.mpf(5) / 8, mpmath.mpf(1) / 8, mpmath.mpf(2) / 8]
    q = [p[1], p[0], p[2]]
    for order in (2, 8, 256):
        total = mpmath.log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)
        assert total <= response[order] <= total * (1 + 1e-9)
    sampled = curve({"name": "PoissonSampledDpEvent", "sampling_probability": 0.1,
                     "event": {"name": "LaplaceDpEvent", "noise_multiplier": 1}})  # fmt: skip
    square = (2 * mpmath.e + mpmath.exp(-2)) / 3  # E_Q[(P/Q)²] of Laplace noise at distance 1
    assert sampled[2] >= mpmath.log(1 + (square - 1) / 100)
    assert sampled[2] <= mpmath.log(1 + (square - 1) / 100) * (1 + mpmath.mpf(10) ** -6)
    xi = curve({"name": "ZCDpEvent", "rho": 0.1, "xi": 0.2})
    assert xi[4] == pytest.approx(0.6, rel=1e-12)
    assert curve({"name": "NoOpDpEvent"})[256] == 0.0


def test_a_history_is_its_steps() -> None:
    """Equal rows are taken together; one after the other they are the same loss."""
    rows = [(1.1, 0.01, 100), (2.0, 0.1, 5), (1.1, 0.01, 50)]
    for history in (
        rows,
        SimpleNamespace(history=rows),
        [[*map(np.float64, r[:2]), r[2]] for r in rows],
    ):
        event = event_text(outside_event(history))
        found = event_epsilon(event, Fraction(1, 10**6))
    one = PrivacyLoss.of_mechanism(Gaussian(1.1)).sampled(0.01)
    two = PrivacyLoss.of_mechanism(Gaussian(2.0)).sampled(0.1)
    truth = (one**150 & two**5).epsilon_by_grid(1e-6), (one**150 & two**5).reverse.epsilon_by_grid(1e-6)
    assert max(t.lower for t in truth) * (1 - 1e-9) <= found <= max(t.upper for t in truth) * (1 + 1e-4)


def pairs(seed: int) -> list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    source = np.random.default_rng(seed)
    return [(source.dirichlet(np.full(5, 0.7)), source.dirichlet(np.full(5, 0.7))) for _ in range(40)]


def divergence(p: Any, q: Any, order: float) -> float:
    return float(np.log(np.sum(p**order * q ** (1 - order))) / (order - 1))


def holds(points: Any, p: Any, q: Any) -> bool:
    """That the curve of the points is nowhere below the pair's, in both directions, nor their δ."""
    found = guarantee(event_text({"name": "ProfileDpEvent", "points": points}))
    if found.delta > 0:
        return False
    known = dict(zip(ORDERS, found.curve, strict=True))
    orders = (1.1, 2, 4, 10, 32)
    return all(known[at] * (1 + 1e-9) >= max(divergence(p, q, at), divergence(q, p, at)) for at in orders)


def test_points_of_a_profile_bound_the_moments_of_every_pair() -> None:
    """Forty pairs, drawn once; with δ at half it fails. From three points alone it holds too."""
    drawn = [(profile_of(PrivacyLoss.of_rows(p, q))["points"], p, q) for p, q in pairs(5)]
    assert all(holds(points, p, q) for points, p, q in drawn)
    halved = [([[a, str(Fraction(b) / 2)] for a, b in points], p, q) for points, p, q in drawn]
    assert not all(holds(points, p, q) for points, p, q in halved)
    few = [([points[0], points[len(points) // 2], points[-1]], p, q) for points, p, q in drawn]
    assert all(holds(points, p, q) for points, p, q in few)


def test_a_table_of_losses_is_nearly_the_mechanism() -> None:
    table = loss_table(PrivacyLoss.of_mechanism(Gaussian(1.0)) ** 4, 0.01)
    event = outside_event(table, adding=table)
    truth = mpmath.mpf("0.8")
    for epsilon in (0.5, 2.0, 5.0):
        with mpmath.workdps(30):
            mu, e = mpmath.mpf(2), mpmath.mpf(epsilon)
            truth = mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)
        found = delta_at(points_of(event), Fraction(epsilon))
        assert truth <= float(found) <= truth * 1.01
    known = curve(event)
    assert guarantee(event_text(event)).delta < 1e-14
    assert all(at * 2 * 0.999 <= known[at] <= at * 2 * 1.01 for at in (1.25, 1.5, 2))
    with pytest.raises(InvalidParameter, match="optimistic table proves nothing"):
        outside_event(LossTable(0.1, 0, np.array([1.0]), 0.0, False))


def test_a_trade_off_curve_is_taken_from_below() -> None:
    """Of N(0, 1) and N(1, 1): no δ below the truth, and near it where points are dense."""
    alphas = [k / 800 for k in range(801)]
    inside = [
        float(mpmath.ncdf(mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(a)) - 1)) for a in alphas[1:-1]
    ]
    event = trade_off_event(list(zip(alphas, [1.0, *inside, 0.0], strict=True)))
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        truth = mpmath.ncdf(0.5 - epsilon) - mpmath.exp(epsilon) * mpmath.ncdf(-0.5 - epsilon)
        found = float(delta_at(points_of(event), Fraction(epsilon)))
        assert truth <= found <= truth + 1.05 * (1 - inside[0])


def test_a_mixture_becomes_its_farthest_member() -> None:
    class MixtureOfGaussiansDpEvent:
        standard_deviation, sensitivities, sampling_probs = 1.0, [0.0, 1.0, 2.0], [0.5, 0.3, 0.2]

    event = event_text(outside_event(MixtureOfGaussiansDpEvent()))
    for epsilon in (0.3, 1.0, 2.0):  # a threshold is the best test: its δ by all thresholds of a grid
        t = np.linspace(-8, 10, 20_001)
        upper = np.array([0.5 * math.erfc(x / math.sqrt(2)) for x in t])
        mixed = sum(w * np.array([0.5 * math.erfc((x - s) / math.sqrt(2)) for x in t])
                    for s, w in ((0, 0.5), (1, 0.3), (2, 0.2)))  # fmt: skip
        away = float((mixed - math.exp(epsilon) * upper).max())
        back = float(((1 - upper) - math.exp(epsilon) * (1 - mixed)).max())
        assert event_epsilon(event, Fraction(max(away, back))) >= epsilon
    with pytest.raises(InvalidParameter, match="sensitivities"):
        outside_event({"name": "MixtureOfGaussiansDpEvent", "standard_deviation": 1, "sensitivities": [-1],
                       "sampling_probs": [1]})  # fmt: skip


def test_measurements_of_opendp_by_their_maps() -> None:
    def measurement(measure: str, said: Any) -> Any:
        return SimpleNamespace(output_measure=measure, map=lambda d_in: said)

    assert outside_event(measurement("MaxDivergence", 0.5), d_in=1)["epsilon"] == "1/2"
    assert outside_event(measurement("ZeroConcentratedDivergence", 0.25), d_in=1)["rho"] == "1/4"
    both = outside_event(measurement("Approximate(MaxDivergence)", (0.5, 1e-6)), d_in=1)
    assert both["delta"] == "1/1000000"
    renyi = curve(outside_event(measurement("RenyiDivergence", lambda at: at / 8), d_in=1))
    assert renyi[2] == 0.25
    assert renyi[1] == pytest.approx(1.1 / 8)
    smooth = measurement(
        "SmoothedMaxDivergence", SimpleNamespace(epsilon=lambda delta: -math.log(delta) / 10)
    )
    assert float(event_epsilon(event_text(outside_event(smooth, d_in=1)), Fraction(1, 10**6))) <= 1.3816
    with pytest.raises(InvalidParameter, match="needs `d_in`"):
        outside_event(measurement("MaxDivergence", 0.5))
    with pytest.raises(InvalidParameter, match="Measure `Mine`"):
        outside_event(measurement("Mine", 0.5), d_in=1)


def test_events_go_there_and_back() -> None:
    """By stand-ins with dp-accounting's names and fields."""
    fields = {
        "GaussianDpEvent": ["noise_multiplier"],
        "LaplaceDpEvent": ["noise_multiplier"],
        "PoissonSampledDpEvent": ["sampling_probability", "event"],
        "SelfComposedDpEvent": ["event", "count"],
        "ComposedDpEvent": ["events"],
        "SampledWithoutReplacementDpEvent": ["source_dataset_size", "sample_size", "event"],
        "SingleEpochTreeAggregationDpEvent": ["noise_multiplier", "step_counts"],
        "RandomizedResponseDpEvent": ["noise_parameter", "num_buckets"],
        "NoOpDpEvent": [],
    }
    module = SimpleNamespace(**{name: make_dataclass(name, given) for name, given in fields.items()})
    told = {"name": "ComposedDpEvent", "events": [
        {"name": "SelfComposedDpEvent", "count": 3, "event": {
            "name": "PoissonSampledDpEvent", "sampling_probability": 0.25, "event": GAUSS}},
        {"name": "SampledWithoutReplacementDpEvent", "source_dataset_size": 100, "sample_size": 10,
         "event": {"name": "LaplaceDpEvent", "noise_multiplier": 4}},
        {"name": "SingleEpochTreeAggregationDpEvent", "noise_multiplier": 2.5, "step_counts": 7},
        {"name": "RandomizedResponseDpEvent", "noise_parameter": 0.5, "num_buckets": 3},
        {"name": "NoOpDpEvent"},
    ]}  # fmt: skip
    event = outside_event(told)
    assert outside_event(as_dp_event(event, events=module)) == event
    pure = as_dp_event({"name": "EpsilonDeltaDpEvent", "epsilon": "1", "delta": "0"}, events=module)
    assert curve(pure)[256] == pytest.approx(
        curve({"name": "EpsilonDeltaDpEvent", "epsilon": 1, "delta": 0})[256]
    )
    with pytest.raises(LeakcapError, match="no event `ZCDpEvent`"):
        as_dp_event({"name": "ZCDpEvent", "rho": "1"}, events=module)


@pytest.mark.parametrize("epsilon", [399.0, 401.0, 600.0, 5000.0])
def test_dp_accounting_is_told_no_smaller_epsilon(epsilon: float) -> None:
    """Of randomised response with a lie in a share p of two answers: ε = ln((2 − p)/p)."""
    module = SimpleNamespace(RandomizedResponseDpEvent=lambda noise_parameter, num_buckets: noise_parameter)
    pure = {"name": "EpsilonDeltaDpEvent", "epsilon": str(epsilon), "delta": "0"}
    lies = as_dp_event(pure, events=module)
    assert lies == 0.0 or math.log((2.0 - lies) / lies) >= epsilon * (1.0 - 1e-12)


FILE: dict[str, Any] = {
    "schema": "leakcap/events/1",
    "neighbours": "add-remove-one",
    "spends": [
        {"query": "digits", "history": [[1.1, 0.01, 200]], "delta": 1e-6},
        {"query": "stays", "event": {"name": "LaplaceDpEvent", "noise_multiplier": 10}},
        {"query": "table", "profile": [[0.1, 0.001], [0.5, 1e-6]]},
    ],
}


def open_ledger_of(file: Path, **changed: Any) -> Ledger:
    told = {"dataset": "d", "neighbours": "add-remove-one", "columns": {"x": {"bounds": [0.0, 1.0]}},
            "caps": {"epsilon": 3.0, "delta": 1e-4, "delta_of_answers": 5e-5}} | changed  # fmt: skip
    policy = load_policy(told)
    return Ledger.open(
        f"sqlite:///{file}",
        dataset="d",
        policy=policy.fingerprint(),
        caps=policy.caps.ledger_caps(),
        text=policy.text(),
    )


def test_what_a_file_says_is_charged_once_and_can_be_computed_again(tmp_path: Path) -> None:
    told = tmp_path / "events.json"
    told.write_text(json.dumps(FILE | {"key": "run 3"}))
    with open_ledger_of(tmp_path / "l.db") as ledger:
        entries = ledger.spend(told)
        assert [one.query for one in entries] == ["digits", "stays", "table"]
        assert {one.state for one in entries} == {"released"}
        assert entries[1].spend.epsilon == 0.1
        assert (entries[2].spend.epsilon, entries[2].spend.delta) == (0.5, 1e-6)
        spent = ledger.totals()
        assert [one.id for one in ledger.spend(told)] == [one.id for one in entries]
        assert ledger.totals() == spent
        assert [one.state for one in ledger.entries()] == ["released"] * 3
        ledger.verify()
        with pytest.raises(RequestReused):
            ledger.spend(FILE | {"key": "run 3", "spends": FILE["spends"][:1]})
        assert ledger.totals() == spent
        ledger.spend(FILE | {"spends": FILE["spends"][:2]})  # without a key it is another spend
        assert ledger.totals().epsilon == pytest.approx(spent.epsilon + entries[0].spend.epsilon + 0.1)
        for entry in entries:
            text = entry.spend.event_text
            ticks = entry.spend.ticks(None)
            assert charge_covers(text, ticks)
            assert not charge_covers(text, ticks._replace(epsilon=(ticks.epsilon or 0) * 9 // 10))
            assert not charge_covers(
                text, ticks._replace(curve=tuple((x or 0) * 9 // 10 for x in ticks.curve))
            )


def test_all_of_a_file_or_nothing_is_charged(tmp_path: Path) -> None:
    with open_ledger_of(tmp_path / "l.db") as ledger:
        many = [
            FILE["spends"][1],
            {"query": "loud", "event": {"name": "LaplaceDpEvent", "noise_multiplier": 0.1}},
        ]
        with pytest.raises(BudgetExceeded, match="Nothing was spent"):
            ledger.spend(FILE | {"spends": many})
        assert ledger.totals().entries == 0
        analysts = {"epsilon": 3.0, "each_analyst": {"epsilon": 0.15}}
    with open_ledger_of(tmp_path / "m.db", caps=analysts) as ledger:
        only = FILE | {"spends": FILE["spends"][1:2]}
        ledger.spend(only, analyst="ann")
        with pytest.raises(BudgetExceeded):
            ledger.spend(only, analyst="ann")
        ledger.spend(only, analyst="bob")


def test_neighbours_and_unit_are_the_policy_s(tmp_path: Path) -> None:
    replaced = {"neighbours": "replace-one", "rows": 50}
    with open_ledger_of(tmp_path / "l.db", **replaced) as ledger:
        steps = FILE | {"spends": [{"query": "digits", "history": [[1.1, 0.01, 200]]}]}
        entry = ledger.spend(steps)[0]
        assert json.loads(entry.spend.event_text)["name"] == "ReplacedDpEvent"
        ledger.verify()
        with pytest.raises(LedgerError, match=r"does not follow\. Nothing was spent"):
            ledger.spend(FILE)
        with pytest.raises(LedgerError, match="about one `patient`"):
            ledger.spend(steps | {"unit": "patient"})
    with open_ledger_of(tmp_path / "m.db") as ledger, pytest.raises(LedgerError, match="add-remove-one"):
        ledger.spend(FILE | {"neighbours": "replace-one", "spends": FILE["spends"][1:]})
    with pytest.raises(InvalidParameter, match="is about add-remove-one neighbours"):
        read_spends(FILE | {"neighbours": "replace-one"})


def bomb(deep: int) -> Any:
    event: Any = {"name": "GaussianDpEvent", "noise_multiplier": 1}
    for _ in range(deep):
        event = {"name": "SelfComposedDpEvent", "count": 1000, "event": event}
    return event


HOSTILE: list[tuple[bytes, str]] = [
    (pickle.dumps(FILE), "looks like a pickle, which is never read"),
    (b"{", "is no JSON of events"),
    (b"[" * 200_000, "is no JSON of events"),
    (b"", "is no JSON of events"),
    (b"[]", "must say"),
    (b'{"schema": "leakcap/events/2"}', "leakcap/events/1"),
    (json.dumps(FILE).replace("0.001", "NaN").encode(), "NaN is no number"),
    (json.dumps(FILE).replace("0.001", "1e-99999999").encode(), "number that is too long"),
    (json.dumps(FILE).replace("0.001", "-0.001").encode(), "must be a number from 0"),
    (json.dumps(FILE).replace("200", "1" * 5000).encode(), "is no JSON of events"),
    (json.dumps(FILE).replace("200", "1" * 400).encode(), "must be a whole number"),
    (json.dumps(FILE).replace("200", "true").encode(), "must be a whole number"),
    (json.dumps(FILE)[:-1].encode() + b', "key": "a", "key": "b"}', "stands in it twice"),
    (json.dumps(FILE | {"spent": 1}).encode(), "no field `spent`"),
    (json.dumps(FILE | {"spends": [{"query": "x", "event": bomb(6)}]}).encode(), "more than 4 deep"),
    (json.dumps(FILE | {"spends": [{"query": "x", "event": {"name": "MadeUp"}}]}).encode(), "`MadeUp`"),
    (json.dumps(FILE | {"spends": [{"query": "", "event": {"name": "UnsupportedDpEvent"}}]}).encode(), "hid"),
    (json.dumps(FILE | {"spends": [{"query": "x"}]}).encode(), "must say by one of"),
    (json.dumps(FILE | {"spends": [{"query": "x", "losses": {"step": 0.1}}]}).encode(), "`losses`"),
    (json.dumps(FILE | {"spends": [{"query": "x\u0000", "event": GAUSS}]}).encode(), "without null"),
    (json.dumps(FILE | {"spends": [{"query": "x", "event": GAUSS, "delta": 1}]}).encode(), "`delta`"),
    (json.dumps(FILE | {"neighbours": "whoever"}).encode(), "`neighbours`"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "says"), HOSTILE, ids=[says for _, says in HOSTILE])
def test_hostile_files_are_one_line_and_spend_nothing(data: bytes, says: str, tmp_path: Path) -> None:
    file = tmp_path / "events.json"
    file.write_bytes(data)
    with open_ledger_of(tmp_path / "l.db") as ledger:
        with pytest.raises(LeakcapError) as refused:
            ledger.spend(file)
        assert says in str(refused.value)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 700
        assert ledger.totals().entries == 0


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    for path, says in (
        (tmp_path, "is no file"),
        (tmp_path / "none.json", "cannot be read"),
        (Path("/dev/zero"), "no file"),
    ):
        with pytest.raises(DataError, match=says):
            read_spends(path)
    (tmp_path / "large.json").write_bytes(b" " * (8 * 2**20 + 1))
    with pytest.raises(DataError, match="larger than"):
        read_spends(tmp_path / "large.json")


def test_counts_beyond_everything_are_no_memory_error() -> None:
    """A contour over 10¹² steps asked for 549 PiB."""
    steps = {"name": "PoissonSampledDpEvent", "sampling_probability": 0.1, "event": GAUSS}
    huge = {"name": "SelfComposedDpEvent", "count": 10**12, "event": steps}
    with pytest.raises(InvalidParameter, match="No ε that a ledger counts"):
        _ = OutsideSpend("x", outside_event(huge), delta=1e-6).charged
    assert OutsideSpend("x", outside_event(huge)).charged.epsilon == math.inf


def test_what_a_spend_may_be() -> None:
    assert profile_event(lambda delta: 2.0, [1e-5])["points"] == [["2", "1/100000"]]
    with pytest.raises(InvalidParameter, match=r"has a δ of 0\.001 of its own"):
        _ = OutsideSpend("x", profile_event(lambda delta: 1.0, [1e-3]), delta=1e-6).charged
    with pytest.raises(InvalidParameter, match="`int` is nothing that says"):
        outside_event(3)
    with pytest.raises(InvalidParameter, match="spends"):
        OutsideSpends([], "add-remove-one")
