"""dpmm: its AIM, one process, no columns joined beforehand, at the same ρ."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM
from job import Codes, main


def synthesize(codes: Codes, sizes: dict[str, int], rho: float) -> np.ndarray:
    warnings.simplefilter("ignore")
    frame = pd.DataFrame(codes)
    model = AIMGM(epsilon=1.0, delta=1e-9, domain=dict(sizes), n_jobs=1, compress=False)
    model.generator.rho = rho
    model.fit(frame)
    found = model.generate(n_records=len(frame))
    found = found if isinstance(found, pd.DataFrame) else found.df
    return found[list(sizes)].to_numpy()


if __name__ == "__main__":
    main(synthesize)
