"""What all synthesizers share: the table they are given, and how they are timed, in each one's environment.

A script is called as `with_<name>.py <folder> <rho>`. It reads `codes.npz`, or the same as
`codes.parquet`, there, writes
the rows it makes to `rows.npy`, a column of codes for each column in the order of `sizes.json`, and prints
one line of JSON: seconds on the clock and of CPU without its imports, and the peak memory of the process in
MiB.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

Codes = dict[str, np.ndarray]


def main(synthesize: Callable[[Codes, dict[str, int], float], np.ndarray]) -> None:
    folder, rho = Path(sys.argv[1]), float(sys.argv[2])
    sizes = json.loads((folder / "sizes.json").read_text())
    # NumPy's own format: PyArrow loads pandas where there is one, whose memory would be counted.
    with np.load(folder / "codes.npz") as stored:
        codes = {name: stored[name] for name in sizes}
    wall, used = time.perf_counter(), time.process_time()
    rows = synthesize(codes, sizes, rho)
    told = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - used}
    np.save(folder / "rows.npy", np.asarray(rows, dtype=np.int64))
    print(json.dumps(told | {"mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
