"""Headless Chromium, offline, for tests of pages: `from browser import Marks, browse`."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

__all__ = ["Marks", "browse", "chromium"]


def chromium() -> str:
    """Debian's Chromium, or whatever else is on the PATH."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.fail("NO BROWSER: install Chromium (`make chromium`) to test pages.")
    return program


def browse(page: Path, profile: Path, *extra: str) -> str:
    """What Chromium prints of the page; no message on its console is allowed."""
    command = [
        chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--enable-logging=stderr", "--v=0", f"--user-data-dir={profile}", "--virtual-time-budget=15000",
        "--window-size=1200,1000", *extra, page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr, [x for x in done.stderr.splitlines() if "CONSOLE" in x]
    return done.stdout


class Marks(HTMLParser):
    """Counts the marks that Vega drew, by the plot that they are in."""

    def __init__(self) -> None:
        super().__init__()
        self.plot = ""
        self.marks: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember the plot, count the mark."""
        known = dict(attrs)
        if tag == "div" and "plot" in (known.get("class") or "").split() and known.get("id"):
            self.plot = known["id"] or ""
        if tag == "path" and known.get("aria-roledescription"):
            self.marks[self.plot] = self.marks.get(self.plot, 0) + 1
