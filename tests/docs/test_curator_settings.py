"""The page on running a curator has every setting, with its default, and none that is not there."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from leakcap.service.configuration import Configuration, DataSource
from manual_pages import ROOT

NAMES = {"identity": "ALIAS", "data": "NAME", "tables": "TABLE"}


def settings(model: type[BaseModel], before: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every field that has a value, by its dotted name."""
    for name, field in model.model_fields.items():
        inner = inner_of(field.annotation)
        dotted = f"{before}{name}"
        if name in NAMES and (model is Configuration or model is DataSource):
            dotted = f"{dotted}.{NAMES[name]}"
        if inner is None:
            yield dotted, field
        else:
            yield from settings(inner, f"{dotted}.")


def inner_of(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is dict:
        found = [one for one in map(inner_of, typing.get_args(annotation)) if one is not None]
        return found[0] if found else None
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def default_of(field: FieldInfo) -> str:
    """As the page writes it; empty for none."""
    value = None if field.is_required() else field.get_default(call_default_factory=True)
    if value in (None, "") or value == {}:
        return ""
    if isinstance(value, list):
        return ", ".join(f"`{one}`" for one in value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def test_every_setting_is_on_the_page() -> None:
    text = (ROOT / "docs/how-to/run-a-curator.md").read_text(encoding="utf-8")
    section = text.partition("## Every setting")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w.]+)` \| (.*?) ?\| .+ \|$", section, re.MULTILINE)
    assert dict(rows) == {name: default_of(field) for name, field in settings(Configuration)}
    assert len(rows) == len(dict(rows)) >= 28
