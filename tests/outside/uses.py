"""What is asked of a statistic of another package, in a process of its own: every way there is."""

from __future__ import annotations

import json
import sys

import pyarrow

from leakcap.errors import LeakcapError
from leakcap.ledger.curve import curve_of_pure
from leakcap.release import PrivateTable, Query, dry_run, load_policy, preview

POLICY = {
    "dataset": "visits",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 5.0},
    "columns": {"stay": {"bounds": [0.0, 60.0]}, "ward": {"keys": ["a", "b"]}},
}


def main() -> dict[str, object]:
    policy = load_policy(POLICY)
    rows = pyarrow.table({"stay": [1.0, None] * 200, "ward": ["a", "b"] * 200})
    table = PrivateTable(rows, policy=policy, ledger="sqlite://", version="1")
    query = Query(name="n", statistic="present", column="stay", by=("ward",), epsilon=1.0)
    try:
        (seen,) = preview([query], policy=policy)
    except LeakcapError as error:
        return {"refused": str(error), "entries": len(table.ledger.entries())}
    # Half a second to load, which a refused package's process need not wait for.
    from leakcap.report.records import ReleaseRecord
    from leakcap.web.releasing.questions import offered

    (release,) = table.release([query])
    again, by_sql = table.release([query])[0], table.sql("SELECT PRESENT(stay) FROM visits", epsilon=1.0)[0]
    entries = table.ledger.entries()
    table.ledger.verify()
    told = ReleaseRecord.of(policy, [release], table.statement(), table.budget()).to_dict()
    return {
        "error": seen.error,
        "dry": len(dry_run([query], policy)[0].rows),
        "values": [row.value for row in release.rows],
        "repeated": again.repeated,
        "by_sql": by_sql.value,
        "mechanism": release.price.mechanism,
        "off": max(
            abs(nats - most)
            for nats, most in zip(entries[0].spend.curve or (), curve_of_pure(1.0), strict=True)
        ),
        "recorded": json.dumps(told).count("present of stay by ward"),
        "offered": sum(name == "present" for group in offered().values() for name in group),
    }


if __name__ == "__main__":
    try:
        print(json.dumps(main()))
    except LeakcapError as error:
        print(json.dumps({"error": str(error)}))
    sys.exit(0)
