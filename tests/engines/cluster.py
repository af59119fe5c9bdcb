"""Standalone Spark and Spark Connect out of the pip package, and a client that asks them.

`python -m engines.cluster <url> <parquet>` prints the exact integers of some plans. It is a process of its
own, because a process has one kind of Spark session.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from alone import alone
from quick_java import QUICK_JAVA

STARTING = 240.0
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def environment() -> dict[str, str]:
    import pyspark

    java = shutil.which("java")
    assert java is not None, "Java 17 is needed: scripts/ensure-java"
    return {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "JAVA_HOME": str(Path(java).resolve().parents[1]),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }


@contextmanager
def started(folder: Path, *words: str, until: str, **more: str) -> Iterator[None]:
    """A program of Spark's, from when its log says `until` to the end; `more` are variables of its own."""
    settings, log = environment() | more, folder / f"{until}.log"
    program = [str(Path(settings["SPARK_HOME"]) / "bin" / words[0]), *words[1:]]
    with log.open("wb") as file:
        process = subprocess.Popen(
            program, env=settings, cwd=folder, stdout=file, stderr=file, start_new_session=True
        )
    try:
        end = time.monotonic() + STARTING
        while until not in log.read_text(errors="replace"):
            assert process.poll() is None, log.read_text(errors="replace")[-2000:]
            assert time.monotonic() < end, f"no `{until}` within {STARTING:g} s"
            time.sleep(0.2)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def java_options(folder: Path) -> str:
    """Quick to start, and told to say the lines that show that it is ready."""
    path = folder / "log4j2.properties"
    text = "rootLogger.level = info\nrootLogger.appenderRef.out.ref = out\nappender.out.type = Console\n"
    path.write_text(text + "appender.out.name = out\nappender.out.layout.type = PatternLayout\n")
    return f"{QUICK_JAVA} -Dlog4j2.configurationFile={path}"


@contextmanager
def standalone(folder: Path) -> Iterator[str]:
    """The URL of a cluster with one worker of two cores."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    told = {"SPARK_DAEMON_JAVA_OPTS": java_options(folder)}
    where = ("--host", "127.0.0.1", "--webui-port", "0")
    with ExitStack() as stack:
        master = ("spark-class", MASTER, *where, "--port", str(port))
        stack.enter_context(started(folder, *master, until="New state: ALIVE", **told))
        worker = ("spark-class", WORKER, *where, "-c", "2", "-m", "1g", "-d", str(folder / "work"), url)
        stack.enter_context(started(folder, *worker, until="Successfully registered with master", **told))
        yield url


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """The URL of a Spark Connect server over a local Spark."""
    port = free_port()
    conf = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    options = [word for item in conf.items() for word in ("--conf", "=".join(item))]
    java = ("--driver-java-options", java_options(folder))
    words = ("spark-submit", "--master", "local[2]", *options, *java, "--class", CONNECT, "spark-internal")
    with started(folder, *words, until="Spark Connect server started at"):
        yield f"sc://127.0.0.1:{port}"


def asked(url: str, path: Path) -> list[list[list[int]]]:
    """What a client of its own gets from the engine at this URL."""
    told = alone("engines.cluster", url, str(path), warnings="default", settings=environment(), seconds=500)
    found: list[list[list[int]]] = json.loads(told)
    return found


def client(url: str, path: str) -> None:
    from engines.adversarial import POLICIES, QUERIES
    from leakcap.release import attach
    from release.world import exact, planned

    engine = attach(path) if url == "duckdb" else attach(url, table=path)
    print(
        json.dumps([exact(planned(policy, **query), engine) for policy in POLICIES[:1] for query in QUERIES])
    )


if __name__ == "__main__":
    client(*sys.argv[1:])
