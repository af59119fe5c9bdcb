"""The reference: every public name with its formula, its source and its line of code, read off the classes."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from functools import cached_property
from typing import Any

from leakcap.definition import edges
from leakcap.release.statistics import statistics
from sources import Links

ROOMS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "guarantees.md": ("Guarantees", "A guarantee is a cap on one capacity; its last field is the cap.",
                      ("leakcap.definition", "leakcap.definition.meaning")),
    "nouns.md": ("Channels, rulers, adversaries", "The three nouns of `capacity(channel, divergence, adversary)`.",
                 ("leakcap.channel", "leakcap.bound", "leakcap.divergence", "leakcap.adversary")),
    "capacities.md": ("Capacities", "The verb, its solvers, and the closed forms of mechanisms.",
                      ("leakcap.capacities", "leakcap.capacities.noise.laplace", "leakcap.capacities.noise.gaussian",
                       "leakcap.capacities.solvers.shannon", "leakcap.capacities.solvers.sibson")),
    "leakages.md": ("Leakages and gains", "What a channel leaks under a belief, towards a goal; orders between channels.",
                    ("leakcap.leakage", "leakcap.gain", "leakcap.refinement", "leakcap.program",
                     "leakcap.utility")),
    "mechanisms.md": ("Mechanisms", "A mechanism is a channel that can be sampled.", ("leakcap.mechanism",)),
    "accounting.md": ("Composition", "What many answers come to.", ("leakcap.accounting",)),
    "release.md": ("Releases", "A table behind a policy and a ledger: what is asked of it, and what comes back.",
                   ("leakcap.release", "leakcap.tables", "leakcap.running", "leakcap.synthesis", "leakcap.policy.document", "leakcap.policy.declared", "leakcap.policy.caps",
                    "leakcap.release.results.noisy_totals")),
    "client.md": ("Asking a curator", "The same questions, of a table that somebody else holds.",
                  ("leakcap.client",)),
    "models.md": ("Models", "Regressions and gradient descent whose fit is a release.",
                  ("leakcap.models", "leakcap.models.lecture", "leakcap.models.summary")),
    "ledger.md": ("Ledger", "The durable record of what was spent.",
                  ("leakcap.ledger", "leakcap.ledger.curve")),
    "attacks.md": ("Attacks and audits", "What an adversary gets, and what samples prove.",
                   ("leakcap.attack", "leakcap.audit")),
    "disclosure.md": ("Methods of offices", "What is published today, as channels, and what it tells.",
                      ("leakcap.disclosure",)),
}  # fmt: skip
IN_FULL = {"release.md", "client.md", "models.md", "ledger.md"}
"""Pages of objects that are worked with: their methods stand there too."""
HOUSEKEEPING = {
    "Implication",
    "Route",
    "Step",
    "implies",
    "edges",
    "theorems",
    "meaning",
    "as_prior",
    "synthesis",
}
"""Public names that hold no formula: the graph's own machinery, and modules."""


def pages(links: Links) -> dict[str, str]:
    """Every page of the reference, by file name."""
    found = {name: _room(*room, links, in_full=name in IN_FULL) for name, room in ROOMS.items()}
    found["implications.md"] = _implications(links)
    found["statistics.md"] = _statistics(links)
    found["README.md"] = _overview()
    return found


def members(module: str) -> dict[str, Any]:
    """The public classes and functions of a module that stand on the page of its room."""
    room = importlib.import_module(module)
    named = {name: getattr(room, name) for name in room.__all__ if name not in HOUSEKEEPING}
    return {k: v for k, v in named.items() if inspect.isclass(v) or inspect.isfunction(v)}


def _overview() -> str:
    lines = [
        "# Every formula, its source, its line",
        "",
        "These pages are made from the code when the manual is built: what a name computes, as its docstring says it, "
        "the paper that it rests on, and the line that computes it. Everything is in nats unless it says otherwise. "
        "*Source* names authors, year and theorem; proofs that are in no paper are in the "
        "[theory pages](../theory/README.md).",
        "",
        "| page | what stands there |",
        "|---|---|",
        "| [What follows from what](implications.md) | every edge between two guarantees, with its formula |",
        *(f"| [{title}]({name}) | {lead} |" for name, (title, lead, _) in ROOMS.items()),
        "| [Private statistics](statistics.md) | what can be asked of a table |",
    ]
    return "\n".join(lines) + "\n"


def methods(thing: type) -> dict[str, tuple[Any, bool]]:
    """The public methods that leakcap gives a class, and whether each is read like an attribute."""
    found = {}
    for name, held in inspect.getmembers_static(thing):
        attribute = isinstance(held, property | cached_property)
        plain = (
            held.fget
            if isinstance(held, property)
            else getattr(held, "func", getattr(held, "__func__", held))
        )
        if inspect.isfunction(plain) and plain.__module__.startswith("leakcap.") and not name.startswith("_"):
            found[name] = (plain, attribute)
    return found


def _room(title: str, lead: str, modules: tuple[str, ...], links: Links, *, in_full: bool) -> str:
    lines = [f"# {title}", "", lead, ""]
    seen: set[str] = set()
    for module in modules:
        for name, thing in sorted(members(module).items(), key=lambda item: item[0].lower()):
            if name not in seen:
                seen.add(name)
                lines += _entry(name, thing, module, links)
                lines += _methods(name, thing, links) if in_full and inspect.isclass(thing) else []
    return "\n".join(lines)


def _entry(name: str, thing: Any, module: str, links: Links) -> list[str]:
    text = prose(inspect.getdoc(thing) or "")
    source = getattr(thing, "source", "")
    extra = (
        ["", f"*Source: {source}.*"] if isinstance(source, str) and source and "Source:" not in text else []
    )
    code = links.to(thing)
    return [f"## `{name}`", "", "```python", signature(name, thing), "```", "", text, *extra, "",
            f"Code: {code} · `from {module} import {name}`", ""]  # fmt: skip


