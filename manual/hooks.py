"""What MkDocs does beside Markdown: pages made from the code, drawings, formulas as MathML, links to lines.

Nothing is fetched, when the manual is built or when it is read.
"""

from __future__ import annotations

import json
import re
import sys
from html import unescape
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

from latex2mathml.converter import convert  # noqa: E402
from mkdocs.structure.files import File, Files  # noqa: E402

import played  # noqa: E402
import reference  # noqa: E402
import sources  # noqa: E402

OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/hospital/README.md": "examples/hospital.md",
}
"""Pages of the repository outside docs/, and where they stand in the manual."""

APART = re.compile(r"<(code|math|script|svg|pre)\b.*?</\1>|<[^>]+>", re.DOTALL)
"""What is not prose: code, formulas, pictures, tags."""

VEGA = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js")


def on_config(config: Any) -> Any:
    """A page that the table of contents does not name stands in the reference, under its own heading."""
    named = set(re.findall(r"[\w/-]+\.md", json.dumps(config.nav)))
    docs = Path(config.docs_dir)
    found = {str(path.relative_to(docs)) for path in docs.rglob("*.md")}
    shelf = next(part["Reference"] for part in config.nav if "Reference" in part)
    at = next(k for k, entry in enumerate(shelf) if "Every formula" in entry)
    shelf[at:at] = sorted(found - named)
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add what is made rather than written."""
    for path, page in OUTSIDE.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        top = "---\nhide: [navigation]\n---\n" if page == "index.md" else ""
        files.append(File.generated(config, page, content=top + inward(text, path)))
    links = sources.Links()
    for page, text in reference.pages(links).items():
        files.append(File.generated(config, f"reference/{page}", content=text))
    for page, text in links.pages().items():
        files.append(File.generated(config, page, content=text))
    for name in VEGA:
        script = (ROOT / "src/leakcap/report/vega" / name).read_text(encoding="utf-8")
        files.append(File.generated(config, f"assets/vega/{name}", content=script))
    return files


def inward(text: str, path: str) -> str:
    """Links of a page outside docs/ as they are from its place in the manual."""
    up = "../" * OUTSIDE[path].count("/")

    def moved(match: re.Match[str]) -> str:
        target = match[1]
        if target.startswith(("http", "#")):
            return match[0]
        target = OUTSIDE.get(target, target.removeprefix("docs/"))
        return f"]({up}{'theory/README.md' if target == 'theory' else target})"

    return re.sub(r"\]\(([^)\s]+)\)", moved, text)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Links from docs/ to pages of the repository outside it; files named with their title."""
    deep = page.file.src_uri.count("/")
    for path, target in OUTSIDE.items():
        markdown = markdown.replace(f"]({'../' * (deep + 1)}{path}", f"]({'../' * deep}{target}")
    return re.sub(r"^<!-- run\n.*?^-->\n", "", markdown, flags=re.MULTILINE | re.DOTALL)


def on_page_content(html: str, *, page: Any, **_: Any) -> str:
    """Formulas as MathML, drawings inline (so that they follow the reader's theme), pictures that can be played."""
    html = re.sub(r'<(span|div) class="arithmatex">(.*?)</\1>', _formula, html, flags=re.DOTALL)
    for entry in page.toc:
        _plain(entry)
    html = re.sub(r'<p>\s*<img alt="[^"]*" src="[^"]*figures/([a-z-]+)\.svg"[^>]*>\s*</p>', _drawing, html)
    html = _raised(html)
    up = "../" * page.file.src_uri.count("/")
    html, many = re.subn(r"<!-- play: ([a-z-]+) -->", _played, html)
    scripts = [f"{up}assets/vega/{name}" for name in VEGA] + [f"{up}assets/manual.js"]
    return html + "".join(f'<script src="{script}"></script>' for script in scripts) if many else html


def on_post_page(output: str, **_: Any) -> str:
    """A name for the search dialog, which the theme leaves without one."""
    return output.replace('class="md-search"', 'class="md-search" aria-label="Search"')


def _formula(match: re.Match[str]) -> str:
    tex = unescape(match[2]).strip()
    tex = re.sub(r"^\\[(\[]|\\[)\]]$", "", tex)
    if match[1] == "div":
        return str(convert(tex, display="block"))
    return f'<span class="formula">{convert(tex)}</span>' if len(tex) > 40 else str(convert(tex))


def _raised(html: str) -> str:
    """Powers and indices that are typed in prose (e^ε, D_α) are set as such."""
    done, at = [], 0
    for apart in [*APART.finditer(html), None]:
        words = html[at : apart.start() if apart else len(html)]
        words = re.sub(r"\^(?:\{([^}]*)\}|([−-]?\w+))", r"<sup>\1\2</sup>", words)
        words = re.sub(r"\b([A-Za-z])_(?:\{([^}]*)\}|([A-Za-zα-ω0-9∞]+))", r"\1<sub>\2\3</sub>", words)
        done.append(words + (apart[0] if apart else ""))
        at = apart.end() if apart else at
    return "".join(done)


def _plain(entry: Any) -> None:
    """The table of contents shows words: formulas in a heading lose their marks."""
    entry.title = re.sub(
        r"\\\((.*?)\\\)", lambda tex: re.sub(r"<[^>]+>", "", convert(unescape(tex[1]))), entry.title
    )
    for child in entry.children:
        _plain(child)


def _drawing(match: re.Match[str]) -> str:
    svg = (ROOT / "docs" / "figures" / f"{match[1]}.svg").read_text(encoding="utf-8")
    svg = re.sub(r"\.fig\{--ink.*?(?=\n\.fig text)", "", svg, flags=re.DOTALL)
    return f'<figure class="drawn">{svg}</figure>'


def _played(match: re.Match[str]) -> str:
    spec = json.dumps(played.SPECIFICATIONS[match[1]]()).replace("</", "<\\/")
    return (
        f'<figure class="played"><div class="plot"></div>'
        f'<script type="application/json">{spec}</script></figure>'
    )
