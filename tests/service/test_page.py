"""`docs/curator-identity.md` shows the table of roles that holds."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

MANUAL = Path(__file__).parents[2] / "manual" / "roles.py"


@pytest.fixture(scope="module")
def roles() -> dict[str, Any]:
    return runpy.run_path(str(MANUAL))


def test_the_page_has_the_table_as_it_is(roles: dict[str, Any]) -> None:
    text = roles["PAGE"].read_text(encoding="utf-8")
    assert text == roles["page_with_table"](text), "the roles changed: python manual/roles.py"
    assert text.count(roles["BEGIN"]) == text.count(roles["END"]) == 1


def test_a_planted_change_is_seen(roles: dict[str, Any]) -> None:
    text = roles["PAGE"].read_text(encoding="utf-8")
    planted = text.replace("| fit a model |  |", "| fit a model | yes |")
    assert planted != text
    assert planted != roles["page_with_table"](planted) == text
