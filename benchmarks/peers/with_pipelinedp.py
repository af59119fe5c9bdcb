"""PipelineDP on its local backend, public partitions, each row a privacy id of its own."""

from __future__ import annotations

from collections.abc import Callable

import pipeline_dp
import pyarrow.parquet
from clock import EACH, GROUPS, HIGH, LOW, Answer, main

METRICS = [pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM]


def release(path: str, rows: int) -> Callable[[], Answer]:
    def ask() -> Answer:
        table = pyarrow.parquet.read_table(path, columns=["g", "x"])
        data = zip(range(table.num_rows), table["g"].to_pylist(), table["x"].to_pylist(), strict=True)
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=2 * EACH, total_delta=1e-9)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        wanted = pipeline_dp.AggregateParams(
            metrics=METRICS,
            noise_kind=pipeline_dp.NoiseKind.LAPLACE,
            max_partitions_contributed=1,
            max_contributions_per_partition=1,
            min_value=LOW,
            max_value=HIGH,
        )
        fields = pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: row[1],
            value_extractor=lambda row: row[2],
        )
        lazy = engine.aggregate(data, wanted, fields, public_partitions=list(range(GROUPS)))
        accountant.compute_budgets()
        found = [metrics for _, metrics in lazy]
        return sum(metrics.count for metrics in found), sum(metrics.sum for metrics in found)

    return ask


if __name__ == "__main__":
    main(release)
