"""Five trainings in a ledger, beside other accountants, and the hook: `python benchmarks/trainings.py`.

Five trainings of 11,760 steps (q = 256/50,000, σ = 1.1) at δ = 10⁻⁶ each: what a ledger is charged for them
together, as a plan, and one by one; beside it what the accountants of Opacus and dp-accounting say of all
their steps at δ = 5·10⁻⁶, where they are installed (`make torch`, then `build/torch/bin/python`), and
Microsoft's prv_accountant (`make peers`), which is asked in corners and at random, too. Then what the
ledger's hook takes of the CPU time of the steps of a small network with Opacus. Target: at most 2 %.
"""

from __future__ import annotations

import importlib.util
import json
import math
import random
import statistics
import subprocess
import tempfile
import time
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

from leakcap.accounting import PrivacyLoss
from leakcap.bound import Bound
from leakcap.integrations import PlannedTraining, begin_training
from leakcap.ledger import Caps, Ledger, PlannedDescent, Slot, SlotPlan
from leakcap.mechanism import Gaussian

NOISE, RATE, STEPS, DELTA = 1.1, Fraction(256, 50_000), 11_760, 1e-6
LEASE = 100
PRV = Path(__file__).parent.parent / "build" / "peers-release" / "prv"
Plan = tuple[float, ...]
CORNERS: list[Plan] = [
    (1.1, 256 / 50_000, 11_760, 1e-6, 0.1, 1e-9),
    (1.0, 1e-6, 100_000, 1e-6, 0.1, 1e-9),
    (1.0, 1e-6, 100_000, 1e-12, 0.01, 1e-15),
    (100.0, 0.01, 1000, 1e-6, 0.1, 1e-9),
    (1.0, 0.01, 1000, 1.1e-9, 0.1, 1e-9),
    (1.0, 0.01, 1000, 1e-9, 0.1, 1e-9),
    (1.0, 0.01, 1000, 1e-12, 0.01, 1e-14),
    (1.0, 0.01, 1000, 1e-14, 0.01, 1e-16),
    (0.4, 0.01, 1000, 1e-6, 0.1, 1e-9),
]
CAPS = Caps(epsilon=40.0, delta=2e-5, delta_of_answers=1e-5)


def in_a_ledger() -> None:
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=CAPS) as ledger:
        descent = PlannedDescent(NOISE, RATE, STEPS)
        ledger.plan(SlotPlan("year", [Slot("trainings", 5, descent=descent)], delta=5 * DELTA))
        for k in range(5):
            plan = PlannedTraining(f"training {k}", Fraction(NOISE), RATE, STEPS, DELTA)
            begin_training(plan, ledger, lambda: "0", slot="trainings")
        ledger.verify()
        print(f"leakcap, as a plan, δ = 5·10⁻⁶          {ledger.totals().epsilon:9.5f}")
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=CAPS) as ledger:
        for k in range(5):
            begin_training(PlannedTraining(f"{k}", Fraction(NOISE), RATE, STEPS, DELTA), ledger, lambda: "0")
        print(f"leakcap, one by one, ε added up         {ledger.totals().epsilon:9.5f}")
    loss = PrivacyLoss.of_mechanism(Gaussian(NOISE)).sampled(float(RATE)) ** (5 * STEPS)
    truth = loss.epsilon_both(5 * DELTA)
    print(f"exact, both directions                  {truth.lower:9.5f} to {truth.upper:.5f}")


def beside() -> None:
    if importlib.util.find_spec("opacus"):
        from opacus.accountants import GaussianAccountant, PRVAccountant, RDPAccountant

        for kind in (PRVAccountant, RDPAccountant, GaussianAccountant):
            accountant = kind()
            accountant.history = [(NOISE, float(RATE), 5 * STEPS)]
            print(f"Opacus {kind.__name__:32} {accountant.get_epsilon(5 * DELTA):9.5f}")
    if importlib.util.find_spec("dp_accounting"):
        from dp_accounting import dp_event
        from dp_accounting.pld import PLDAccountant
        from dp_accounting.rdp import RdpAccountant

        step = dp_event.PoissonSampledDpEvent(float(RATE), dp_event.GaussianDpEvent(NOISE))
        for kind in (PLDAccountant, RdpAccountant):
            found = kind().compose(step, 5 * STEPS).get_epsilon(5 * DELTA)
            print(f"dp-accounting {kind.__name__:25} {found:9.5f}")


def by_prv(plans: list[Plan]) -> list[tuple[Any, float]]:
    """The three numbers of Microsoft's accountant for each plan, or why there are none; CPU seconds."""
    script = Path(__file__).parent / "peers" / "with_prv.py"
    asked = [PRV / "bin" / "python", script]
    done = subprocess.run(asked, input=json.dumps(plans), capture_output=True, text=True, check=True)
    return [(found, seconds) for found, seconds in json.loads(done.stdout)]


def exactly(plan: Plan) -> Bound:
    noise, rate, steps, delta, *_ = plan
    return (PrivacyLoss.of_mechanism(Gaussian(noise)).sampled(rate) ** int(steps)).epsilon_both(delta)


