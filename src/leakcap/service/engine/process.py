"""A process of the engine: it alone opens data and ledgers, and answers one call after another, or those that
wait for the same data set together.

Several may take calls from the same socket. Each call has seconds and memory; a call that takes more ends the
process, and the supervisor starts another: what was committed by then stays spent, and is answered when it is
asked for again under the same request.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import resource
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leakcap.errors import InvalidParameter, LeakcapError
from leakcap.release import PrivateTable, Query
from leakcap.service.configuration import Configuration
from leakcap.service.engine.call import EngineCall
from leakcap.service.engine.messages import send
from leakcap.service.engine.operations import OPERATIONS
from leakcap.service.engine.refused import refused
from leakcap.service.engine.tables import OpenTables
from leakcap.service.engine.together import answer_together
from leakcap.service.engine.waiting import WaitingCalls
from leakcap.service.faults import where_raised
from leakcap.service.job_times import JobClock, LastTimePassed
from leakcap.service.ticks import FASTER, LadderClock, Pace, on_the_clock, rung
from leakcap.service.tracing import NOBODY, OpenSpan, Tracer
from leakcap.wire import as_problem

__all__ = ["answer", "answer_calls", "confine", "traced_together"]

_log = logging.getLogger(__name__)
_COMPUTED = ("release", "fit", "tables")


def confine(memory_mib: int) -> None:
    """What this process may take, before it opens anything: memory; no core dump, which would hold rows."""
    most = memory_mib * 2**20
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def answer_calls(
    listener: socket.socket, configuration: Configuration, *, seconds: float, tracer: Tracer = NOBODY
) -> None:
    """Answer calls on a socket until the process is ended."""
    tables = OpenTables(configuration.data)
    rehearsed = False
    for dataset in configuration.data:
        with contextlib.suppress(LeakcapError):
            table = tables.of(dataset, "")
            if not rehearsed:
                _rehearse(table)
                rehearsed = True
    signal.signal(signal.SIGALRM, _out_of_time)
    waiting = WaitingCalls(listener, configuration.tick / FASTER)
    # What is there stays until the end: it is not looked through for garbage time and again.
    gc.freeze()
    while True:
        with contextlib.ExitStack() as connected:
            calls = [connected.enter_context(one) for one in waiting.next()]
            messages, begun = [one.message for one in calls], time.monotonic()
            # The one that hangs is this process: to end it is the only way out of a library's C code.
            _end_in(seconds)
            with _paced(messages[0], configuration.tick) as pace:
                try:
                    told = traced_together(messages, configuration, tables, tracer, pace, watch=_end_in)
                except LastTimePassed:
                    _out_of_time()
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
            if (dataset := calls[0].dataset) and _may_share(tables, dataset):
                waiting.took(dataset, len(calls), time.monotonic() - begun)
            for one, answer_of_one in zip(calls, told, strict=True):
                with contextlib.suppress(OSError, ValueError):
                    _send(one.connection, answer_of_one)


def _rehearse(table: PrivateTable) -> None:
    """Answer a question about a table that is made up, into a ledger that is thrown away: nobody waits for
    what the first answer of a process loads. Of a question that nobody asked the log says nothing."""
    logging.disable(logging.CRITICAL)
    try:
        table.dry_run(Query(name="n", statistic="count", epsilon=0.001))
    finally:
        logging.disable(logging.NOTSET)


def _may_share(tables: OpenTables, dataset: str) -> bool:
    """Whether questions about a data set can share transactions: not where rows are read before anything is
    spent, for the ledger keeps when that was."""
    try:
        return tables.of(dataset, "").policy.neighbours != "replace-one"
    except LeakcapError:
        return False


def _paced(message: Any, tick: float) -> contextlib.AbstractContextManager[Pace]:
    """Until a rung of a faster clock nobody else is answered either, where data were read: whoever waits
    in the queue behind a question, with one that is free, would time it beside the clock. A job has a clock
    of its own."""
    reads = isinstance(message, Mapping) and message.get("operation") in _COMPUTED and "begun" not in message
    return on_the_clock(tick / FASTER) if reads else contextlib.nullcontext(Pace())


def _send(connection: socket.socket, told: Mapping[str, Any]) -> None:
    """Say it; where it is too long or no JSON, say so, and go on."""
    try:
        send(connection, told)
    except OSError:
        raise
    except (LeakcapError, ValueError, RecursionError) as error:
        _log.error("an answer could not be sent: %s", where_raised(error))
        send(connection, {"problem": as_problem(error)})


def traced_together(
    messages: Sequence[Any],
    configuration: Configuration,
    tables: OpenTables,
    tracer: Tracer = NOBODY,
    pace: Pace | None = None,
    *,
    watch: Callable[[float], None] = lambda seconds: None,
) -> list[dict[str, Any]]:
    """What is answered to each message, within spans below the callers'. Several messages are questions about
    one data set, under requests' numbers of their own; `pace` is told whether they rested on a rung.

    The span of what was computed from data ends on a rung of the faster clock: where spans go nobody sees
    more finely than those who wait how long it took. Raises `LastTimePassed` as `answer` does.
    """
    begun = time.monotonic()
    with contextlib.ExitStack() as opened:
        spans = [opened.enter_context(_span(tracer, message)) for message in messages]
        told = _answers(messages, configuration, tables, watch, pace or Pace())
        for message, span, one in zip(messages, spans, told, strict=True):
            internal = str(one.get("problem", {}).get("type", "")).endswith(":internal")
            span.say(outcome="answered" if "result" in one else "failed" if internal else "refused")
            if isinstance(message, Mapping) and message.get("operation") in _COMPUTED:
                span.end_after(rung(time.monotonic() - begun, configuration.tick / FASTER))
    return told


def _span(tracer: Tracer, message: Any) -> contextlib.AbstractContextManager[OpenSpan]:
    said = message if isinstance(message, Mapping) else {}
    operation, parent = str(said.get("operation")), str(said.get("trace", ""))
    return tracer.span(operation, parent=parent, operation=operation, dataset=str(said.get("dataset")))


def _answers(
    messages: Sequence[Any],
    configuration: Configuration,
    tables: OpenTables,
    watch: Callable[[float], None],
    pace: Pace,
) -> list[dict[str, Any]]:
    begun, several, later = time.monotonic(), len(messages) > 1, list[int]()

    def alone(place: int) -> dict[str, Any]:
        later.append(place)
        if several:
            # Those before it have read data: when it spends stays in the ledger, and is on a rung, too.
            elapsed = time.monotonic() - begun
            time.sleep(rung(elapsed, configuration.tick / FASTER) - elapsed)
        return answer(messages[place], configuration, tables, pace, watch=watch)

    try:
        calls = [_call(one, configuration, tables, watch) for one in messages] if several else []
    except LeakcapError:
        calls = []
    if not calls:
        return [alone(place) for place in range(len(messages))]
    told, clock = answer_together(calls, alone), calls[0].clock
    if not later:
        # After they were held back, together, none of them reads data any more.
        pace.rested = isinstance(clock, LadderClock) and clock.rested
    return told


def answer(
    message: Any,
    configuration: Configuration,
    tables: OpenTables,
    pace: Pace | None = None,
    *,
    watch: Callable[[float], None] = lambda seconds: None,
) -> dict[str, Any]:
    """What is answered to one message: ``{"result": …}`` or ``{"problem": …}``, of a job at one of its times.
    Raises `LastTimePassed` where the last of them has passed.

    `pace` is told whether it rested on a rung, `watch` after how many seconds to end the process.
    """
    try:
        call = _call(message, configuration, tables, watch)
    except LeakcapError as error:
        return {"problem": as_problem(error)}
    if not isinstance(call.clock, JobClock):
        told = _done(call)
        if pace is not None:
            # What a release computes is all computed before it is held back; models and tables read again.
            pace.rested = call.operation == "release" and call.clock is not None and call.clock.rested
        return told
    call.clock.start()
    told = _done(call)
    if "problem" in told or not call.clock.has_waited:
        call.clock.before_end()
    return told


def _done(call: EngineCall) -> dict[str, Any]:
    try:
        return {"result": OPERATIONS[call.operation](call)}
    except LastTimePassed:
        raise
    except Exception as error:
        return refused(call.dataset, error)


def _call(
    message: Any, configuration: Configuration, tables: OpenTables, watch: Callable[[float], None]
) -> EngineCall:
    if not isinstance(message, Mapping):
        raise InvalidParameter("A call must be an object.")
    operation, dataset = message.get("operation"), message.get("dataset")
    analyst, body, request = message.get("analyst"), message.get("body", {}), message.get("request", "")
    known = isinstance(operation, str) and operation in OPERATIONS
    if not known or dataset not in configuration.data:
        raise InvalidParameter("There is no such operation or data set.")
    if not (isinstance(analyst, str) and isinstance(body, Mapping) and isinstance(request, str)):
        raise InvalidParameter("A call needs an analyst, a body and, where it has one, the request's number.")
    source = configuration.data[dataset]
    clock: JobClock | LadderClock | None = None
    if "begun" in message:
        clock = JobClock(configuration.times_of_jobs(dataset), _moment(message["begun"]), watch=watch)
    elif operation in _COMPUTED:
        # When it was spent the ledger tells for ever; that an answer was computed one process shows while
        # another is at it, of several.
        clock = LadderClock(configuration.tick / FASTER, shown=configuration.engines > 1)
    return EngineCall(str(operation), dataset, analyst, body, request, tables, source, clock)


def _moment(begun: Any) -> float:
    """When a job began. It is no later than now, so that nothing waits for longer than its times."""
    if not isinstance(begun, int | float) or not 0.0 <= begun <= time.monotonic():
        raise InvalidParameter("`begun` of a call must be a moment that has passed.")
    return float(begun)


def _end_in(seconds: float) -> None:
    """End this process after so many seconds, whatever it is doing."""
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))


def _out_of_time(*_: object) -> None:
    _log.error("a call took too long; this process of the engine ends")
    os._exit(75)
