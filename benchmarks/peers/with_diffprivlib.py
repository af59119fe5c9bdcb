"""diffprivlib: its histogram of the groups, then its bounded sum of each group's values, sorted by NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow.parquet
from clock import EACH, GROUPS, HIGH, LOW, Answer, main
from diffprivlib import mechanisms, tools


def release(path: str, rows: int) -> Callable[[], Answer]:
    def ask() -> Answer:
        table = pyarrow.parquet.read_table(path, columns=["g", "x"])
        group, value = table["g"].to_numpy(), table["x"].to_numpy()
        counts, _ = tools.histogram(group, epsilon=EACH, bins=GROUPS, range=(0, GROUPS))
        order = np.argsort(group, kind="stable")
        ordered, ends = value[order], np.searchsorted(group[order], np.arange(GROUPS + 1))
        parts = (ordered[low:high] for low, high in itertools.pairwise(ends))
        sums = [tools.sum(part, epsilon=EACH, bounds=(LOW, HIGH)) for part in parts]
        return float(counts.sum()), float(np.sum(sums))

    return ask


def laplace(bits: Sequence[int]) -> list[float]:
    draw = mechanisms.Laplace(epsilon=1.0, sensitivity=1.0)
    return [float(draw.randomise(float(bit))) for bit in bits]


if __name__ == "__main__":
    main(release, laplace=laplace)