def _methods(owner: str, thing: type, links: Links) -> list[str]:
    lines = []
    for name, (held, attribute) in methods(thing).items():
        full = f"{owner}.{name}"
        shown = (
            f"{full}: {_type(inspect.signature(held).return_annotation)}"
            if attribute
            else signature(full, held)
        )
        text = prose(inspect.getdoc(getattr(thing, name)) or inspect.getdoc(held) or "")
        lines += [f"### `{full}`", "", "```python", shown, "```", "", text, "", f"Code: {links.to(held)}", ""]
    return lines


def signature(name: str, thing: Any) -> str:
    """The call, as it is written in the code, one parameter a line where it is long."""
    if getattr(thing, "_is_protocol", False):
        return f"class {name}(Protocol)"
    try:
        shown = _fields(thing) if hasattr(thing, "model_fields") else inspect.signature(thing)
    except ValueError:
        return name
    given = [p for p in shown.parameters.values() if p.name not in ("self", "cls")]
    parts = [_parameter(p) for p in given]
    starred = [k for k, p in enumerate(given) if p.kind is p.KEYWORD_ONLY]
    if starred and not any(p.kind is p.VAR_POSITIONAL for p in given):
        parts.insert(starred[0], "*")
    gives = "" if inspect.isclass(thing) else f" -> {_type(shown.return_annotation)}"
    line = f"{name}({', '.join(parts)}){gives}"
    if len(line) <= 96:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){gives}"


def _parameter(one: inspect.Parameter) -> str:
    stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    typed = "" if one.annotation is one.empty else f": {_type(one.annotation)}"
    default = "" if one.default is one.empty else f" = {one.default!r}" if typed else f"={one.default!r}"
    return re.sub(r" at 0x\w+", "", f"{stars}{one.name}{typed}{default}")


def _type(annotation: Any) -> str:
    """A type by its own name, without the modules that it stands in."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[a-z_]\w*\.)+([A-Z]\w*)", r"\1", text)


def _fields(model: Any) -> inspect.Signature:
    """The fields of what a policy or a query file says, without the machinery that checks them."""
    word, none = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    return inspect.Signature(
        [
            inspect.Parameter(
                one.alias or name,
                word,
                annotation=one.annotation,
                default=none if one.is_required() else one.get_default(call_default_factory=True),
            )
            for name, one in model.model_fields.items()
        ]
    )


def prose(doc: str) -> str:
    """A docstring as Markdown: examples dropped, indented formulas kept as blocks, the source in italics."""
    doc = re.sub(r"(?ms)^\s*>>>.*?(?=\n\s*\n|\Z)", "", doc)
    blocks = []
    for part in re.split(r"\n\s*\n", doc.strip()):
        if not part.strip():
            continue
        if all(line.startswith("    ") for line in part.splitlines()):
            blocks.append("```text\n" + textwrap.dedent(part) + "\n```")
            continue
        pieces = re.split(r"(`[^`]*`)", part.replace("``", "`"))
        words = "".join(piece if k % 2 else _escaped(piece) for k, piece in enumerate(pieces))
        words = re.sub(r"(?s)(Source: .*?)\s*\Z", r"*\1*", words)
        blocks.append(words)
    return "\n\n".join(blocks)


def _escaped(words: str) -> str:
    return words.replace("$", r"\$").replace("<", "&lt;").replace("*", r"\*").replace("|", r"\|")


def _cell(words: str) -> str:
    words = words.replace("|", r"\|").replace("*", r"\*").replace("<", "&lt;")
    return re.sub(r"\^(?:\{([^}]*)\}|(\w))", r"<sup>\1\2</sup>", words)


def _implications(links: Links) -> str:
    lines = [
        "---\nhide: [toc]\n---\n# What follows from what",
        "",
        "Every edge of the graph that [`convert`](../how-to/convert.md) walks, from its strongest form to those that are "
        "only published. *Attained by* names the mechanism for which nothing smaller is true; A stands for e^ε. Proofs "
        "and how to read the table: [Conversions](../theory/conversions.md).",
        "",
    ]
    for kind in sorted({edge.source for edge in edges()}, key=lambda kind: kind.__name__):
        lines += [
            f"## From {kind.__name__}",
            "",
            "| to | value | source | attained by | code |",
            "|---|---|---|---|---|",
        ]
        for edge in sorted(
            (e for e in edges() if e.source is kind), key=lambda e: (e.target.__name__, e.loose)
        ):
            given = f" ({', '.join(edge.keywords)})" if edge.keywords else ""
            note = "looser, published" if edge.loose else edge.attained_by or "—"
            row = (edge.target.__name__ + given, edge.formula, edge.citation, note)
            lines.append("| " + " | ".join(map(_cell, row)) + f" | {links.to(edge.rule, short=True)} |")
        lines.append("")
    return "\n".join(lines)


def _statistics(links: Links) -> str:
    lines = [
        "# Private statistics",
        "",
        "What can be asked of a table, as the code lists it. What each costs and covers: [Statistics](../statistics.md).",
        "",
        "| name | in SQL | fields of its own | what it is | code |",
        "|---|---|---|---|---|",
    ]
    for name, one in statistics().items():
        kind = type(one)
        what = _cell(" ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split()))
        words = ", ".join(f"`{word}`" for word in one.sql) or "—"
        own = ", ".join(f"`{field}`" for field in sorted(one.fields)) or "—"
        lines.append(f"| `{name}` | {words} | {own} | {what} | {links.to(kind, short=True)} |")
    return "\n".join(lines) + "\n"
