"""Trainings are paid for before their first step and never go beyond the plan, whatever kills them."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from integrations.played import DPOptimizer, loader, policy_of
from leakcap.accounting import PrivacyLoss
from leakcap.errors import BudgetExceeded, InvalidParameter, LeakcapError, LedgerError
from leakcap.integrations import PlannedTraining, Training
from leakcap.integrations.opacus import attach, descent_of, model_hash
from leakcap.ledger import Ledger, Slot, SlotPlan
from leakcap.mechanism import Gaussian
from leakcap.release import load_policy, open_ledger
from ledger.killed import EVERY, killed


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(f"sqlite:///{tmp_path / 'l.db'}", load_policy(policy_of())) as opened:
        yield opened


def attached(ledger: Ledger, optimizer: DPOptimizer, **changed: Any) -> Training:
    told: dict[str, Any] = {"ledger": ledger, "max_steps": 20, "delta": 1e-6, "name": "digits", "every": 4}
    return attach(optimizer, loader(), **told | changed)


def drawn(optimizer: DPOptimizer) -> int:
    return optimizer.drawn.stat().st_size if optimizer.drawn.exists() else 0


def test_the_plan_is_paid_first_and_no_step_goes_beyond(ledger: Ledger, tmp_path: Path) -> None:
    optimizer = DPOptimizer(1.1, tmp_path / "noise")
    training = attached(ledger, optimizer)
    assert (drawn(optimizer), ledger.totals().entries) == (0, 1)
    loss = PrivacyLoss.of_mechanism(Gaussian(1.1)).sampled(1 / 18) ** 20
    truth = max(loss.epsilon_by_grid(1e-6).lower, loss.reverse.epsilon_by_grid(1e-6).lower)
    assert truth <= training.entry.spend.epsilon <= truth * 1.001
    for _ in range(20):
        optimizer.step()
    assert training.left == 0
    with pytest.raises(BudgetExceeded, match="has taken all of its 20 steps"):
        optimizer.step()
    assert drawn(optimizer) == 20
    training.finish()
    training.finish()
    ledger.verify()
    (entry,) = ledger.entries()
    assert (entry.state, entry.id) == ("released", training.entry.id)
    with pytest.raises(LedgerError, match="is over: released"):
        attached(ledger, DPOptimizer(1.1, tmp_path / "noise"))
    assert "drawn in floats" in training.sentence


def test_a_training_that_does_not_fit_draws_nothing(ledger: Ledger, tmp_path: Path) -> None:
    optimizer = DPOptimizer(0.3, tmp_path / "noise")
    with pytest.raises(BudgetExceeded):
        attached(ledger, optimizer, max_steps=10_000)
    assert ledger.totals().entries == 0
    optimizer.step()  # it is left as it was
    assert drawn(optimizer) == 1


def test_after_a_crash_it_goes_on_without_paying(ledger: Ledger, tmp_path: Path) -> None:
    first = DPOptimizer(1.1, tmp_path / "noise")
    attached(ledger, first)
    for _ in range(6):
        first.step()
    second = DPOptimizer(1.1, tmp_path / "noise")
    training = attached(ledger, second)
    assert (ledger.totals().entries, training.taken) == (1, 8)  # two steps of the second lease are lost
    third = DPOptimizer(1.1, tmp_path / "noise")
    attached(ledger, third)
    second.step()
    with pytest.raises(LedgerError, match="went on from step 8 in another run"):
        third.step()
    while training.left:
        second.step()
    assert drawn(second) == 18
    with pytest.raises(LedgerError, match="was begun in entry 1"):
        attached(ledger, DPOptimizer(1.2, tmp_path / "noise"))
    assert ledger.totals().entries == 1


@pytest.mark.parametrize("lease", [True, False], ids=["leased first", "planted: leased after"])
def test_no_kill_buys_a_step(lease: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before every step of the database in turn. With leases recorded after their noise it fails."""
    if not lease:

        def late(training: Training) -> None:
            training.taken += 1
            if training.taken > training.granted:
                (tmp_path / "noise").open("ab", buffering=0).write(b".")
                training._lease()

        monkeypatch.setattr(Training, "step", late)
    url, noise = f"sqlite:///{tmp_path / 'l.db'}", tmp_path / "noise"
    policy = load_policy(policy_of())
    open_ledger(url, policy).close()

    def run() -> None:
        with open_ledger(url, policy) as ledger:
            optimizer = DPOptimizer(1.1, noise)
            training = attached(ledger, optimizer, max_steps=6, every=2)
            while training.left:
                optimizer.step()

    kills = 0
    for after in range(20, 60, 5):
        kills += killed(run, after, of=EVERY)
    run()
    with Ledger.read(url) as ledger:
        ledger.verify()
        assert ledger.totals().entries == 1
        assert kills > 3
        assert (noise.stat().st_size <= 6) is lease


