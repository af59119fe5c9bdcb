"""Five trainings in a ledger, beside other accountants, and the hook: `python benchmarks/trainings.py`.

Five trainings of 11,760 steps (q = 256/50,000, σ = 1.1) at δ = 10⁻⁶ each: what a ledger is charged for them
together, as a plan, and one by one; beside it what the accountants of Opacus and dp-accounting say of all
their steps at δ = 5·10⁻⁶, where they are installed (`make torch`, then `build/torch/bin/python`). Then what
the ledger's hook takes of the CPU time of the steps of a small network with Opacus. Target: at most 2 %.
"""

from __future__ import annotations

import importlib.util
import math
import statistics
import tempfile
import time
import warnings
from fractions import Fraction
from typing import Any

from leakcap.accounting import PrivacyLoss
from leakcap.integrations import PlannedTraining, begin_training
from leakcap.ledger import Caps, Ledger, PlannedDescent, Slot, SlotPlan
from leakcap.mechanism import Gaussian

NOISE, RATE, STEPS, DELTA = 1.1, Fraction(256, 50_000), 11_760, 1e-6
LEASE = 100
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
    if importlib.util.find_spec("prv_accountant"):
        from prv_accountant.dpsgd import DPSGDAccountant

        prv = DPSGDAccountant(NOISE, float(RATE), max_steps=5 * STEPS, eps_error=0.01, delta_error=1e-10)
        low, middle, high = prv.compute_epsilon(5 * DELTA, 5 * STEPS)
        print(f"prv_accountant, lower, estimate, upper  {low:9.5f} {middle:.5f} {high:.5f}")


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
    overhead()
