"""The explorer on a socket of this machine, in a thread, for as long as a test needs it."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import uvicorn
from starlette.testclient import TestClient

from leakcap.web import Settings, create_app
from leakcap.web.releasing.asking import FIELDS
from leakcap.web.serving.guard import Keys
from leakcap.web.serving.timeouts import PatientProtocol

__all__ = ["hospital", "promised", "running"]

HOSPITAL = Path(__file__).parents[1] / "examples" / "hospital"


def hospital(folder: Path, **more: object) -> Settings:
    """Settings for a copy of the hospital's example with an empty ledger."""
    for name in ("policy.toml", "patients.parquet"):
        shutil.copy(HOSPITAL / name, folder / name)
    ledger = f"sqlite:///{folder / 'hospital.db'}"
    return Settings(policy=folder / "policy.toml", ledger=ledger, data=folder / "patients.parquet", **more)


def promised(web: TestClient, keys: Keys, ask: Mapping[str, str]) -> dict[str, str]:
    """The form that releases a query, as its preview offers it and a browser sends it: with every field."""
    page = web.get("/release", params=dict(ask)).text
    found = re.search(r'name="promise" value="([^"]+)"', page)
    return {
        **dict.fromkeys(FIELDS, ""),
        **ask,
        "form_key": keys.form,
        "promise": "" if found is None else found[1],
    }


@contextlib.contextmanager
def running(settings: Settings) -> Iterator[str]:
    """The address of a running explorer."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            create_app(settings), log_level="error", lifespan="off", ws="none", http=PatientProtocol
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
        thread.start()
        try:
            give_up = time.monotonic() + 20
            while not server.started and time.monotonic() < give_up:
                time.sleep(0.01)
            assert server.started
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:  # a thread that outlives the tests keeps DuckDB's objects, which says so when Python ends
            server.should_exit = True
            thread.join(timeout=20)
        assert not thread.is_alive()
