"""How near audits come, how fast, and which faults of peers they find: `python benchmarks/audit.py`.

Peers run in processes of their own, in the first Python that has them: this one, or one of those that the
environment variable LEAKCAP_PEERS names (paths with colons between), so that peers with requirements of their
own can live in environments of their own. A peer that none of them has is skipped with a line that says so.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakcap.audit import Audit, Batched, audit, audit_samples
from leakcap.definition import ApproxDP, Definition, PureDP

TARGETS = {"Laplace": (1.0, (0.91, 0.97, 0.99)), "randomised response": (math.log(3.0), (1.04, 1.08, 1.092))}
LIMIT = 200
"""Seconds for one peer."""
SECONDS = (0.1, 0.3, 2.0)
SIZES = (10_000, 100_000, 1_000_000)


def mechanisms(generator: np.random.Generator) -> dict[str, Batched]:
    def laplace(x: Any, n: int) -> Any:
        return x + generator.laplace(size=n)

    def response(x: Any, n: int) -> Any:
        return np.where(generator.random(n) < 0.6, x, (x + generator.integers(1, 3, n)) % 3)

    return {"Laplace": Batched(laplace), "randomised response": Batched(response)}


def nearness(repeats: tuple[int, ...]) -> None:
    """Real-valued Laplace, ε = 1 (bits of floats left aside), and 3-ary randomised response, ε = ln 3."""
    print(f"{'mechanism':22}{'a side':>10}{'mean ε':>9}{'target':>8}{'above ε':>9}{'ms':>8}{'target':>8}")
    for name, batch in mechanisms(np.random.default_rng(0)).items():
        truth, targets = TARGETS[name]
        for samples, target, seconds, runs in zip(SIZES, targets, SECONDS, repeats, strict=True):
            start = time.perf_counter()
            found = [
                audit(batch, 0, 1, samples=samples, bits=False, seed=i).epsilon.lower for i in range(runs)
            ]
            spent = (time.perf_counter() - start) / runs
            over = sum(e > truth for e in found)
            print(
                f"{name:22}{samples:>10,}{np.mean(found):>9.4f}{target:>8}{f'{over}/{runs}':>9}"
                f"{1e3 * spent:>8.1f}{1e3 * seconds:>8.0f}",
                flush=True,
            )


@dataclass(frozen=True)
class Case:
    """A peer's mechanism on two neighbours. The script sets `claim` (ε, δ), `first` and `second`."""

    name: str
    package: str
    script: str
    bits: bool = True
    expected: str = ""


DIFFPRIVLIB_LAPLACE = """
from diffprivlib.mechanisms import Laplace
mechanism = Laplace(epsilon=1.0, sensitivity=1.0)
claim = (1.0, 0.0)
first, second = ([mechanism.randomise(x) for _ in range(runs * 10)] for x in (0.0, 1.0))
"""

DIFFPRIVLIB_REGRESSION = """
from diffprivlib.models import LinearRegression
def coefficient(last):
    X, y = np.zeros((10, 1)), np.full(10, 0.5)
    X[-1, 0] = last
    model = LinearRegression(epsilon=1.0, bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0), fit_intercept=False)
    return float(model.fit(X, y).coef_[0])
claim = (1.0, 0.0)
# The noise on the sum of squares is scaled by the lower bound alone, which is zero.
first, second = ([coefficient(x) for _ in range(2 * runs)] for x in (0.001, 1.0))
"""

OPENDP_GROUPS = """
import polars as pl
import opendp.prelude as dp
dp.enable_features("contrib")
def table(value):
    schema = {"key": pl.String, "value": pl.Int32}
    return pl.LazyFrame({"key": ["k"] * 4, "value": [value] * 4}, schema=schema)
domain = dp.with_margin(
    dp.lazyframe_domain([
        dp.series_domain("key", dp.atom_domain(T=str)),
        dp.series_domain("value", dp.atom_domain(T="i32")),
    ]),
    dp.polars.Margin(by=["key"], max_length=4, max_groups=1, invariant="keys"),
)
query = table(0).group_by("key").agg(pl.col("value").dp.sum((-5, 5), scale=20.0))
release = dp.m.make_private_lazyframe(domain, dp.symmetric_distance(), dp.max_divergence(), query)
# All four rows leave and four others come: eight changes.
claim = (release.map(8), 0.0)
first, second = ([release(table(v)).collect()["value"].item() for _ in range(runs)] for v in (-5, 5))
"""

