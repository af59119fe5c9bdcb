"""What crosses between a curator and those who ask it: questions, answers as the ledger has them, errors.

Both sides import this room, and neither the other: a client plans what it asks under the same public policy.
"""

from leakcap.wire.answers import answer_from, answer_on_wire
from leakcap.wire.problems import PREFIX, Problem, as_problem, error_of
from leakcap.wire.queries import query_on_wire

__all__ = ["PREFIX", "Problem", "answer_from", "answer_on_wire", "as_problem", "error_of", "query_on_wire"]
