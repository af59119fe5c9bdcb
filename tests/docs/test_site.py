"""The manual as a site: built from docs/ with warnings as errors, offline, complete."""

from __future__ import annotations

import ast
import html
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import leakcap
from families import import_all
from leakcap.definition import Definition, edges
from leakcap.mechanism import Mechanism
from leakcap.release.statistics import statistics
from manual_pages import ROOT

MANUAL = ROOT / "manual"
SCRIPTS = re.compile(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(https?:)?//')


@pytest.fixture(scope="module")
def parts() -> Iterator[dict[str, ModuleType]]:
    """The modules that make pages, imported as MkDocs imports them."""
    sys.path.insert(0, str(MANUAL))
    try:
        yield {name: importlib.import_module(name) for name in ("drawings", "played", "reference", "sources")}
    finally:
        sys.path.remove(str(MANUAL))


def test_nothing_is_fetched(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        assert not SCRIPTS.search(page.read_text(encoding="utf-8")), page
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.search(r"url\([\"']?https?:", styles)


def test_formulas_are_mathml_and_figures_are_inline(site: Path) -> None:
    theory = (site / "theory" / "additive-noise.html").read_text(encoding="utf-8")
    assert theory.count("<math") > 100
    assert "arithmatex" not in theory
    assert r"\varepsilon" not in theory
    odds = (site / "concepts" / "odds.html").read_text(encoding="utf-8")
    assert '<figure class="drawn"><svg' in odds
    assert '<figure class="played">' in odds
    assert "prefers-color-scheme:dark){.fig" not in odds


def test_every_concept_has_a_figure() -> None:
    pages = [p for p in (ROOT / "docs" / "concepts").glob("*.md") if p.name != "README.md"]
    assert len(pages) == 10
    for page in pages:
        assert f"](../figures/{page.stem}.svg)" in page.read_text(encoding="utf-8"), page


def test_drawings_are_what_leakcap_computes(parts: dict[str, ModuleType]) -> None:
    drawn = [draw() for draw in parts["drawings"].DRAWINGS]
    assert {c.name for c in drawn} == {path.stem for path in (ROOT / "docs" / "figures").glob("*.svg")}
    for canvas in drawn:
        kept = (ROOT / "docs" / "figures" / f"{canvas.name}.svg").read_text(encoding="utf-8")
        assert kept == canvas.svg(), f"{canvas.name} changed: python manual/drawings.py"


def test_pictures_with_sliders_are_vega_lite(parts: dict[str, ModuleType]) -> None:
    import altair

    schema = json.loads(
        (Path(altair.__file__).parent / "vegalite" / "v6" / "schema" / "vega-lite-schema.json").read_text()
    )
    for name, make in parts["played"].SPECIFICATIONS.items():
        spec = make()
        assert len(json.dumps(spec)) < 100_000, name
        if "values" in spec["data"]:
            spec["data"]["values"] = spec["data"]["values"][:2]
        Draft202012Validator(schema).validate(spec)
        used = [p for p in (ROOT / "docs").rglob("*.md") if f"<!-- play: {name} -->" in p.read_text("utf-8")]
        assert used, name


@pytest.fixture(scope="module")
def links(parts: dict[str, ModuleType]) -> Any:
    return parts["sources"].Links()


@pytest.fixture(scope="module")
def pages(parts: dict[str, ModuleType], links: Any) -> dict[str, str]:
    """The reference, whose lines are asked of `links`."""
    made: dict[str, str] = parts["reference"].pages(links)
    return made


def test_reference_names_every_public_thing(parts: dict[str, ModuleType], pages: dict[str, str]) -> None:
    reference = parts["reference"]
    for name, (_, _, modules) in reference.ROOMS.items():
        for module in modules:
            found = reference.members(module)
            assert found, module
            for member in found:
                assert f"## `{member}`\n" in pages[name], (name, member)
    for edge in edges():
        assert reference._cell(edge.formula) in pages["implications.md"], edge
        assert reference._cell(edge.citation) in pages["implications.md"], edge
    for statistic in statistics():
        assert f"| `{statistic}` |" in pages["statistics.md"]
    everything = "".join(pages.values())
    for kind in leaves(Definition) + leaves(Mechanism):
        assert f"## `{kind.__name__}`\n" in everything, kind
    for member in leakcap.__all__:
        thing = getattr(leakcap, member)
        if isinstance(thing, type) or callable(thing):
            assert f"## `{member}`\n" in everything or member == "LeakcapError", member


def test_reference_shows_every_method_and_its_line(
    parts: dict[str, ModuleType], pages: dict[str, str]
) -> None:
    """The other route is the text of the source: what is defined there without an underscore."""
    reference = parts["reference"]
    seen = 0
    for name in reference.IN_FULL:
        for module in reference.ROOMS[name][2]:
            for owner, thing in reference.members(module).items():
                for method, path, line in written(thing) if isinstance(thing, type) else ():
                    _, _, rest = pages[name].partition(f"### `{owner}.{method}`\n")
                    assert rest, (name, owner, method)
                    shown, code = rest.split("Code: ", 1)
                    assert f"code/{path}.html#L-{line})" in code.split("\n")[0], (owner, method)
                    assert "```python" in shown, (owner, method)
                    assert len(shown.split("```")[2].strip()) > 5, f"{owner}.{method} says nothing"
                    seen += 1
    assert seen > 100


def written(thing: type) -> Iterator[tuple[str, str, int]]:
    """Public methods in the class's own source: name, file and line (of the first decorator)."""
    path = Path(inspect.getsourcefile(thing) or "")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (own,) = (n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == thing.__name__)
    for one in own.body:
        if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
            line = min([one.lineno, *(d.lineno for d in one.decorator_list)])
            yield one.name, path.as_posix().split("/src/")[1].removesuffix(".py"), line


def leaves(kind: type) -> list[type]:
    """Public classes of leakcap below this one that nothing extends."""
    import_all("leakcap.definition")
    import_all("leakcap.mechanism")
    found = [leaf for child in kind.__subclasses__() for leaf in leaves(child)]
    mine = kind.__module__.startswith("leakcap.") and not kind.__name__.startswith("_")
    return found or ([kind] if mine else [])


def test_lines_are_right(links: Any, pages: dict[str, str]) -> None:
    """Of all that the reference points at: the line begins it, and its page has all of the code."""
    path, line = links.line(leakcap.mechanism.Laplace)
    text = (ROOT / path).read_text(encoding="utf-8").splitlines()
    assert any("class Laplace" in text[k] for k in range(line - 1, line + 3))
    assert links.to(leakcap.mechanism.Laplace).endswith(f"(../code/leakcap/mechanism/laplace.html#L-{line})")
    shown = links.pages()
    assert f'name="L-{line}"' in shown["code/leakcap/mechanism/laplace.html"]
    assert len(shown) == len(links.asked) > 100
    for place in links.asked:
        page = shown[f"code/{place.removeprefix('src/').removesuffix('.py')}.html"]
        assert shown_code(page) == (ROOT / place).read_text(encoding="utf-8"), place
    pointed = re.findall(r"\(\.\./(code/[\w/]+\.html)#L-(\d+)\)", "".join(pages.values()))
    assert len(pointed) > 500
    assert [one for one in pointed if f'name="L-{one[1]}"' not in shown[one[0]]] == []


def shown_code(page: str) -> str:
    """What a reader sees and copies: without marks and numbers."""
    inside = page.partition("<pre>")[2].partition("</pre>")[0]
    return html.unescape(re.sub(r'<span class="linenos">[ \d]+</span>|<[^>]+>', "", inside))


def test_colours_are_those_of_kinds(parts: dict[str, ModuleType]) -> None:
    code = '@cache\ndef f(x=r"#", y=1e-5):\n    """Of\n    two."""\n    return "\\"a" if x else None  # if\n'
    found = re.findall(r'<span class="(\w+)">([^<]*)</span>', parts["sources"].coloured(code))
    assert [(kind, html.unescape(text)) for kind, text in found if kind != "linenos"] == [
        ("name", "@cache"),
        ("word", "def"),
        ("name", "f"),
        ("text", 'r"#"'),
        ("number", "1e-5"),
        ("text", '"""Of'),
        ("text", '    two."""'),
        ("word", "return"),
        ("text", '"\\"a"'),
        ("word", "if"),
        ("word", "else"),
        ("word", "None"),
        ("comment", "# if"),
    ]
