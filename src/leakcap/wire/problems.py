"""Errors as they cross the wire: problem details (RFC 9457) with the fields of the library's exceptions.

An error that leakcap did not raise on purpose crosses as `internal` alone: its text could hold a value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from typing import Any

from leakcap import errors
from leakcap.errors import BudgetExceeded, InvalidQuery, LeakcapError, Passed

__all__ = ["PREFIX", "Problem", "as_problem", "error_of"]

PREFIX = "urn:leakcap:problem:"
Problem = dict[str, Any]

_STATUS: Mapping[str, int] = {
    "BudgetExceeded": 409,
    "RequestReused": 409,
    "LedgerError": 409,
    "LedgerUnavailable": 503,
    "DataError": 503,
    "SourceError": 503,
    "StoreError": 503,
    "Unauthenticated": 401,
    "Forbidden": 403,
    "NotFound": 404,
    "NameTaken": 409,
    "StateConflict": 409,
    "KeyReused": 409,
    "OneTimePassword": 403,
    "TooManyAttempts": 429,
    "TooManyJobs": 429,
    "TooManyRequests": 429,
}
_TITLES: Mapping[str, str] = {
    "BudgetExceeded": "A cap would be passed",
    "RequestReused": "This idempotency key was used for another question",
    "LedgerError": "The ledger refuses",
    "LedgerUnavailable": "The ledger cannot be used just now",
    "DataError": "The data cannot be read as the policy says",
    "InvalidQuery": "The question cannot be answered",
    "InvalidPolicy": "The policy cannot be used",
    "InvalidParameter": "A number or option outside its range",
    "SourceError": "There is no randomness",
    "NoRoute": "This does not follow",
    "Unauthenticated": "Not signed in",
    "Forbidden": "Not allowed",
    "NotFound": "Not there",
    "NameTaken": "This name is taken",
    "StateConflict": "Not in this state",
    "KeyReused": "This idempotency key was used for another question",
    "OneTimePassword": "A password of your own comes first",
    "TooManyAttempts": "Too many attempts",
    "TooManyJobs": "Too many jobs",
    "TooManyRequests": "Too many requests",
}


def as_problem(error: BaseException) -> Problem:
    """What is said of an error.

    >>> as_problem(InvalidQuery("No such column.")) | {}
    {'type': 'urn:leakcap:problem:invalid-query', 'title': 'The question cannot be answered', 'status': 422, \
'detail': 'No such column.', 'committed': False}
    """
    if not isinstance(error, LeakcapError):
        return {
            "type": f"{PREFIX}internal",
            "title": "The curator failed",
            "status": 500,
            "detail": "What failed is in the curator's log, under this request's number.",
            "committed": bool(getattr(error, "committed", False)),
        }
    name = type(error).__name__
    told: Problem = {
        "type": f"{PREFIX}{_kebab(name)}",
        "title": _TITLES.get(name, "Refused"),
        "status": _STATUS.get(name, 422),
        "detail": str(error),
        "committed": error.committed,
    }
    if isinstance(error, BudgetExceeded):
        told["passed"] = [_finite(asdict(one)) for one in error.passed]
    if isinstance(error, InvalidQuery) and error.start is not None:
        told["start"] = error.start
    return told


def error_of(problem: Mapping[str, Any]) -> LeakcapError:
    """The exception that a problem was made of, for whoever asks from Python.

    >>> type(error_of({"type": "urn:leakcap:problem:invalid-query", "detail": "No such column."})).__name__
    'InvalidQuery'
    """
    name = _pascal(str(problem.get("type", "")).removeprefix(PREFIX))
    kind = getattr(errors, name, LeakcapError)
    if not (isinstance(kind, type) and issubclass(kind, LeakcapError)):
        kind = LeakcapError
    detail = str(problem.get("detail") or problem.get("title") or "The curator refused.")
    if kind is BudgetExceeded:
        error: LeakcapError = BudgetExceeded(detail, passed=[Passed(**one) for one in problem["passed"]])
    else:
        error = kind(detail)
    if isinstance(error, InvalidQuery) and isinstance(problem.get("start"), int):
        error.start = problem["start"]
    error.committed = bool(problem.get("committed"))
    return error


def _finite(fields: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: an amount without a bound is null."""
    return {
        name: None if isinstance(value, float) and not isfinite(value) else value
        for name, value in fields.items()
    }


def _kebab(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def _pascal(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))
