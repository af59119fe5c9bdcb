"""The lines of code that the reference points at, as pages of the manual: no server needed, no network."""

from __future__ import annotations

import inspect
import keyword
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STYLE = """
body{margin:1rem auto;max-width:60rem;padding:0 1rem;font:15px/1.4 ui-monospace,monospace;color-scheme:light dark}
h1{font-size:1.1rem}pre{overflow-x:auto;line-height:1.45}a{color:inherit}
.linenos{opacity:.5;padding-right:1em;user-select:none}a:target + span{background:#ffe08a55}
.comment{color:#506a70;font-style:italic}.text{color:#2f5f8f}.word{color:#00641c}.number{color:#1b6e46}
.name{color:#06287e}
@media (prefers-color-scheme:dark){.comment{color:#ababab}.text{color:#ed9d13}.word{color:#6ebf26}
.number{color:#51b2fd}.name{color:#71adff}}
"""
PIECES = re.compile(
    r"""(?P<comment>\#[^\n]*)
    |(?P<text>(?:\b[rbfRBF]{1,2})?(?:\"{3}(?:\\.|[^\\])*?\"{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<name>(?<=\bdef\ )\w+|(?<=\bclass\ )\w+|@[\w.]+)
    |(?P<number>\b\d[\w.]*(?:(?<=e)[-+]\d+)?)
    |\b(?P<word>WORDS)\b""".replace("WORDS", "|".join(keyword.kwlist)),
    re.VERBOSE | re.DOTALL,
)
"""What is coloured. A quarter of building the manual went into a lexer that tells more kinds apart."""


class Links:
    """Where things stand in the code; remembers the files that were asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def line(self, thing: Any) -> tuple[str, int]:
        """The file (from the root of the repository) and the line of a class or function."""
        return _place(thing)

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
        head = f"<meta charset=utf-8><meta name=viewport content='width=device-width'><title>{path}</title>"
        head += f"<meta name=robots content=noindex><style>{STYLE}</style>"
        body = f"<h1>{path}</h1><pre>{coloured(code)}</pre>"
        return f"<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>"


@cache
def _place(thing: Any) -> tuple[str, int]:
    thing = inspect.unwrap(thing)
    path = Path(inspect.getsourcefile(thing) or "").resolve().relative_to(ROOT)
    return str(path), inspect.findsource(thing)[1] + 1


def coloured(code: str) -> str:
    """Python as HTML, each line with its number and an anchor.

    >>> coloured("x = 1\\n").partition("</span>")[2]
    'x = <span class="number">1</span>\\n'
    """
    done, at = list[str](), 0
    for piece in PIECES.finditer(code):
        # A page marks one line: what goes over several is coloured in each.
        inside = escape(piece[0]).replace("\n", f'</span>\n<span class="{piece.lastgroup}">')
        done += [escape(code[at : piece.start()]), f'<span class="{piece.lastgroup}">{inside}</span>']
        at = piece.end()
    lines = "".join([*done, escape(code[at:])]).removesuffix("\n").split("\n")
    return "".join(
        f'<a id="L-{k}" name="L-{k}" href="#L-{k}"></a><span class="linenos">{k:4}</span>{line}\n'
        for k, line in enumerate(lines, 1)
    )
