"""OpenDP: its Polars context over a lazy scan, keys given as public."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import opendp.prelude as dp
import polars as pl
from clock import EACH, GROUPS, HIGH, LOW, Answer, main

dp.enable_features("contrib")
warnings.simplefilter("ignore")


def context(data: pl.LazyFrame, rows: int) -> dp.Context:
    return dp.Context.compositor(
        data=data,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=2 * EACH),
        split_evenly_over=1,
        # The most rows of a group: a float sum needs it, and any table could have all its rows in one.
        margins=[dp.polars.Margin(max_length=rows)],
    )


def release(path: str, rows: int) -> Callable[[], Answer]:
    keys = pl.LazyFrame({"g": pl.Series(range(GROUPS), dtype=pl.Int32)})

    def ask() -> Answer:
        query = context(pl.scan_parquet(path), rows).query().group_by("g")
        found = query.agg(dp.len(), pl.col("x").dp.sum((LOW, HIGH))).with_keys(keys).release().collect()
        return float(found["len"].sum()), float(found["x"].sum())

    return ask


def one() -> None:
    data = pl.LazyFrame({"x": [1.0], "g": [1]})
    context(data, 10).query().select(dp.len()).release().collect()


def noise() -> object:
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return dp.m.make_laplace(*space, scale=1.0)([0] * 1_000_000)


def laplace(bits: Sequence[int]) -> list[float]:
    draw = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0)
    return [float(draw(float(bit))) for bit in bits]


if __name__ == "__main__":
    main(release, one=one, noise=noise, laplace=laplace)
