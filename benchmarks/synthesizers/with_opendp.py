"""OpenDP: a contingency table by its AIM over all pairs, at the same ρ.

A third word is the most MiB that its model may have, 80 as it comes, a fourth the number of rounds, 16 for
each column as it comes. Beside the rows it writes what its
model has for each pair of columns to `model.npz`: the rows that it draws are far from these.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from typing import Any

import numpy as np
import opendp.prelude as dp
import polars as pl
from job import Codes, main

dp.enable_features("contrib")


def synthesize(codes: Codes, sizes: dict[str, int], rho: float) -> np.ndarray:
    warnings.simplefilter("ignore")
    pairs = [dp.mbi.Count(pair) for pair in itertools.combinations(sizes, 2)]
    context = dp.Context.compositor(
        data=pl.LazyFrame({name: np.asarray(own) for name, own in codes.items()}),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=rho),
    )
    query = context.query(rho=rho).select(*sizes)
    keys = {name: list(range(size)) for name, size in sizes.items()}
    size: dict[str, Any] = {"max_size": float(sys.argv[3])} if sys.argv[3:] else {}
    if sys.argv[4:]:
        size["rounds"] = int(sys.argv[4])
    table = query.contingency_table(keys=keys, algorithm=dp.mbi.AIM(queries=pairs, **size)).release()
    kept = {}
    for first, second in itertools.combinations(sizes, 2):
        own = np.asarray(table.project((first, second)), dtype=np.float64)
        kept[f"{first}|{second}"] = own[: sizes[first], : sizes[second]]
    np.savez(f"{sys.argv[1]}/model.npz", **kept)
    found = table.synthesize()
    found = found.collect() if isinstance(found, pl.LazyFrame) else found
    return np.column_stack([filled(found[name].to_numpy()) for name in sizes])


def filled(codes: np.ndarray) -> np.ndarray:
    """The column, with draws from its other rows for what is missing: no row of the table lacks a key."""
    missing = np.isnan(codes.astype(np.float64))
    codes = codes.copy()
    codes[missing] = np.random.default_rng(1).choice(codes[~missing], missing.sum())
    return codes


if __name__ == "__main__":
    main(synthesize)
