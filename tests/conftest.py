"""What holds for every run: no file is left in the repository's root, and what is collected once stays.

A file that a test leaves there would be taken for one of the project's own. The default run keeps its folders
in memory, where the machine has room.
"""

from __future__ import annotations

import atexit
import gc
import linecache
import os
import shlex
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from unittest import mock

import pytest

import docstrings
import few_words
import in_time
from quick_java import QUICK_JAVA
from seeded_noise import REAL, SeededNoise

ROOT = Path(__file__).parents[1]
OF_TOOLS = {".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", "__pycache__", "build"}
BEFORE = pytest.StashKey[set[str]]()
MEMORY, ROOM = Path("/dev/shm"), 4 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Seed the noise; put the folders of the default run into memory: a ledger waits for the disk.

    SQLite still asks for what it always asks for. No test pulls the plug, so that none can tell; the slow
    tests, whose tables are large, stay on the disk.
    """
    if not os.environ.get(REAL):
        config.pluginmanager.register(SeededNoise(), "leakcap-seeded-noise")
    config.pluginmanager.register(docstrings, "leakcap-docstrings")
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(few_words, "leakcap-few-words")
    if os.environ.get(in_time.ENDS):
        config.pluginmanager.register(in_time, "leakcap-in-time")
    roomy = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM
    if roomy and "not slow" in config.option.markexpr:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Remember what is there; of several processes the one that starts the others does."""
    if not hasattr(session.config, "workerinput"):
        session.config.stash[BEFORE] = set(os.listdir(ROOT))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run for what is there now and was not."""
    before = session.config.stash.get(BEFORE, None)
    left = [] if before is None else sorted(set(os.listdir(ROOT)) - before - OF_TOOLS)
    if left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        print(f"\nSOME TEST LEFT FILES in {ROOT}: {', '.join(left)}. Give it a folder of its own.")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what stays until the end, 10,000 tests and all modules, out of Python's search for garbage.

    Each search went through all that there is, a third of a second; some pages of the manual spent half of
    their time on it. What a test leaves is looked for after 500,000 new objects, not after 700: few are in
    rings. The searches were a twenty-fifth of all time, and after 50,000 objects a sixtieth. So too with
    lines of files: each example of a docstring asked of every file that was read whether it had changed.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # what Python ends with looks for what a library still holds
        gc.set_threshold(500_000, 20, 20)
        linecache.clearcache()
        gc.enable()


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The URL of a PostgreSQL server, without a database, that runs as long as the tests of this process do.

    Every room has databases of its own there: to make and to start a server takes more than a second.
    """
    from ledger.server import running

    with running() as url:
        yield url


@pytest.fixture(scope="session", autouse=True)
def _warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Spark makes a folder for its tables where its first session starts, unless it is told where.

    Few rows are shuffled in two parts, not in 200, also by the clients of a cluster. One Spark serves
    hundreds of tests, so that it may have twice the memory it takes by itself.
    """
    conf = {
        "spark.sql.warehouse.dir": str(tmp_path_factory.getbasetemp() / "spark-warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": QUICK_JAVA,
        "spark.executor.extraJavaOptions": QUICK_JAVA,
    }
    words = [word for item in conf.items() for word in ("--conf", "=".join(item))]
    told = shlex.join([*words, "pyspark-shell"])
    with mock.patch.dict(os.environ, {"PYSPARK_SUBMIT_ARGS": told}):
        yield
