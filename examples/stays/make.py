"""Hospital stays of a year that nobody had: 200,000 stays of 62,388 patients, and spoiled copies of them.

    python make.py stays.parquet [--rows 200000]      Parquet, CSV or a DuckDB file (table `stays`)
    python make.py --spoiled folder                   a small sound CSV file, and ten spoiled copies of it

Everything follows from one seed by whole numbers, so that the table is the same on every machine.
Most patients have one stay or two, a few have very many; nobody has more than 29.
"""

from __future__ import annotations

import argparse
import datetime
import re
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet

SEED = 20240101
ROWS = 200_000
PEOPLE_IN_A_MILLION = 311_940  # 62,388 of 200,000
FIRST = datetime.date(2024, 1, 1)
DAYS = 366

# How eager people are to come back: shares in 1,000, and how much more of the further stays is theirs.
EAGER, OF_FURTHER = (600, 280, 100, 20), (1, 3, 9, 20)
# Stays per day, by month: winter is busier than summer.
BUSY = (118, 114, 108, 100, 97, 92, 85, 82, 95, 102, 107, 112)
LONG = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# Codes of ICD-10, one in 1,000, and what a stay of this kind takes: nights at most, price of a night.
CODES = {
    "C34": (40, 14, 900), "C50": (60, 8, 850), "C61": (40, 7, 800), "E11": (70, 9, 420),
    "F10": (60, 12, 330), "F32": (50, 30, 310), "I21": (70, 9, 1400), "I50": (110, 12, 610),
    "I63": (60, 15, 980), "J18": (90, 10, 520), "J44": (80, 9, 480), "K35": (40, 5, 760), "K80": (60, 5, 790),
    "N17": (30, 10, 560), "O80": (60, 3, 640), "S06": (40, 4, 620), "S72": (38, 15, 940),
    "T84": (2, 21, 1600),
}  # fmt: skip
WARDS = {"north": 350, "south": 300, "east": 200, "west": 150}


