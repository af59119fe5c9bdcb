"""Writes visits.csv: made-up visits to a clinic in the weeks of 2026, a row each, always the same."""

from __future__ import annotations

import csv
import datetime
import math
import random
from pathlib import Path

START, WEEKS = datetime.date(2025, 12, 29), 53


def main() -> None:
    """More visits in winter, and twice as many in the north as in the south; none at weekends."""
    drawn = random.Random(2026)
    rows = []
    for week in range(WEEKS):
        level = 60 + 30 * math.cos(2 * math.pi * week / 52)
        for ward, share in (("north", 2), ("south", 1)):
            for _ in range(round(level * share + drawn.uniform(-8, 8))):
                day = START + datetime.timedelta(days=7 * week + drawn.randrange(5))
                rows.append((day.isoformat(), ward))
    rows = sorted(row for row in rows if row[0].startswith("2026"))
    with (Path(__file__).parent / "visits.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([("day", "ward"), *rows])


if __name__ == "__main__":
    main()
