"""PyTorch with Opacus and JAX with Optax themselves: `make torch` brings them, in build/torch."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from command_line import ROOT
from ending_with_us import with_us

PYTHON = ROOT / "build" / "torch" / "bin" / "python"
HERE = Path(__file__).parent


def ran(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    if not (PYTHON.parents[1] / ".done").exists():
        pytest.skip("NO PYTORCH, NOTHING OF IT IS TESTED: make torch")
    return subprocess.run(
        with_us([str(PYTHON), str(HERE / program), *words]),
        capture_output=True,
        text=True,
        check=False,
        env={"OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", "PATH": "/usr/bin:/bin"},
    )


@pytest.mark.slow
def test_digits_are_learnt_within_the_plan_and_once_for_all_kills(tmp_path: Path) -> None:
    """Opacus' own accountant, which knows of this process alone, says less than was paid."""
    url = f"sqlite:///{tmp_path / 'digits.db'}"
    killed = ran("digits.py", url, "120", "25")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    done = ran("digits.py", url, "120")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert (told["done"], told["taken"], told["entries"]) == (90, 120, 1)  # 25 were taken, 30 granted
    assert "No noise was drawn" in told["refused"]
    assert told["right"] > 0.6
    assert told["weights_kept"] is False
    assert told["history"] == [[1.1, told["history"][0][1], 90]]
    assert told["opacus"] < told["epsilon"]


@pytest.mark.slow
def test_optax_is_counted_inside_of_jit(tmp_path: Path) -> None:
    """Sizes of 60 samples of 1,500 at 1/15 are within six deviations of their mean and spread as they should,
    which fails by chance less than once in 10⁶; the noise of 640 numbers is within a fifth of σ·clip/100."""
    done = ran("jax_digits.py", f"sqlite:///{tmp_path / 'digits.db'}")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert (told["steps"], told["entries"]) == (60, 1)
    assert "has taken all of its 60 steps" in told["refused"]
    assert told["right"] > 0.6
    assert abs(sum(told["sizes"]) / 60 - 100) < 6 * (100 * 14 / 15 / 60) ** 0.5
    assert len(set(told["sizes"])) > 10
    assert 0.8 < told["deviation"] / 0.011 < 1.2


ACCOUNTANTS = """
import json, sys, warnings
warnings.simplefilter("ignore")
from dp_accounting import dp_event as d
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from opacus.accountants import PRVAccountant, RDPAccountant
from leakcap.ledger import as_dp_event, outside_event, OutsideSpend
from leakcap.accounting import from_pld

def pld(event):
    accountant = PLDAccountant()
    return accountant.compose(event)

found = {}
history = [(1.1, 0.01, 200), (2.0, 0.05, 20)]
prv, rdp = PRVAccountant(), RDPAccountant()
prv.history, rdp.history = list(history), list(history)
mine = outside_event(prv)
assert mine == outside_event(rdp) == outside_event(history)
found["history"] = [OutsideSpend("x", mine, 1e-5).charged.epsilon, pld(as_dp_event(mine)).get_epsilon(1e-5),
                    prv.get_epsilon(1e-5), rdp.get_epsilon(1e-5)]
G, L = d.GaussianDpEvent(2.0), d.LaplaceDpEvent(2.0)
events = {
    "laplace": d.SelfComposedDpEvent(L, 3), "gauss": d.ComposedDpEvent([G, L]),
    "sampled": d.SelfComposedDpEvent(d.PoissonSampledDpEvent(0.1, L), 10),
    "discrete": d.DiscreteLaplaceDpEvent(0.25, 2),
    "zcdp": d.ZCDpEvent(0.05), "nothing": d.NoOpDpEvent(),
    "mixture": d.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0], [0.7, 0.3]),
    "truncated": d.TruncatedSubsampledGaussianDpEvent(1000, 0.1, 130, 2.0),
}
for name, event in events.items():
    spend = OutsideSpend("x", outside_event(event), 1e-5).charged.epsilon
    theirs = PLDAccountant() if PLDAccountant().supports(event) else RdpAccountant()
    found[name] = [spend, theirs.compose(event).get_epsilon(1e-5)]
    back = as_dp_event(outside_event(event)) if name != "mixture" else event
    assert outside_event(back) == outside_event(event)
one = type(PLDAccountant()._neighboring_relation)
replaced, zeroed = one.REPLACE_ONE, one.REPLACE_SPECIAL
for name, event, kind, relation in [
    ("without", d.SampledWithoutReplacementDpEvent(1000, 50, G), RdpAccountant, replaced),
    ("tree", d.SingleEpochTreeAggregationDpEvent(2.0, 8), RdpAccountant, zeroed),
    ("response", d.RandomizedResponseDpEvent(0.5, 4), PLDAccountant, replaced),
]:
    accountant = kind(neighboring_relation=relation)
    found[name] = [OutsideSpend("x", outside_event(event), 1e-5).charged.epsilon,
                   accountant.compose(event).get_epsilon(1e-5)]
table = PLDAccountant(value_discretization_interval=1e-3).compose(G)._pld
spend = OutsideSpend("x", outside_event(table), 1e-5).charged
found["table"] = [spend.epsilon, table.get_epsilon_for_delta(1e-5)]
print(json.dumps(found))
"""


@pytest.mark.slow
def test_what_comes_in_costs_what_its_own_accountants_say(tmp_path: Path) -> None:
    """Never less than the exact composition of theirs, but for its grid; never more than their moments."""
    file = tmp_path / "accountants.py"
    file.write_text(ACCOUNTANTS)
    done = ran(str(file))
    assert done.returncode == 0, done.stderr
    found: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    mine, exact, prv, moments = found.pop("history")
    assert exact * (1 - 1e-3) <= mine <= exact * (1 + 1e-3)
    assert mine <= prv * (1 + 1e-3)
    assert mine <= moments
    tight = {"laplace", "gauss", "sampled", "response", "discrete", "mixture", "table"}
    for name, (ours, theirs) in found.items():
        assert ours <= theirs * (1 + 2e-2) + 1e-9, (name, ours, theirs)
        if name in tight:
            assert ours >= theirs * (1 - 1e-2) - 1e-9, (name, ours, theirs)
