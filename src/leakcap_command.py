"""The command `leakcap` before anything is loaded: Ctrl-C is one line from the first moment on.

It stands beside the package, since to import any part of that is to load the mathematics first, which takes
longer than a finger on the keys.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType

__all__ = ["run"]


def run() -> None:
    """Load the command line and run it."""
    # What is loaded stays: to look for garbage among it, 200 times, took a twentieth of what a preview takes.
    gc.set_threshold(200_000, 20, 20)
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:
        # An exception would land wherever the import machinery stands, which may wrap or swallow it.
        signal.signal(signal.SIGINT, _stop)
    from leakcap.cli.main import run as command

    signal.signal(signal.SIGINT, usual)
    try:
        command()
    finally:
        # And when it ends, all of it goes with the process: Python need not search it several times over.
        gc.freeze()


def _stop(number: int, frame: FrameType | None) -> None:
    sys.stderr.write("leakcap: stopped before anything was done.\n")
    sys.stderr.flush()
    os._exit(130)


if __name__ == "__main__":
    run()
