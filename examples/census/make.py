"""Writes people.csv: a made-up country of 24,000 people, a row each, always the same.

Its four regions have 9,600, 7,200, 4,800 and 2,400 people, and six districts each.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

REGIONS = {"N": 9600, "S": 7200, "E": 4800, "W": 2400}
DISTRICTS = (8, 6, 4, 3, 2, 1)
"""How many people of 24 live in each district of a region."""


def activity(age: int, drawn: random.Random) -> str:
    """What somebody of this age mostly does."""
    if age < 15:
        return "child"
    if age >= 65:
        return "retired"
    school, work = (12, 6) if age < 25 else (1, 16)
    return drawn.choices(["school", "work", "other"], [school, work, 20 - school - work])[0]


def main() -> None:
    """Ages up to 99, fewer of the old; women and men alike, but for the oldest."""
    drawn = random.Random(2026)
    rows: list[tuple[object, ...]] = []
    for region, people in REGIONS.items():
        for number, share in enumerate(DISTRICTS, 1):
            for _ in range(people * share // sum(DISTRICTS)):
                age = min(drawn.randrange(100), drawn.randrange(100) + 20)
                sex = drawn.choices(["f", "m"], [3 if age > 79 else 1, 2 if age > 79 else 1])[0]
                rows.append((f"{region}{number}", sex, age, activity(age, drawn)))
    drawn.shuffle(rows)
    with (Path(__file__).parent / "people.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("person", "district", "sex", "age", "activity"))
        writer.writerows((person, *row) for person, row in enumerate(rows, 1))


if __name__ == "__main__":
    main()
