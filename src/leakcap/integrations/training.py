"""A training in a ledger: a block of steps fixed beforehand, paid for first, and taken one by one.

The whole plan is one charge, composed exactly, committed before the first noise is drawn. Steps are then
granted in leases, each recorded before any of its steps: whatever kills the process, steps of a lease count
as taken, so that no more than the plan's are ever taken, however often the training is resumed; and one that
is resumed is not paid for again. From each lease a training goes on once, so that of two processes that
resume the same one only one takes its steps. What is recorded is a hash of the model, never a weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from leakcap.errors import BudgetExceeded, LedgerError, Passed, require
from leakcap.ledger import Charge, Ledger, Spend
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.details import STREAM
from leakcap.ledger.steps import GaussianSteps, accounted
from leakcap.ledger.ticks import LARGEST
from leakcap.ledger.values import event_text
from leakcap.numeric import up

if TYPE_CHECKING:
    from leakcap.ledger import Entry

__all__ = ["PlannedTraining", "Training", "begin_training"]

_OWNER = "PlannedTraining"
_LEAST_NOISE, _MOST_STEPS = Fraction(1, 100), 10**9
IN_FLOATS = "Gaussian noise drawn in floats: what is charged is exact noise, which this is close to"
"""What is said of noise that neither PyTorch nor JAX draws exactly."""


@dataclass(frozen=True)
class PlannedTraining:
    """`steps` steps with Gaussian noise of `noise_multiplier` clips, each person in a step with probability
    `rate`; `delta` is the δ at which the ledger counts ε, None for the curve alone.

    `noise` and `text` are recorded: how the noise is drawn, and what is trained.

    >>> plan = PlannedTraining("digits", Fraction(11, 10), Fraction(256, 50_000), 11_760, 1e-6)
    >>> round(plan.spend(replaced=False).epsilon, 3)
    2.996
    """

    name: str
    noise_multiplier: Fraction
    rate: Fraction
    steps: int
    delta: float | None
    noise: str = IN_FLOATS
    text: str = ""

    def __post_init__(self) -> None:
        require(isinstance(self.name, str) and bool(self.name), "name", _OWNER, "be a name", self.name)
        noise, rate, steps = self.noise_multiplier, self.rate, self.steps
        rule = f"be at least {float(_LEAST_NOISE):g}, and at most a million"
        require(_LEAST_NOISE <= noise <= 10**6, "noise_multiplier", _OWNER, rule, float(noise))
        require(0 < rate <= 1, "rate", _OWNER, "be a probability above 0", float(rate))
        whole = isinstance(steps, int) and not isinstance(steps, bool) and 1 <= steps <= _MOST_STEPS
        require(whole, "max_steps", _OWNER, f"be a whole number from 1 to {_MOST_STEPS:,}", steps)
        number = isinstance(self.delta, int | float) and not isinstance(self.delta, bool)
        good = self.delta is None or (number and 0 < self.delta < 1)
        require(good, "delta", _OWNER, "lie in (0, 1), or be None", self.delta)

    def spend(self, *, replaced: bool) -> Spend:
        """What it costs between presence and absence, or between two contents of a person."""
        steps = GaussianSteps(self.noise_multiplier, self.rate, self.steps, replaced)
        known = accounted(steps)
        told = known.presence(1.0)
        person: dict[str, float] = {"nats_person": told} if told <= LARGEST else {}
        epsilon = math.inf if self.delta is None else up(known.epsilon(self.delta).upper)
        curve, event = tuple(map(known.renyi, ORDERS)), event_text(steps.event)
        return Spend(epsilon, self.delta or 0.0, curve=curve, event=event, **person)

    def charge(self, *, neighbours: str, unit: str, analyst: str = "", slot: str = "") -> Charge:
        """The charge of the whole training."""
        asked = "" if self.delta is None else f"δ {Fraction(repr(float(self.delta)))}"
        facts: dict[str, Any] = {STREAM: self.steps, "mechanism": "gradient descent of other software"}
        facts |= {"neighbours": neighbours, "unit": unit, "noise": self.noise, "asked": asked}
        text = (
            f"{self.steps} steps of training{f' of {self.text}' if self.text else ''}, noise multiplier "
            f"{self.noise_multiplier}, Poisson samples at rate {self.rate}"
        )
        spend = self.spend(replaced=neighbours == "replace-one")
        return Charge(self.name, text, spend, analyst, facts, asked, slot=slot)


@dataclass
class Training:
    """A training that a ledger paid for. `taken` steps of `plan.steps` count as taken, and `granted` are
    recorded: a process that dies loses what it was granted and had not taken."""

    plan: PlannedTraining
    ledger: Ledger
    entry: Entry
    every: int
    fingerprint: Callable[[], str] = field(repr=False)
    analyst: str = ""
    granted: int = 0
    taken: int = 0
    finished: bool = False

    @property
    def left(self) -> int:
        """How many steps may still be taken."""
        return 0 if self.finished else self.plan.steps - self.taken

    @property
    def sentence(self) -> str:
        """What was paid, in a sentence."""
        spend, plan = self.entry.own, self.plan
        cost = "a Rényi curve" if math.isinf(spend.epsilon) else f"ε {spend.epsilon:.4g} at δ {spend.delta:g}"
        return (
            f"Entry {self.entry.id}: {plan.steps:,} steps of noise {float(plan.noise_multiplier):g} at rate "
            f"{float(plan.rate):.6g}, {cost}, {self.taken:,} taken. {plan.noise}."
        )

    def step(self) -> None:
        """Count a step; to be called before its noise is drawn. Raises `BudgetExceeded` beyond the plan, and
        `LedgerError` where another process went on with this training."""
        if self.finished or self.taken >= self.plan.steps:
            raise BudgetExceeded(
                f"Training `{self.plan.name}` has taken all of its {self.plan.steps:,} steps. No noise was "
                "drawn. Attach a training of another name, which is paid for.",
                passed=[Passed(f"steps of {self.plan.name}", self.plan.steps, 0, 1)],
            )
        if self.taken >= self.granted:
            self._lease()
        self.taken += 1

    def _lease(self) -> None:
        end = min(self.granted + self.every, self.plan.steps)
        seen = [[f"model sha256:{self.fingerprint()}"]]
        self.ledger.mark_progress(self.entry.id, (self.granted, end), seen, analyst=self.analyst)
        self.granted = end

    def finish(self) -> None:
        """Record that the training is over, and a hash of the model that leaves. Steps that are left are not
        given back. A second call does nothing."""
        if self.finished:
            return
        values = [[f"model sha256:{self.fingerprint()}"]]
        self.ledger.mark_released([self.entry.id], answers={self.entry.id: values})
        self.finished = True


def begin_training(
    plan: PlannedTraining,
    ledger: Ledger,
    fingerprint: Callable[[], str],
    *,
    every: int = 100,
    analyst: str = "",
    slot: str = "",
) -> Training:
    """Pay for a training, or find the one of this name that was paid for, and go on where it may.

    Raises `BudgetExceeded` and `LedgerError` with nothing spent where it does not fit, its name stands for
    another, its unit is not the policy's, or it is over.
    """
    require(
        isinstance(ledger, Ledger), "ledger", "attach", "be a `Ledger` that is open", type(ledger).__name__
    )
    whole = isinstance(every, int) and not isinstance(every, bool) and every >= 1
    require(whole, "every", "attach", "be a whole number from 1", every)
    declared = ledger.declared()
    neighbours, unit = ("add-remove-one", "row") if declared is None else declared
    if unit != "row":
        raise LedgerError(
            f"The policy protects one `{unit}`, and a training clips the gradient of each row: what the rows "
            f"of one `{unit}` move together is not bounded. Nothing was spent. Train under a policy whose "
            "unit is the row, on a table with one row for each."
        )
    charge = plan.charge(neighbours=neighbours, unit=unit, analyst=analyst, slot=slot)
    entry, _ = ledger.reserve_stream(charge)
    if entry.state != "reserved":
        raise LedgerError(
            f"Training `{plan.name}`, entry {entry.id}, is over: {entry.state}. Nothing was spent. Attach "
            "one of another name, which is paid for."
        )
    known, at = ledger.steps(entry.id), 0
    while at in known:
        at = known[at].to
    return Training(plan, ledger, entry, every, fingerprint, analyst, granted=at, taken=at)
