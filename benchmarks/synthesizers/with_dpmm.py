"""dpmm: its AIM, one process, no columns joined beforehand, at the same ρ.

A third word is the most MiB that its model may have, 80 as it comes, a fourth its `rounds`, 16 for
each column as it comes.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM
from job import Codes, main
from spent_rho import follow


def synthesize(codes: Codes, sizes: dict[str, int], rho: float) -> np.ndarray:
    warnings.simplefilter("ignore")
    frame = pd.DataFrame(codes)
    model = AIMGM(epsilon=1.0, delta=1e-9, domain=dict(sizes), n_jobs=1, compress=False)
    model.generator.rho = rho
    if sys.argv[3:]:
        model.generator.max_model_size = float(sys.argv[3])
    if sys.argv[4:]:
        model.generator.rounds = int(sys.argv[4])
    follow(model.generator, len(sizes), rho)
    model.fit(frame)
    found = model.generate(n_records=len(frame))
    found = found if isinstance(found, pd.DataFrame) else found.df
    return found[list(sizes)].to_numpy()


if __name__ == "__main__":
    main(synthesize)
