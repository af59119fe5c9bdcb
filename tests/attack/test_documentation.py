"""The page on attacks names only what there is."""

from __future__ import annotations

import re
from pathlib import Path

import leakcap.attack

PAGE = (Path(__file__).parents[2] / "docs" / "attacks.md").read_text(encoding="utf-8")


def test_every_public_function_is_on_the_page() -> None:
    functions = [
        name
        for name in leakcap.attack.__all__
        if name[0].islower() and name not in {"walsh", "parity", "finite_length_rate", "use_of_capacity"}
    ]
    assert functions
    assert [name for name in functions if f"`{name}" not in PAGE] == []


def test_the_page_calls_nothing_that_is_not_there() -> None:
    called = set(re.findall(r"`([a-z_]+)\(", PAGE)) - {"to_dict"}
    assert called
    assert [name for name in called if not hasattr(leakcap.attack, name)] == []
