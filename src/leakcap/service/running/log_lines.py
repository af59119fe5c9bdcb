"""The log of a curator's processes: one JSON object a line, for whatever collects logs.

An exception is told by its kind and where it was raised, never by its text, which could hold a value.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from leakcap.service.faults import frames_of

__all__ = ["JsonLines", "log_json_lines"]


class JsonLines(logging.Formatter):
    """`time`, `level` and `log`, which is an object where the message is one, as those on requests are.

    >>> record = logging.makeLogRecord({"msg": '{"status": 200}', "levelname": "INFO", "created": 0.0})
    >>> JsonLines().format(record)
    '{"time": "1970-01-01T00:00:00+00:00", "level": "INFO", "log": {"status": 200}}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat()
        told = {"time": time, "level": record.levelname, "log": _message(record.getMessage())}
        if record.exc_info and record.exc_info[0] is not None:
            kind, _, trace = record.exc_info
            told["error"] = kind.__name__
            told["at"] = frames_of(trace)
        return json.dumps(told)


def log_json_lines() -> None:
    """Have all of the process's logs go to standard error that way."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


def _message(text: str) -> object:
    if not text.startswith("{"):
        return text
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, dict) else text
