"""What is answered where a call failed, and what the owner's log says of it."""

from __future__ import annotations

import logging
from typing import Any

from leakcap.errors import LeakcapError, LedgerUnavailable
from leakcap.service.faults import where_raised
from leakcap.wire import as_problem

__all__ = ["refused"]

_log = logging.getLogger(__name__)


def refused(dataset: str, error: Exception) -> dict[str, Any]:
    """The answer, as ``{"problem": …}``. A ledger that cannot be used just now is the owner's to see to; of
    what nobody foresaw the log has the kind and the place alone, never its text, which could hold a value."""
    if isinstance(error, LedgerUnavailable):
        _log.error("data set %a: %a", dataset, str(error))
    elif not isinstance(error, LeakcapError):
        _log.error("an operation failed: %s", where_raised(error))
    return {"problem": as_problem(error)}
