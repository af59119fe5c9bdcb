"""AIM by its own authors, over all pairs, at the same ρ.

A third word is a copy of their repository (github.com/ryan112358/private-pgm), whose `mechanisms/aim.py` no
package brings; `mbi` is the copy's own (`src/mbi`). A fourth is the most MiB that its model may have, 80 as
it comes, a fifth the number of rounds, 16 for each column as it comes.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from job import Codes, main
from spent_rho import follow


def synthesize(codes: Codes, sizes: dict[str, int], rho: float) -> np.ndarray:
    warnings.simplefilter("ignore")
    sys.path[:0] = [f"{sys.argv[3]}/mechanisms", f"{sys.argv[3]}/src"]
    import mbi
    from aim import AIM

    domain = mbi.Domain(list(sizes), list(sizes.values()))
    data = mbi.Dataset(pd.DataFrame(codes), domain)
    size: dict[str, Any] = {"max_model_size": float(sys.argv[4])} if sys.argv[4:] else {}
    if sys.argv[5:]:
        size["rounds"] = int(sys.argv[5])
    # Their base class takes what AIM hands it as the source of noise for another of its words.
    mechanism = AIM(1.0, 1e-9, prng=np.random, **size)
    mechanism.rho = rho
    follow(mechanism, len(sizes), rho)
    pairs = [(pair, 1.0) for pair in itertools.combinations(sizes, 2)]
    _, drawn = mechanism.run(data, pairs, num_synth_rows=len(next(iter(codes.values()))))
    return drawn.df[list(sizes)].to_numpy()


if __name__ == "__main__":
    main(synthesize)
