"""Microdata in words: what the file is, what was paid for it, what its errors mean."""

from __future__ import annotations

from leakcap.plain import counted
from leakcap.report.records.synthesis import SynthesisRecord
from leakcap.report.words.wording import sum_text

__all__ = ["ERRORS", "file_rows", "paid_for_file"]

ERRORS = (
    "Differences are added up over the cells, in rows of the data; the bound on that from the exact table "
    "holds with probability 95 %, for each table by itself."
)


def file_rows(record: SynthesisRecord) -> str:
    """How many rows about nobody there are, and what each counts for."""
    weight = sum_text(record.weight, 4)
    return f"{counted(record.rows, 'row')} about nobody; each counts for {weight} rows of the data"


def paid_for_file(record: SynthesisRecord) -> str:
    """What was paid, and on whose word."""
    if record.from_record:
        return (
            f"Nothing was paid: the tables are those of {record.from_record}, whose numbers agree with each "
            "other. That a ledger paid for them, and what it has told and has left, is taken on the record's "
            "word, as of when it was written. More files are free."
        )
    paid = (
        "Nothing was paid: the ledger knows the tables." if record.repeated else "The tables were paid for."
    )
    return f"{paid} More files are free."
