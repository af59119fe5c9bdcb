"""From what was spent to what it means."""

from leakcap.statement.exposure import Exposure, compose
from leakcap.statement.reading import Reading
from leakcap.statement.statement import Statement, statement_of

__all__ = ["Exposure", "Reading", "Statement", "compose", "statement_of"]
