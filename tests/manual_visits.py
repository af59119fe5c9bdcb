"""The table of visits that pages of the manual speak of, and the files that `leakcap sql` wants."""

from __future__ import annotations

from pathlib import Path

import duckdb

from leakcap import PrivateTable

POLICY = """
dataset = "visits"
neighbours = "add-remove-one"
unit = { id = "patient_id", max_rows = 3, max_groups = 1 }

[caps]
epsilon = 100.0
delta = 1e-4

[columns.ward]
keys = ["north", "south"]

[columns.sex]
keys = ["f", "m"]

[columns.year]
bounds = [2000.0, 2030.0]

[columns.stay]
bounds = [0.0, 60.0]

[columns.age]
bounds = [0.0, 120.0]

[columns.bmi]
bounds = [10.0, 60.0]
"""
ROWS = """
SELECT i // 2 AS patient_id, CASE WHEN i % 3 = 0 THEN 'north' ELSE 'south' END AS ward,
       CASE WHEN i % 5 < 2 THEN 'f' ELSE 'm' END AS sex, 2022 + i % 4 AS year,
       (7 * i) % 41 AS stay, 20 + (13 * i) % 70 AS age, 18.0 + (i % 23) AS bmi
FROM range(600) t(i)
"""
PRIVATE = POLICY.replace('keys = ["north", "south"]', 'keys = "private"')


def open_visits() -> tuple[PrivateTable, PrivateTable]:
    """Writes the files here; the table with public wards, and with private ones."""
    Path("policy.toml").write_text(POLICY, encoding="utf-8")
    Path("private.toml").write_text(PRIVATE, encoding="utf-8")
    Path("release.toml").write_text(
        'policy = "policy.toml"\ndata = "visits.parquet"\nledger = "sql.db"\n\n'
        '[[query]]\nname = "all"\nstatistic = "count"\nepsilon = 0.1\n',
        encoding="utf-8",
    )
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({ROWS}) TO 'visits.parquet'")

    public = PrivateTable("visits.parquet", policy="policy.toml", ledger="table.db")
    private = PrivateTable("visits.parquet", policy="private.toml", ledger="private.db")
    return public, private