def beside_prv() -> None:
    """prv_accountant on the five trainings, by its default errors and by smaller ones; and in corners."""
    plans = [(NOISE, float(RATE), 5 * STEPS, 5 * DELTA, *errors) for errors in ((0.1, 1e-9), (0.01, 1e-10))]
    print("prv_accountant: σ, q, steps, δ, its ε and δ errors: its ends and estimate; exactly; CPU s")
    for plan, (found, seconds) in zip([*plans, *CORNERS], by_prv([*plans, *CORNERS]), strict=True):
        truth = exactly(plan)
        said = found if isinstance(found, str) else " ".join(f"{one:.5f}" for one in found)
        asked = " ".join(f"{one:g}" for one in plan)
        print(f"  {asked:44} {said}; {truth.lower:.5f} to {truth.upper:.5f}; {seconds:.1f} s")


def drawn_for_prv(count: int = 160) -> None:
    """How often its three numbers are on the wrong side of the exact ε, in settings drawn at random."""
    draw, plans = random.Random(3), []
    for _ in range(count):
        noise, rate = round(10 ** draw.uniform(-0.4, 1.5), 3), float(f"{10 ** draw.uniform(-6, 0):.3g}")
        steps, delta = int(10 ** draw.uniform(0, 4)), float(f"{10 ** draw.uniform(-15, -1):.3g}")
        errors = draw.choice((1.0, 0.3, 0.1)), delta * 10 ** draw.uniform(-4, -0.05)
        plans.append((noise, rate, steps, delta, *errors))
    told = [(exactly(plan), found) for plan, (found, _) in zip(plans, by_prv(plans), strict=True)
            if not isinstance(found, str)]  # fmt: skip
    over = sum(found[0] > truth.upper for truth, found in told)
    under = [sum(found[k] < truth.lower for truth, found in told) for k in (1, 2)]
    print(f"prv_accountant, {count} settings, {count - len(told)} refused: below the exact ε")
    print(f"  {under[0]} estimates and {under[1]} upper ends, above it {over} lower ends")


def overhead(turns: int = 150) -> None:
    """What the hook's own lines take of a step's CPU time; and the ratio of turns with the hook and without,
    each as long as a lease, by turns in either order, with the interval of its median."""
    if not importlib.util.find_spec("opacus"):
        print("the hook: PyTorch and Opacus are not installed here (make torch)")
        return
    import torch
    from opacus import PrivacyEngine
    from torch import nn

    from leakcap.integrations.opacus import attach

    torch.set_num_threads(1)
    data = torch.utils.data.TensorDataset(torch.randn(1500, 1, 8, 8), torch.randint(0, 10, (1500,)))
    model: Any = nn.Sequential(nn.Conv2d(1, 8, 3), nn.Tanh(), nn.Flatten(), nn.Linear(288, 10))
    optimizer: Any = torch.optim.SGD(model.parameters(), lr=0.1)
    loader: Any = torch.utils.data.DataLoader(data, batch_size=100)
    model, optimizer, loader = PrivacyEngine(accountant="rdp").make_private(
        module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.1, max_grad_norm=1.0
    )
    x, y = data[:100]

    def run(add_noise: Any) -> float:
        optimizer.add_noise = add_noise
        start = time.process_time()
        for _ in range(LEASE):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        return time.process_time() - start

    plain = optimizer.add_noise = Timed(optimizer.add_noise)
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/trainings.db"
        roomy = Caps(epsilon=1e6, delta=2e-5, delta_of_answers=1e-5)
        with Ledger.open(url, dataset="d", policy="ab12cd34", caps=roomy) as ledger:
            steps = LEASE * (turns + 1)
            attach(optimizer, loader, ledger=ledger, max_steps=steps, delta=None, name="t",
                   insecure_generator=True)  # fmt: skip
            hooked = Timed(optimizer.add_noise)
            run(plain), run(hooked)
            own, found = 0.0, []
            for turn in range(turns):
                bare = run(plain) if turn % 2 else 0.0
                before = hooked.seconds - plain.seconds
                with_hook = run(hooked)
                own += hooked.seconds - plain.seconds - before
                found.append((with_hook, bare or run(plain)))
    ratios = sorted(with_hook / bare for with_hook, bare in found)
    reach = math.ceil(0.98 * math.sqrt(turns))
    low, middle, high = (100 * (ratios[turns // 2 + by] - 1) for by in (-reach, 0, reach))
    step = statistics.median(bare for _, bare in found) / LEASE
    share = own / turns / LEASE / step
    print(f"the hook: {100 * share:.2f} % of a step's CPU time, {1000 * step:.2f} ms (target 2 %);")
    print(f"  turns with it by those without {middle:+.2f} % (median of {turns}; {low:+.2f} to {high:+.2f})")


class Timed:
    """A function, and the CPU seconds that it took."""

    def __init__(self, function: Any) -> None:
        self._function, self.seconds = function, 0.0

    def __call__(self, *args: Any, **named: Any) -> Any:
        start = time.process_time()
        try:
            return self._function(*args, **named)
        finally:
            self.seconds += time.process_time() - start


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    in_a_ledger()
    beside()
    if (PRV / ".done").exists():
        beside_prv()
        drawn_for_prv()
    else:
        print("prv_accountant is not installed here (make peers)")
    overhead()
