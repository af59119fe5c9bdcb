"""The manual as a site: built from docs/ with warnings as errors, offline, complete."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

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


def test_reference_names_every_public_thing(parts: dict[str, ModuleType]) -> None:
    reference = parts["reference"]
    pages = reference.pages(parts["sources"].Links())
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


def test_reference_shows_every_method_and_its_line(parts: dict[str, ModuleType]) -> None:
    """The other route is the text of the source: what is defined there without an underscore."""
    reference = parts["reference"]
    pages = reference.pages(parts["sources"].Links())
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


def test_lines_are_right(parts: dict[str, ModuleType]) -> None:
    links = parts["sources"].Links()
    path, line = links.line(leakcap.mechanism.Laplace)
    text = (ROOT / path).read_text(encoding="utf-8").splitlines()
    assert any("class Laplace" in text[k] for k in range(line - 1, line + 3))
    assert links.to(leakcap.mechanism.Laplace).endswith(f"(../code/leakcap/mechanism/laplace.html#L-{line})")
    assert f'name="L-{line}"' in links.pages()["code/leakcap/mechanism/laplace.html"]
