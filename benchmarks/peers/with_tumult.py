"""Tumult Analytics on a local Spark with both cores; starting Spark is not counted, nor its first run."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable

os.environ["PYSPARK_PYTHON"] = sys.executable
warnings.simplefilter("ignore")

from clock import EACH, GROUPS, HIGH, LOW, Answer, main  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session  # noqa: E402


def release(path: str, rows: int) -> Callable[[], Answer]:
    settings = {"spark.driver.memory": "8g", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4"}
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    keys = KeySet.from_dict({"g": list(range(GROUPS))})
    each = PureDPBudget(EACH)

    def ask() -> Answer:
        data = spark.read.parquet(path)
        session = Session.from_dataframe(PureDPBudget(2 * EACH), "t", data, protected_change=AddOneRow())
        counts = session.evaluate(QueryBuilder("t").groupby(keys).count(name="n"), each).collect()
        sums = session.evaluate(QueryBuilder("t").groupby(keys).sum("x", LOW, HIGH, name="s"), each).collect()
        return float(sum(row["n"] for row in counts)), float(sum(row["s"] for row in sums))

    ask()
    return ask


if __name__ == "__main__":
    main(release)
