"""One process of a curator, as the supervisor starts it: `python -m …running.process ROLE`."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from leakcap.service.configuration import Configuration, load_configuration
from leakcap.service.running.listening import AT_A_TIME, SharedListener
from leakcap.service.running.log_lines import log_json_lines
from leakcap.service.tracing import NOBODY, PublicWords, Tracer

__all__ = ["main"]


def main(arguments: Sequence[str]) -> None:
    """The role, the configuration's file, the folder of the sockets, and the numbers of open sockets."""
    role, file, folder, *numbers = arguments
    log_json_lines()
    _end_with_parent()
    configuration = load_configuration(file)
    sockets = [SharedListener(fileno=int(number)) for number in numbers]
    if role == "web":
        _web(configuration, Path(folder), sockets[0])
    elif role == "jobs":
        _jobs(configuration, Path(folder))
    else:
        _engine(
            configuration,
            sockets[0],
            configuration.limits.seconds if role == "engine" else _longest(configuration),
        )


def _tracer(configuration: Configuration, words: PublicWords | None = None) -> Tracer:
    """What opens this process's spans; nobody where the owner asks for none."""
    if configuration.telemetry is None:
        return NOBODY
    from leakcap.service.engine.operations import OPERATIONS
    from leakcap.service.telemetry import tracer_of

    own = PublicWords(datasets=frozenset(configuration.data), operations=frozenset(OPERATIONS))
    return tracer_of(configuration.telemetry.endpoint, words or own)


def _end_with_parent() -> None:
    """Whatever happens to the supervisor, nothing of it is left behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
        if os.getppid() == 1:
            sys.exit(0)


def _engine(configuration: Configuration, listener: socket.socket, seconds: float) -> None:
    from leakcap.service.engine.process import answer_calls, confine

    confine(configuration.limits.memory_mib)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    answer_calls(listener, configuration, seconds=seconds, tracer=_tracer(configuration))


def _longest(configuration: Configuration) -> float:
    """How long a job may take, of whichever data set."""
    return max(configuration.times_of_jobs(dataset).given_up for dataset in configuration.data)


def _jobs(configuration: Configuration, folder: Path) -> None:
    from leakcap.service.engine.calling import EngineClient
    from leakcap.service.running.jobs import work
    from leakcap.service.store import Store

    engine = EngineClient(str(folder / "work.sock"), seconds=_longest(configuration))
    with Store.open(configuration.store) as store:
        work(store, engine, configuration, tracer=_tracer(configuration))


def _web(configuration: Configuration, folder: Path, listener: socket.socket) -> None:
    import uvicorn

    from leakcap.service.api.app import create_curator
    from leakcap.service.api.curator import Curator
    from leakcap.service.engine.calling import EngineClient
    from leakcap.service.running.providers import providers_of
    from leakcap.service.store import Store
    from leakcap.web.serving.timeouts import PatientProtocol

    engine = EngineClient(str(folder / "engine.sock"), seconds=configuration.limits.seconds)
    with Store.open(configuration.store) as store:
        # The rule that this process has read: the file may have changed since the supervisor read it.
        store.confirmations.note_rule(configuration.second_administrator, by="web worker")
        curator = Curator(configuration, store, engine, providers_of(configuration))
        tls = configuration.tls
        server = uvicorn.Server(
            uvicorn.Config(
                create_curator(curator, lambda words: _tracer(configuration, words)),
                log_level="error",
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=configuration.behind_proxy,
                forwarded_allow_ips="127.0.0.1" if configuration.behind_proxy else None,
                lifespan="off",
                http=PatientProtocol,
                ws="none",
                limit_concurrency=256,
                backlog=AT_A_TIME,
                timeout_keep_alive=15,
                timeout_graceful_shutdown=10,
                h11_max_incomplete_event_size=32 * 1024,
                ssl_certfile=None if tls is None else tls.certificate,
                ssl_keyfile=None if tls is None else tls.key,
            )
        )
        gc.freeze()
        asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main(sys.argv[1:])
