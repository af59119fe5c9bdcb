"""What the model tests share: policies, ledgers, and proofs from samples that an ε is broken."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from leakcap.ledger import Ledger
from leakcap.release import Policy, load_policy

ALARM = 1e-6
"""The chance of a false alarm of each statistical test, over the choice of its seed."""


def policy_of(**changes: Any) -> Policy:
    base: dict[str, Any] = {
        "dataset": "models",
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 1e6, "delta": 0.5},
        "columns": {
            "x": {"bounds": [-1.0, 1.0]},
            "z": {"bounds": [-1.0, 1.0]},
            "y": {"bounds": [-3.0, 3.0]},
        },
    }
    return load_policy({**base, **changes})


def ledger_of(policy: Policy) -> Ledger:
    fingerprint, caps = policy.fingerprint(), policy.caps.ledger_caps()
    return Ledger.open("sqlite://", dataset=policy.dataset, policy=fingerprint, caps=caps)


def broken(first: NDArray[np.bool_], second: NDArray[np.bool_], epsilon: float, delta: float = 0.0) -> bool:
    """Whether samples prove that P(event) ≤ e^ε Q(event) + δ does not hold, at level ALARM/2.

    Clopper–Pearson bounds on both sides, each at a quarter of ALARM.
    """
    level = ALARM / 4
    n, m, a, b = first.size, second.size, int(first.sum()), int(second.sum())
    low = float(beta.ppf(level, a, n - a + 1)) if a else 0.0
    high = float(beta.ppf(1 - level, b + 1, m - b)) if b < m else 1.0
    return low > math.exp(epsilon) * high + delta
