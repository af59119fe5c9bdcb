"""What `docs/architecture.md` and CONTRIBUTING name is there: functions that they call, files and folders."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = ("", "src/", "src/leakcap/", "docs/")
SOURCE = "\n".join(path.read_text() for path in (ROOT / "src" / "leakcap").rglob("*.py"))
DEFINED = set(re.findall(r"\b(?:def|class) (\w+)", SOURCE))


def missing(text: str) -> tuple[int, list[str]]:
    """How many names stand in backticks in a text, outside blocks of code, and which of them do not exist."""
    tested, absent = 0, []
    for words in re.findall(r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)):
        for called in re.findall(r"(\w+)\(", words):
            tested += 1
            absent += [words] if called not in DEFINED else []
        for path in re.findall(r"^[\w./]+(?:/|\.py|\.md|\.toml)$", words):
            tested += 1
            within = [ROOT / place / path for place in PLACES]
            rooms = (ROOT / "src" / "leakcap").rglob(path.rstrip("/"))
            absent += [words] if not any(place.exists() for place in within) and not any(rooms) else []
    return tested, absent


@pytest.mark.parametrize(("page", "least"), [("docs/architecture.md", 50), ("CONTRIBUTING.md", 8)])
def test_what_the_page_names_is_there(page: str, least: int) -> None:
    tested, absent = missing((ROOT / page).read_text())
    assert tested >= least, tested
    assert not absent


def test_a_name_that_went_is_found() -> None:
    gone = "`completed(query)`: defaults; `release/planning/nowhere.py`; `nowhere/`; `check(query)`"
    assert missing(gone) == (4, ["completed(query)", "release/planning/nowhere.py", "nowhere/"])
