"""What a log says of an error that nobody foresaw: its kind and where it was raised, never its text.

The text could hold a value.
"""

from __future__ import annotations

import os
import traceback
from types import TracebackType

__all__ = ["frames_of", "where_raised"]

_MOST = 6


def frames_of(trace: TracebackType | None) -> list[str]:
    """The last places of a trace, each a file and a line."""
    frames = traceback.extract_tb(trace)[-_MOST:]
    return [f"{os.path.basename(one.filename)}:{one.lineno}" for one in frames]


def where_raised(error: BaseException) -> str:
    """The kind of an error, and the places.

    >>> where_raised(ValueError("a diagnosis"))
    'ValueError at '
    """
    return f"{type(error).__name__} at {' '.join(frames_of(error.__traceback__))}"