OPENDP_LAPLACE = """
import opendp.prelude as dp
dp.enable_features("contrib")
release = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)
claim = (release.map(1.0), 0.0)
first, second = ([release(x) for _ in range(runs)] for x in (0.0, 1.0))
"""

DP_ACCOUNTING = """
import dp_accounting as da
from dp_accounting.pld import PLDAccountant
times, keep = 4, 0.75
response = da.RandomizedResponseDpEvent(noise_parameter=2 * (1 - keep), num_buckets=2)
event = da.SelfComposedDpEvent(response, times)
accountant = PLDAccountant(da.NeighboringRelation.REPLACE_ONE)
accountant.compose(event)
claim = (accountant.get_epsilon(1e-6), 1e-6)
first, second = (np.random.binomial(times, p, size=10 * runs).tolist() for p in (1 - keep, keep))
"""

SMARTNOISE = """
from snsql.sql._mechanisms.laplace import Laplace
mechanism = Laplace(1.0, sensitivity=1, max_contrib=1)
claim = (1.0, 0.0)
first, second = ([mechanism.release([x])[0] for _ in range(runs)] for x in (0, 1))
"""

CASES = (
    Case("diffprivlib: Laplace on floats", "diffprivlib", DIFFPRIVLIB_LAPLACE, expected="fault, ε ≥ 7"),
    Case("diffprivlib: Laplace, floats as reals", "diffprivlib", DIFFPRIVLIB_LAPLACE, bits=False),
    Case("diffprivlib: linear regression", "diffprivlib", DIFFPRIVLIB_REGRESSION, expected="fault, ε ≥ 7"),
    Case("OpenDP: Laplace on floats", "opendp", OPENDP_LAPLACE),
    Case("OpenDP: grouped sum, length for change", "opendp", OPENDP_GROUPS, expected="fault, ε = 2·claim"),
    Case("SmartNoise: Laplace on a count", "snsql", SMARTNOISE),
    Case(
        "dp-accounting: 4 × randomised response",
        "dp_accounting",
        DP_ACCOUNTING,
        expected="fault, ε = 4·claim",
    ),
)

VERSION = """
import importlib.metadata as m
names = m.packages_distributions()[package]
print(json.dumps({"claim": claim, "first": first, "second": second, "version": m.version(names[0])}))
"""


def pythons() -> list[str]:
    return [sys.executable, *filter(None, os.environ.get("LEAKCAP_PEERS", "").split(os.pathsep))]


def having(package: str) -> str | None:
    """The first Python that has the package."""
    for python in pythons():
        check = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
        if subprocess.run([python, "-c", check], capture_output=True, check=False).returncode == 0:
            return python
    return None


def peer(case: Case, runs: int) -> str:
    python = having(case.package)
    if python is None:
        return "not installed"
    head = (
        f"import json, warnings\nwarnings.simplefilter('ignore')\nimport numpy as np\n"
        f"runs, package = {runs}, {case.package!r}\n"
    )
    command = [python, "-c", head + case.script + VERSION]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"no answer in {LIMIT} s"
    if done.returncode:
        return f"does not run here: {(done.stderr.strip().splitlines() or ['no message'])[-1][:90]}"
    answer = json.loads(done.stdout)
    epsilon, delta = answer["claim"]
    claim: Definition = PureDP(epsilon) if delta == 0 else ApproxDP(epsilon, delta)
    found: Audit = audit_samples(answer["first"], answer["second"], claim=claim, bits=case.bits, seed=0)
    event = found.evidence[0].event if found.evidence else ""
    return (
        f"{answer['version']}: claims ε = {epsilon:.4g}, certified ε ≥ {found.epsilon.lower:.3f}"
        f" with {len(answer['first']):,} a side: {found.verdict}"
        + (f" [{case.expected}]" if case.expected else "")
        + (f"; {event}" if event else "")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, nargs=3, default=[100, 20, 5], help="audits of each size")
    parser.add_argument("--runs", type=int, default=3000, help="runs a side of slow peers")
    parser.add_argument("--only", default="", help="peers whose name has this in it; leaves out the rest")
    options = parser.parse_args()
    if not options.only:
        nearness(tuple(options.repeats))
    for case in CASES:
        if options.only in case.name:
            print(f"{case.name:40} {peer(case, options.runs)}", flush=True)


if __name__ == "__main__":
    main()
