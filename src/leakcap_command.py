"""The command `leakcap` before anything is loaded: Ctrl-C is one line from the first moment on.

It stands beside the package, since to import any part of that is to load the mathematics first, which takes
longer than a finger on the keys.
"""

from __future__ import annotations

import sys

__all__ = ["run"]


def run() -> None:
    """Load the command line and run it."""
    try:
        from leakcap.cli.main import run as command
    except KeyboardInterrupt:
        sys.stderr.write("leakcap: stopped before anything was done.\n")
        sys.exit(130)
    command()


if __name__ == "__main__":
    run()
