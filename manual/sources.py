"""The lines of code that the reference points at, as pages of the manual: no server needed, no network."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

ROOT = Path(__file__).resolve().parents[1]
LIGHT_DARK = """
body{margin:1rem auto;max-width:60rem;padding:0 1rem;font:15px/1.4 ui-monospace,monospace;color-scheme:light dark}
pre{overflow-x:auto;line-height:1.45}.linenos{opacity:.5;padding-right:1em;user-select:none}
span:target,a:target + span{background:#ffe08a55}a{color:inherit}
"""


class Links:
    """Where things stand in the code; remembers the files that were asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def line(self, thing: Any) -> tuple[str, int]:
        """The file (from the root of the repository) and the line of a class or function."""
        thing = inspect.unwrap(thing)
        path = Path(inspect.getsourcefile(thing) or "").resolve().relative_to(ROOT)
        return str(path), inspect.getsourcelines(thing)[1]

    def to(self, thing: Any, *, short: bool = False) -> str:
        """A link in Markdown, from a page of reference/; `short` names only the file."""
        path, line = self.line(thing)
        self.asked.add(path)
        shown = Path(path).name if short else path.removeprefix("src/leakcap/")
        return f"[{shown}:{line}](../{self._page(path)}#L-{line})"

    def pages(self) -> dict[str, str]:
        """Every file asked for, as a page."""
        return {self._page(path): self._html(path) for path in sorted(self.asked)}

    @staticmethod
    def _page(path: str) -> str:
        return f"code/{path.removeprefix('src/').removesuffix('.py')}.html"

    @staticmethod
    def _html(path: str) -> str:
        code = (ROOT / path).read_text(encoding="utf-8")
        shape = HtmlFormatter(linenos="inline", lineanchors="L", style="friendly", wrapcode=True)
        colours = "@media (prefers-color-scheme:light){" + shape.get_style_defs(".highlight") + "}"
        dark = HtmlFormatter(style="native").get_style_defs(".highlight")
        style = LIGHT_DARK + colours + "@media (prefers-color-scheme:dark){" + dark + "}"
        head = f"<meta charset=utf-8><meta name=viewport content='width=device-width'><title>{path}</title>"
        head += "<meta name=robots content=noindex>"
        body = f"<h1 style='font-size:1.1rem'>{path}</h1>{highlight(code, PythonLexer(), shape)}"
        return f"<!doctype html><html lang=en><head>{head}<style>{style}</style></head><body>{body}</body></html>"
