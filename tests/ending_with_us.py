"""Processes that end when the tests do, however those end: a killed run left work of hours behind.

Linux tells a process when the one that started it is gone; elsewhere it is not told.
"""

from __future__ import annotations

import os
import sys

__all__ = ["with_us"]

_ASKED = """
import ctypes, os, signal, sys
ask = getattr(ctypes.CDLL(None), "prctl", None)
if ask is not None:
    ask(1, signal.SIGKILL)  # PR_SET_PDEATHSIG; it outlives the next line
    if os.getppid() != int(sys.argv[1]):
        sys.exit("whoever started this is gone")
os.execv(sys.argv[2], sys.argv[2:])
"""


def with_us(words: list[str]) -> list[str]:
    """The command that runs these words, in the same process, and is killed when this process ends."""
    return [sys.executable, "-ISc", _ASKED, str(os.getpid()), *words]