def test_q_is_the_sampler_s_and_its_bits_count(ledger: Ledger, tmp_path: Path) -> None:
    training = attached(ledger, DPOptimizer(1.1, tmp_path / "noise"))
    event = json.loads(training.entry.spend.event_text)["event"]
    q = Fraction(event["sampling_probability"])
    assert 1 / 18 < q < 1 / 18 + 2 / 2**24
    # What rows would draw of 2²⁴ equally likely floats.
    assert q * 2**24 >= sum(1 for k in range(2**24 // 18 - 3, 2**24 // 18 + 3) if k / 2**24 < 1 / 18)


class RandomSampler:
    __module__ = "torch.utils.data.sampler"


class DistributedDPOptimizer(DPOptimizer):
    __module__ = "opacus.optimizers.ddpoptimizer"


def test_what_is_not_what_would_be_charged_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    shuffled = SimpleNamespace(batch_sampler=SimpleNamespace(sampler=RandomSampler(), batch_size=8))
    good = DPOptimizer(1.1, tmp_path / "noise")
    told: dict[str, Any] = {"ledger": ledger, "max_steps": 5, "delta": 1e-6, "name": "digits"}
    refused: list[tuple[Any, Any, str]] = [
        (good, shuffled, "samples by `RandomSampler`, and not by Poisson"),
        (good, SimpleNamespace(), "not by Poisson"),
        (good, loader(float("nan")), "be a probability above 0"),
        (good, loader(1.5), "be a probability above 0"),
        (DistributedDPOptimizer(1.1, tmp_path / "noise"), loader(), "`opacus.DistributedDPOptimizer`"),
        (SimpleNamespace(), loader(), "is a `types.SimpleNamespace`"),
        (DPOptimizer(0.0, tmp_path / "noise"), loader(), "without noise nothing is hidden"),
        (DPOptimizer(math.nan, tmp_path / "noise"), loader(), "be above 0"),
        (DPOptimizer(1.1, tmp_path / "noise", secure_mode=False), loader(), "can be predicted"),
    ]
    for optimizer, batches, says in refused:
        with pytest.raises(InvalidParameter) as error:
            attach(optimizer, batches, **told)
        assert says in str(error.value)
        assert "\n" not in str(error.value)
    for name, value in (("max_steps", 0), ("max_steps", True), ("delta", 2.0), ("every", 0), ("name", "")):
        with pytest.raises(LeakcapError, match=name):
            attach(good, loader(), **told | {name: value})
    assert ledger.totals().entries == 0
    predictable = DPOptimizer(1.1, tmp_path / "noise", secure_mode=False)
    training = attach(predictable, loader(), **told, insecure_generator=True)
    assert "can be predicted" in str(training.entry.details["noise"])
    with pytest.raises(InvalidParameter, match="be attached once"):
        attach(predictable, loader(), **told, insecure_generator=True)


def test_noise_that_is_lowered_on_the_way_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    optimizer = DPOptimizer(1.1, tmp_path / "noise")
    batches = loader()
    training = attach(optimizer, batches, ledger=ledger, max_steps=5, delta=1e-6, name="digits")
    optimizer.noise_multiplier = 2.0
    optimizer.step()
    for change in (lambda: setattr(optimizer, "noise_multiplier", 1.0),
                   lambda: setattr(batches.batch_sampler, "sample_rate", 0.5)):  # fmt: skip
        change()
        with pytest.raises(InvalidParameter, match="No noise was drawn"):
            optimizer.step()
        optimizer.noise_multiplier = 1.1
    assert (drawn(optimizer), training.taken) == (1, 1)


def test_units_of_several_rows_are_refused_and_replaced_ones_cost_more(tmp_path: Path) -> None:
    told: dict[str, Any] = {"max_steps": 5, "delta": 1e-6, "name": "digits"}
    person = policy_of(unit={"id": "x", "max_rows": 3})
    with open_ledger(f"sqlite:///{tmp_path / 'u.db'}", load_policy(person)) as ledger:
        with pytest.raises(LedgerError, match="The policy protects one `x`"):
            attach(DPOptimizer(4.0, tmp_path / "noise"), loader(), ledger=ledger, **told)
        assert ledger.totals().entries == 0
    for relation in ("add-remove-one", "replace-one"):
        changed = {"neighbours": relation} | ({"rows": 50} if relation == "replace-one" else {})
        with open_ledger(f"sqlite:///{tmp_path / relation}.db", load_policy(policy_of(**changed))) as ledger:
            attach(DPOptimizer(4.0, tmp_path / "noise"), loader(), ledger=ledger, **told)
            ledger.verify()
            assert (ledger.totals().epsilon > 0.2) is (relation == "replace-one")


def test_trainings_of_a_plan_are_paid_with_it(ledger: Ledger, tmp_path: Path) -> None:
    descent = descent_of(DPOptimizer(1.1, tmp_path / "noise"), loader(), 20)
    ledger.plan(SlotPlan("year", [Slot("trainings", 2, descent=descent)], delta=1e-6))
    paid = ledger.totals().epsilon
    for name in ("first", "second"):
        attached(ledger, DPOptimizer(1.1, tmp_path / "noise"), name=name, slot="trainings")
    assert ledger.totals().epsilon == paid
    with pytest.raises(BudgetExceeded, match="has 0 of 2 answers"):
        attached(ledger, DPOptimizer(1.1, tmp_path / "noise"), name="third", slot="trainings")
    ledger.verify()


def test_a_hash_is_recorded_and_no_weight(ledger: Ledger, tmp_path: Path) -> None:
    optimizer = DPOptimizer(1.1, tmp_path / "noise")
    training = attached(ledger, optimizer)
    before = model_hash(optimizer)
    for _ in range(5):
        optimizer.step()
    steps = ledger.steps(training.entry.id)
    assert steps[0].values == [[f"model sha256:{before}"]]
    assert steps[4].values != steps[0].values
    training.finish()
    assert ledger.answer(training.entry.id).values == [[f"model sha256:{model_hash(optimizer)}"]]
    with sqlite3.connect(tmp_path / "l.db") as book:
        kept = "\n".join(book.iterdump())
    assert "sha256:" in kept
    for weight in (0.7071067811865476, float(optimizer.weights[0])):
        assert str(weight)[:6] not in kept
    assert optimizer.weights.tobytes() not in (tmp_path / "l.db").read_bytes()


def test_without_a_delta_the_curve_alone_is_charged(ledger: Ledger, tmp_path: Path) -> None:
    training = attached(ledger, DPOptimizer(1.1, tmp_path / "noise"), delta=None)
    assert math.isinf(training.entry.spend.epsilon)
    ledger.verify()
    with pytest.raises(InvalidParameter, match="max_steps"):
        PlannedTraining("x", Fraction(1), Fraction(1, 10), 10**10, None)
