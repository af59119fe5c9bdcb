"""Whether a record agrees with itself: whatever follows from the rest of it is made anew and compared."""

from __future__ import annotations

from pydantic import ValidationError

from leakcap.errors import InvalidParameter, LeakcapError
from leakcap.report.records.base import Record
from leakcap.report.records.recovered import released_of
from leakcap.report.records.stated_file import file_fault
from leakcap.report.records.synthesis import SynthesisRecord
from leakcap.report.records.tables import TablesRecord

__all__ = ["require_agreement"]


def require_agreement(record: Record) -> None:
    """Raise `InvalidParameter` where a record of tables, or of a file made of them, was edited.

    Of tables everything is made anew (`released_of`); of a file what its counts, question and policy say.
    Records of earlier versions, which lack a policy or a question, and those of other kinds are compared
    where their pages are drawn.
    """
    if isinstance(record, TablesRecord) and record.policy is not None and record.question is not None:
        released_of(record)
    if isinstance(record, SynthesisRecord) and record.question is not None and (fault := _fault(record)):
        raise InvalidParameter(
            f"The record of the file `{record.name}` does not agree with itself: {fault}. It was edited, or "
            "another version of leakcap wrote it. Make it anew: `leakcap synthesize FILE --output rows.csv "
            "--json` asks for nothing that was paid for."
        )


def _fault(record: SynthesisRecord) -> str:
    try:
        return file_fault(record)
    except ValidationError:
        return "its `question` is none"
    except LeakcapError as error:
        return str(error).removesuffix(".")
    except (LookupError, ValueError, ArithmeticError):
        return "a number of it is none that a file has"
