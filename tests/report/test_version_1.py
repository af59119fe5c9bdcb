"""What commands printed when version 1 of each record was made: it must be read, and told, as it was then.

The files are outputs of `leakcap … --json`, kept as they were. One that no longer fits shows that a field
went or changed: then the record needs a new version, not the file a new content.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import openpyxl
import pytest
from pydantic import TypeAdapter, ValidationError

from families import import_all
from leakcap.errors import InvalidParameter
from leakcap.release.results.workbook import write_excel
from leakcap.report.records import Record
from leakcap.report.render.html import render_html
from leakcap.report.render.markdown import render_markdown
from leakcap.report.sources import page_of, record_of

FOLDER = Path(__file__).parent / "version_1"
FILES = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))}
REPORTED = {
    "release",
    "preview",
    "budget",
    "channel",
    "dalenius",
    "audit",
    "attack",
    "convert",
    "disclosure",
    "disclosure-group",
    "disclosure-set",
    "fit",
    "annex",
    "tables",
}
FORMER = {"leakcap/deployments/1", "leakcap/registry/1"}
"""Names that a record no longer bears: files of it are about, so no other record may take its name."""


def kinds() -> dict[str, type[Record]]:
    """The records by the name and version that they print; the schema of a schema has none."""
    found: dict[str, type[Record]] = {}
    import_all("leakcap.report.records")
    for kind in Record.__subclasses__():
        if "schema_" in kind.model_fields:
            (name,) = (TypeAdapter(kind.model_fields["schema_"].annotation).json_schema()["const"],)
            found[name] = kind
    return found


KINDS = kinds()


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where the fields of a record are."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield (*path, key)
            yield from places(part, (*path, key))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*path, 0))


def test_each_record_of_version_1_was_kept() -> None:
    assert {record["schema"] for record in FILES.values()} == set(KINDS)
    assert all(name.endswith("/1") for name in KINDS)
    assert not set(KINDS) & FORMER


@pytest.mark.parametrize("name", FILES)
def test_it_is_still_what_the_schema_says(name: str) -> None:
    record = FILES[name]
    kind = KINDS[record["schema"]]
    shape = kind.model_json_schema(by_alias=True, mode="validation")
    jsonschema.Draft202012Validator(shape).validate(record)
    read = kind.model_validate_json(json.dumps(record))
    # Nothing is lost on the way, and what came later has a value that says so by itself.
    again = json.loads(read.model_dump_json(by_alias=True, exclude_unset=True))
    assert again == record


@pytest.mark.parametrize("name", FILES)
def test_a_record_that_lost_a_required_field_is_none(name: str) -> None:
    """The test above can fail: records are told apart from what is nearly one."""
    kind = KINDS[FILES[name]["schema"]]
    for field in kind.model_json_schema(by_alias=True).get("required", []):
        broken = {key: value for key, value in FILES[name].items() if key != field}
        with pytest.raises(ValidationError):
            kind.model_validate_json(json.dumps(broken))
    with pytest.raises(ValidationError):
        kind.model_validate_json(json.dumps({**FILES[name], "surplus": 1}))


@pytest.mark.parametrize("audience", ["board", "reviewer"])
@pytest.mark.parametrize("name", [n for n in FILES if FILES[n]["schema"].split("/")[1] in REPORTED])
def test_it_is_still_reported(name: str, audience: Any) -> None:
    page = page_of(record_of(FILES[name]), audience)
    assert page.title in html.unescape(render_html(page))
    assert render_markdown(page).startswith("# ")


ODD: list[Any] = [
    None, 0, -1, 1e308, -1e308, 1e-320, float("inf"), float("nan"), "", "<script>alert(1)</script>", [], {},
    True, 10**30, "\ud800", [[]], {"a": 1}, "x" * 5000, "a\nb\x1b[2J",
]  # fmt: skip


@pytest.mark.parametrize("name", [n for n in FILES if FILES[n]["schema"].split("/")[1] in REPORTED])
def test_an_edited_record_is_refused_or_drawn_and_never_runs(name: str) -> None:
    """Every field in turn is replaced by something odd, or taken away."""
    drawn, whole = 0, json.dumps(FILES[name])
    for turn, place in enumerate(places(FILES[name])):
        for odd in (ODD[turn % len(ODD)], ODD[(7 * turn + 3) % len(ODD)], ODD):
            record = json.loads(whole)  # a third of the time of a deep copy
            part: Any = record
            for step in place[:-1]:
                part = part[step]
            if odd is ODD:
                del part[place[-1]]
            else:
                part[place[-1]] = odd
            try:
                page = page_of(record_of(record), "board")
            except InvalidParameter:
                continue
            told = render_html(page), render_markdown(page)
            assert "<script>alert" not in told[0] + told[1]
            assert "\x1b" not in told[1]
            drawn += 1
    assert drawn


def test_a_record_that_says_nothing_of_its_figure_is_not_said_to_hold_the_table_s(tmp_path: Path) -> None:
    """Before `covers` was said, people's rows were cut as they are now."""
    assert all("covers" not in one for one in FILES["release"]["releases"])
    record = record_of(FILES["release"])
    text = render_markdown(page_of(record, "reviewer"))
    assert "the rows kept give" in text
    assert "the table itself gives" not in text
    write_excel(record.releases, tmp_path / "old.xlsx")  # type: ignore[attr-defined]
    notes = [row[0] for sheet in openpyxl.load_workbook(tmp_path / "old.xlsx") for row in sheet.values]
    assert sum("is not in this record" in str(note) for note in notes) == len(FILES["release"]["releases"])
    assert not any("the table itself gives" in str(note) for note in notes)
