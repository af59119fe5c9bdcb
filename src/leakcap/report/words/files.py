"""Microdata in words: what the file is, what was paid for it, what its errors mean."""

from __future__ import annotations

from leakcap.plain import counted
from leakcap.report.records.synthesis import ComparedCoefficientRecord, RegressionRecord, SynthesisRecord
from leakcap.report.words.wording import number, sum_text, to_its_noise

__all__ = ["ERRORS", "coefficient_cells", "coefficient_name", "file_rows", "paid_for_file", "regression_told"]

ERRORS = (
    "Differences are added up over the cells, in rows of the data; the bound on that from the exact table "
    "holds with probability 95 %, for each table by itself."
)


def coefficient_name(one: ComparedCoefficientRecord) -> str:
    """The number that a coefficient is of: a column, a key of one, or the constant."""
    return one.column if one.key is None else f"{one.column} = {one.key}"


def coefficient_cells(one: ComparedCoefficientRecord) -> tuple[str, str, str]:
    """In the file, in the released tables, and the interval of the exact one, rounded outward."""
    file = "not told apart" if one.file is None else number(one.file)
    if one.released is None or one.lower is None or one.upper is None:
        return file, "hidden by the noise", "any"
    value, low, high = to_its_noise(one.released, one.lower, one.upper)
    return file, value, f"{low} to {high}"


def regression_told(record: RegressionRecord) -> str:
    """What is regressed on what, what its intervals hold, and what it cost."""
    features = ", ".join(dict.fromkeys(one.column for one in record.coefficients if one.column))
    key = "" if record.target_key is None else f" = {record.target_key}"
    price = "It costs nothing more: the tables are those that the file is made of."
    if record.priced:
        rho = "no bound" if record.rho is None else f"ρ = {sum_text(record.rho)}"
        again = ", some time ago" if record.repeated else ""
        price = (
            f"Its price is {rho}, entry {record.entry}{again}: tables were released for it. {record.about}"
        )
    return (
        f"Least squares of {record.target}{key} on {features}: in the file, and in released tables of all "
        "pairs of these columns. Each interval holds the coefficient of the exact rows, all of them at once "
        f"with probability 95 % or more over the noise; a sample's own error is not in it. {price}"
    ).strip()


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
