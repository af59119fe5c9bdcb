"""Work whose length nobody can foresee, in a process of its own that is ended when its time is up.

Solvers run as long as their inputs make them: a limit on the size of a matrix is none on the time that it
takes. A thread cannot be stopped; a process can. It loads what computes and no server, and is kept for the
next request, because it takes half a second to start.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from leakcap.errors import InvalidParameter, LeakcapError

__all__ = ["SECONDS", "OutOfTime", "bounded", "take_work"]

SECONDS = 5.0
"""Of one piece of work, before it is ended."""


class OutOfTime(InvalidParameter):
    """The time of a piece of work is up."""


P = ParamSpec("P")
T = TypeVar("T")

_START = 60.0
_idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()


def bounded(action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a function of a module returns, or raises. Raises `OutOfTime` when its time is up.

    >>> from leakcap.web.channels.matrices import read_prior
    >>> bounded(read_prior, "uniform", 2)
    [0.5, 0.5]
    """
    worker = _ready(_worker(), action)
    ended = threading.Event()

    def end() -> None:
        ended.set()
        worker.kill()

    timer = threading.Timer(SECONDS, end)
    timer.start()
    try:
        found, value = _asked(worker, (action, args, kwargs))
    except (EOFError, OSError, pickle.UnpicklingError):
        worker.kill()
        worker.communicate()
        if ended.is_set():
            raise OutOfTime(
                f"this takes more than {SECONDS:g} seconds, and a page waits no longer. Give less, or use "
                "the command line: `leakcap channel`, `leakcap disclosure`, `leakcap preview`."
            ) from None
        raise
    finally:
        timer.cancel()
    _idle.put(worker)
    if found:
        return cast(T, value)
    raise value


def _worker() -> subprocess.Popen[bytes]:
    """One that waits for work, or a new one."""
    with contextlib.suppress(queue.Empty):
        while (found := _idle.get_nowait()).poll() is None:
            return found
    start = "from leakcap.web.serving.bounded import take_work; take_work()"
    code = f"import sys; sys.path[:] = {sys.path!r}; {start}"
    # Ctrl-C at the terminal is for the explorer, whose end ends this one's input.
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _ready(worker: subprocess.Popen[bytes], action: Callable[..., object]) -> subprocess.Popen[bytes]:
    """The process, once it has started and loaded what the action needs: neither is on a request's time."""
    waiting = threading.Timer(_START, worker.kill)
    waiting.start()
    try:
        _asked(worker, (bool, (action,), {}))
    finally:
        waiting.cancel()
    return worker


def _asked(worker: subprocess.Popen[bytes], work: object) -> tuple[bool, Any]:
    assert worker.stdin is not None
    assert worker.stdout is not None
    pickle.dump(work, worker.stdin)
    worker.stdin.flush()
    found: tuple[bool, Any] = pickle.load(worker.stdout)
    return found


def take_work() -> None:
    """What the process does: take work, give the result, until there is nobody to ask."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    with contextlib.suppress(EOFError, OSError):
        while True:
            action, args, kwargs = pickle.load(source)
            # Whoever would end it in time may be gone.
            alarm = threading.Timer(2 * SECONDS, _leave)
            alarm.daemon = True
            alarm.start()
            try:
                told: tuple[bool, Any] = True, action(*args, **kwargs)
            except LeakcapError as error:
                told = False, error.with_traceback(None)
            except Exception as error:
                # The text of an unforeseen error may hold data: only its kind goes on.
                told = False, RuntimeError(type(error).__name__)
            alarm.cancel()
            pickle.dump(told, target)
            target.flush()


def _leave() -> None:
    os._exit(1)


@atexit.register
def _end() -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            worker = _idle.get_nowait()
            worker.kill()
            worker.communicate()
