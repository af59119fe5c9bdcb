"""How many files one call goes through: a layer that comes back is seen."""

from __future__ import annotations

import math
import re
import runpy
from pathlib import Path

import leakcap as lc

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "crossed.py"
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def test_no_layer_comes_back() -> None:
    """The targets are 30 and 8 (`python benchmarks/crossed.py`); a count is not there yet."""
    room = runpy.run_path(str(BENCHMARK))
    most = {"PrivateTable.count": 43, "capacity of a matrix": 8}
    for name, (target, call) in room["cases"]().items():
        found = room["crossed"](call)
        assert min(target, 5) <= len(found) <= most.pop(name), sorted(found)
    assert most == {}


def test_the_page_names_the_files_of_a_count() -> None:
    """Each once, with what it decides: whoever wants to know what a count does opens these."""
    room = runpy.run_path(str(BENCHMARK))
    found = room["crossed"](room["cases"]()["PrivateTable.count"][1])
    part = PAGE.read_text().partition("## The files of one count")[2].partition("\n## ")[0]
    named = re.findall(r"^\|[^|]*\| `([\w/]+\.py)` \| \w", part, flags=re.M)
    assert len(named) == len(set(named)) == len(re.findall(r"^\|", part, flags=re.M)) - 2
    assert set(named) == found


def test_a_file_that_is_crossed_is_counted() -> None:
    crossed = runpy.run_path(str(BENCHMARK))["crossed"]
    channel = lc.Channel([[0.75, 0.25], [0.25, 0.75]])
    one = crossed(lambda: lc.capacity(channel, lc.Renyi(1.0), lc.AllPriors()))
    both = crossed(
        lambda: (lc.capacity(channel, lc.Renyi(1.0), lc.AllPriors()), lc.convert(lc.PureDP(math.e), lc.MIDP))
    )
    assert one < both
