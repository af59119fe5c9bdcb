"""2,000 releases of the malignant count at ε = 1: the noise has its law, and neighbours stay within e^ε.

False alarms, over the choice of seeds: the chi-square test 10⁻⁶; the event test 10⁻⁶ over all its events and
both directions together (Bonferroni over Clopper–Pearson bounds). A sampler with half the scale fails both.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from numpy.typing import NDArray
from scipy.stats import beta

from leakcap.release import PrivateTable, Query
from leakcap.sampling import discrete_laplace
from seeded import ALARM, SeededSource, discrete_laplace_chi_square

PATIENTS = Path(__file__).parents[2] / "examples" / "hospital" / "patients.parquet"
POLICY = {
    "dataset": "patients",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 10_000.0},
    "columns": {"diagnosis": {"keys": ["benign", "malignant"]}},
}
RUNS, BATCH, MALIGNANT = 2_000, 500, 212
QUERY = Query(name="malignant", statistic="count", epsilon=1.0)


class Remembering:
    """An engine that runs each statement once: the answer stays, and only noise differs."""

    def __init__(self, engine: Any) -> None:
        self.columns, self.write = engine.columns, engine.write
        self.run = functools.cache(engine.run)


def patients(extra: int = 0) -> pyarrow.Table:
    """The malignant ones alone, so that no condition is read 2,000 times."""
    data = pyarrow.parquet.read_table(
        PATIENTS, columns=["patient_id", "diagnosis"], filters=[("diagnosis", "=", "malignant")]
    )
    more = pyarrow.table(
        {
            "patient_id": pyarrow.array([570] * extra, pyarrow.int32()),
            "diagnosis": pyarrow.array(["malignant"] * extra, pyarrow.string()),
        }
    )
    return pyarrow.concat_tables([data, more])


def counts(data: pyarrow.Table, seed: int) -> NDArray[np.int64]:
    private = PrivateTable(data, policy=POLICY, ledger="sqlite://", source=SeededSource(seed))
    private._engine = Remembering(private._engine)
    batches = [private.release([QUERY] * BATCH, fresh=True) for _ in range(RUNS // BATCH)]
    return np.array([release.value for batch in batches for release in batch])


def broken(scale: Fraction, size: int, source: Any) -> NDArray[np.int64]:
    return discrete_laplace(scale / 2, size, source)


def beaten(left: NDArray[np.int64], right: NDArray[np.int64], epsilon: float) -> list[str]:
    """The events that prove that left and right are not within e^ε of each other."""
    thresholds = range(MALIGNANT - 20, MALIGNANT + 22)
    level = ALARM / (2 * 4 * len(thresholds))
    proofs = []
    for t in thresholds:
        for name, a, b in (("≤", left <= t, right <= t), ("≥", left >= t, right >= t)):
            for p, q in ((a, b), (b, a)):
                if lowest(p.sum(), level) > math.exp(epsilon) * highest(q.sum(), level):
                    proofs.append(f"{name} {t}")
    return proofs


def lowest(hits: int, level: float) -> float:
    return float(beta.ppf(level, hits, RUNS - hits + 1)) if hits else 0.0


def highest(hits: int, level: float) -> float:
    return float(beta.ppf(1 - level, hits + 1, RUNS - hits)) if hits < RUNS else 1.0


def test_the_noise_has_its_law_and_neighbours_keep_epsilon() -> None:
    one, other = counts(patients(), 1), counts(patients(extra=1), 2)
    assert discrete_laplace_chi_square(one - MALIGNANT, 1) > ALARM
    assert discrete_laplace_chi_square(other - MALIGNANT - 1, 1) > ALARM
    assert beaten(one, other, 1.0) == []


def test_half_the_scale_fails_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leakcap.mechanism.geometric.discrete_laplace", broken)
    one, other = counts(patients(), 3), counts(patients(extra=1), 4)
    assert discrete_laplace_chi_square(one - MALIGNANT, 1) < ALARM
    assert beaten(one, other, 1.0)
