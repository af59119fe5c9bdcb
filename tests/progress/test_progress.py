"""A bar is drawn on a terminal, after a second, once; it is wiped however the work ends."""

from __future__ import annotations

import io
import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest

from ending_with_us import with_us
from leakcap.progress import Progress, progress, tracked


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def terminal() -> Terminal:
    return Terminal()


def bar(terminal: io.StringIO, clock: Clock, title: str = "work") -> Progress:
    return progress(title, stream=terminal, clock=clock)


def test_nothing_within_a_second(terminal: Terminal, clock: Clock) -> None:
    with bar(terminal, clock) as tick:
        clock.now += 0.99
        tick(0.9)
    assert terminal.getvalue() == ""


def test_one_line_after_a_second_and_none_after_the_end(terminal: Terminal, clock: Clock) -> None:
    with bar(terminal, clock) as tick:
        clock.now += 2.0
        tick(0.5, "half way")
    assert terminal.getvalue() == f"\r\x1b[Kwork  [{'#' * 12}{'.' * 12}]  50%  half way  2 s\r\x1b[K"


def test_an_unknown_length_shows_the_note_alone(terminal: Terminal, clock: Clock) -> None:
    with bar(terminal, clock) as tick:
        clock.now += 3.0
        tick(None, "gap 1e-4")
    assert "work  gap 1e-4  3 s" in terminal.getvalue()
    assert "[#" not in terminal.getvalue()


def test_ten_drawings_a_second_at_most(terminal: Terminal, clock: Clock) -> None:
    with bar(terminal, clock) as tick:
        for step in range(10_000):
            clock.now += 1e-3
            tick(step / 10_000)
    assert 85 <= terminal.getvalue().count("work") <= 92


def test_a_pipe_gets_nothing(clock: Clock) -> None:
    pipe = io.StringIO()
    with bar(pipe, clock) as tick:
        clock.now += 50.0
        tick(0.5)
    assert pipe.getvalue() == ""


def test_the_outermost_draws(terminal: Terminal, clock: Clock) -> None:
    with bar(terminal, clock, "outer") as outer:
        with bar(terminal, clock, "inner") as inner:
            clock.now += 5.0
            inner(0.5)
        assert terminal.getvalue() == ""
        outer(0.5)
    assert "outer" in terminal.getvalue()
    with bar(terminal, clock, "next") as after:
        clock.now += 5.0
        after(0.1)
    assert "next" in terminal.getvalue()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_broken_off_bar_is_wiped_and_gives_the_line_back(
    terminal: Terminal, clock: Clock, error: type[BaseException]
) -> None:
    def broken_off() -> None:
        with bar(terminal, clock) as tick:
            clock.now += 2.0
            tick(0.5)
            raise error

    with pytest.raises(error):
        broken_off()
    assert terminal.getvalue().endswith("\r\x1b[K")
    test_one_line_after_a_second_and_none_after_the_end(Terminal(), clock)


def test_tracked_passes_every_item_and_lets_a_loop_stop_early() -> None:
    assert list(tracked("abc", "letters")) == ["a", "b", "c"]
    assert list(tracked(iter([]), "nothing")) == []
    for item in tracked(range(9), "numbers"):
        if item == 3:
            break
    assert item == 3


def test_it_costs_next_to_nothing() -> None:
    start = time.perf_counter()
    with progress("fast") as tick:
        for _ in range(100_000):
            tick(0.5)
    assert time.perf_counter() - start < 0.5


LONG = """
import numpy as np
from leakcap import Channel, leakage
leakage.additive_bayes_capacity(Channel(np.random.default_rng(0).dirichlet(np.ones(2000), 2000)))
"""


def _read_until(terminal: int, ending: bytes) -> bytes:
    shown = b""
    while ending not in shown:
        ready, _, _ = select.select([terminal], [], [], 30.0)
        try:
            piece = os.read(terminal, 65536) if ready else b""
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        shown += piece
    return shown


def test_a_long_search_shows_a_bar_and_can_be_interrupted() -> None:
    master, slave = pty.openpty()
    child = subprocess.Popen(with_us([sys.executable, "-c", LONG]), stderr=slave)
    os.close(slave)
    bar_ = _read_until(master, b" s")
    child.send_signal(signal.SIGINT)
    after = _read_until(master, b"KeyboardInterrupt")
    assert child.wait(timeout=10.0) != 0
    os.close(master)
    assert b"additive Bayes capacity, greedy sets  [" in bar_
    assert b"KeyboardInterrupt" in after
    # The bar is wiped before the first line of the traceback.
    assert after.split(b"Traceback")[0].endswith(b"\r\x1b[K")
