"""Run a notebook's cells as Jupyter does: in one namespace, each showing its last expression or its error."""

from __future__ import annotations

import ast
import json
import linecache
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

__all__ = ["Cell", "page_of", "run_notebook"]


@dataclass(frozen=True)
class Cell:
    """A cell with what it showed: a value, HTML, or the lines of an error."""

    source: str
    code: bool
    value: Any = None
    html: str = ""
    error: tuple[str, ...] = ()


def run_notebook(path: Path) -> list[Cell]:
    """Every cell in order. Only a cell with the tag `raises-exception` may fail, and it has to."""
    content = json.loads(path.read_text(encoding="utf-8"))
    assert (content["nbformat"], content["nbformat_minor"]) == (4, 5)
    space: dict[str, Any] = {}
    found = []
    for number, cell in enumerate(content["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            found.append(Cell(source, code=False))
            continue
        assert (cell["outputs"], cell["execution_count"]) == ([], None), "outputs are not kept in the example"
        found.append(_ran(source, f"<cell {number}>", space))
        assert bool(found[-1].error) == ("raises-exception" in cell["metadata"].get("tags", ())), found[-1]
    space.clear()
    return found


def _ran(source: str, name: str, space: dict[str, Any]) -> Cell:
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    body = ast.parse(source, name).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    try:
        exec(compile(ast.Module(body, []), name, "exec"), space)
        value = None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), space)
    except Exception as error:
        told = tuple(error._render_traceback_())  # type: ignore[attr-defined]
        error.__traceback__ = None  # its frames hold the table, and with it the database, for ever
        return Cell(source, True, error=told)
    shown = getattr(value, "_repr_html_", None)
    return Cell(source, True, value, shown() if shown is not None else "")


def page_of(cells: list[Cell]) -> str:
    """The cells and what they showed on one page, to be looked at."""
    parts = []
    for cell in cells:
        parts.append(f"<pre style='background:#f5f5f5;padding:8px'>{escape(cell.source)}</pre>")
        parts.append(
            cell.html or (f"<pre>{escape(repr(cell.value))}</pre>" if cell.value is not None else "")
        )
        parts += [
            f"<pre style='background:#fdd;white-space:pre-wrap'>{escape(line)}</pre>" for line in cell.error
        ]
    return "<!doctype html><meta charset=utf-8><body style='font:15px sans-serif'>" + "\n".join(parts)