def stays(rows: int = ROWS, seed: int = SEED) -> pyarrow.Table:
    """The table: patient, stay, admitted, discharged, diagnosis, age, sex, ward, emergency, nights, cost."""
    draws = np.random.PCG64(seed)

    def below(most: int, size: int) -> np.ndarray:
        """Integers from 0 to `most` − 1."""
        return (draws.random_raw(size) >> np.uint64(11)).astype(np.int64) % most

    def of_shares(shares: tuple[int, ...], size: int) -> np.ndarray:
        return np.searchsorted(np.cumsum(shares), below(sum(shares), size), side="right")

    people = max(1, rows * PEOPLE_IN_A_MILLION // 1_000_000)
    eager = np.cumsum(np.array(OF_FURTHER)[of_shares(EAGER, people)])
    further = np.searchsorted(eager, below(int(eager[-1]), rows - people), side="right")
    counts = 1 + np.bincount(further, minlength=people)
    patient = np.repeat(np.arange(people), counts)
    place = np.arange(rows) - np.repeat(np.cumsum(counts) - counts, counts)

    # The stays of a person are spread over the year; then the year is stretched where it is busy.
    grain = 10_000
    share = (place * grain + below(grain, rows)) * 10**6 // (counts[patient] * grain)
    day = np.searchsorted(
        np.cumsum(np.repeat(BUSY, LONG)), share * int(np.dot(BUSY, LONG)) // 10**6, side="right"
    )
    sex, born = below(1000, people) < 527, below(58, people) + below(58, people)
    code = of_shares(tuple(one for one, _, _ in CODES.values()), rows)
    births = np.array(list(CODES))[code] == "O80"
    fits = sex[patient] & (born[patient] >= 18) & (born[patient] < 46)
    code = np.where(births & ~fits, list(CODES).index("I50"), code)
    most = np.array([one for _, one, _ in CODES.values()])[code]
    nights = below(10**6, rows) * below(10**6, rows) * most // 10**12 + below(2, rows)
    price = np.array([one for _, _, one in CODES.values()])[code]
    cents = (nights * price * 100 + below(90_000, rows)) * (80 + below(41, rows)) // 100 + 12_000
    seldom = below(1000, rows) == 0
    cents = np.where(seldom, cents * 12, cents)
    emergency = below(1000, rows) < 310 + 3 * born[patient]
    ward = of_shares(tuple(WARDS.values()), rows)

    order = np.argsort(day * rows + np.arange(rows))
    dates = np.datetime64(FIRST, "D") + day
    columns = {
        "patient": pyarrow.array(100_000 + patient[order]),
        "stay": pyarrow.array(np.arange(rows)),
        "admitted": pyarrow.array(dates[order]),
        "discharged": pyarrow.array((dates + nights)[order]),
        "diagnosis": pyarrow.array(np.array(list(CODES))[code][order].tolist()),
        "age": pyarrow.array(born[patient][order]),
        "sex": pyarrow.array(np.where(sex, "F", "M")[patient][order].tolist()),
        "ward": pyarrow.array(np.array(list(WARDS))[ward][order].tolist()),
        "emergency": pyarrow.array(emergency[order]),
        "nights": pyarrow.array(nights[order]),
        "cost": pyarrow.array((cents / 100.0)[order]),
    }
    return pyarrow.table(columns)


def write(table: pyarrow.Table, path: Path) -> None:
    """As the ending of the name says: Parquet, CSV, or a DuckDB file with the table `stays`."""
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        import duckdb

        path.unlink(missing_ok=True)
        with duckdb.connect(str(path)) as stored:
            stored.register("given", table)
            stored.execute("CREATE TABLE stays AS SELECT * FROM given")


def csv_of(table: pyarrow.Table) -> str:
    """As CSV, without quotation marks where none are needed."""
    lines = [",".join(table.column_names)]
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        lines.append(",".join(str(one).lower() if isinstance(one, bool) else str(one) for one in row))
    return "\n".join(lines) + "\n"


# What a file is like that comes from elsewhere: what it is called, and how it is made of a sound one.
SPOILED = {
    "sex-in-small-letters": lambda text: text.replace(",F,", ",f,"),
    "decimal-commas": lambda text: re.sub(r"(\d+)\.(\d+)$", r'"\1,\2"', text, flags=re.M),
    "euros": lambda text: re.sub(r"(\d+\.\d+)$", r"\1 €", text, flags=re.M),
    "semicolons": lambda text: text.replace(",", ";"),
    "german-dates": lambda text: re.sub(r"(\d{4})-(\d\d)-(\d\d)", r"\3.\2.\1", text),
    "header-in-capitals": lambda text: text.replace("admitted", "Admitted", 1),
    "utf-16": lambda text: text.encode("utf-16"),
    "cut-off": lambda text: text[: text.rindex(",", 0, len(text) * 2 // 3)] + "\n",
    "no-patient": lambda text: re.sub(r"^1\d{5}", "", text, count=7, flags=re.M),
    "word-for-nothing": lambda text: re.sub(r",(\d+\.\d+)$", ",n/a", text, count=5, flags=re.M),
}


def spoil(folder: Path, rows: int = 400) -> list[Path]:
    """A sound CSV file and the spoiled ones, written into a folder."""
    sound = csv_of(stays(rows))
    files = {"sound": sound, **{name: spoiled(sound) for name, spoiled in SPOILED.items()}}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return [folder / f"{name}.csv" for name in files]


def main() -> None:
    """What the command line asks for."""
    asked = argparse.ArgumentParser(description="Hospital stays that nobody had.")
    asked.add_argument("path", type=Path, help=".parquet, .csv or .duckdb; with --spoiled a folder")
    asked.add_argument("--rows", type=int, default=ROWS)
    asked.add_argument("--spoiled", action="store_true", help="a sound CSV file and ten spoiled copies of it")
    given = asked.parse_args()
    if given.spoiled:
        spoil(given.path)
    else:
        write(stays(given.rows), given.path)


if __name__ == "__main__":
    main()
