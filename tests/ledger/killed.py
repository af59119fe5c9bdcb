"""A process that kills itself before one of the steps that it asks its databases for."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from sqlalchemy import Engine, event

__all__ = ["BOUNDS", "EVERY", "killed"]

BOUNDS = ("begin", "commit")
EVERY = (*BOUNDS, "before_cursor_execute")


def killed(job: Callable[[], object], after: int, *, of: tuple[str, ...]) -> bool:
    """Run in a process of its own, which kills itself before the step of this number, of those that databases
    are asked for. Whether it was killed."""
    child = os.fork()
    if child == 0:
        try:
            left = [after]

            def step(*_: object) -> None:
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

            for kind in of:
                event.listen(Engine, kind, step)
            job()
            os._exit(0)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)
