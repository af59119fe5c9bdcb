"""`leakcap annex`: what a publication's documents must say of privacy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.asked import address, is_query_file, kept_of, load_asked
from leakcap.cli.printing import Json, console, print_record, say
from leakcap.cli.targets import require_target

if TYPE_CHECKING:
    from leakcap.ledger import Ledger
    from leakcap.release import Policy
    from leakcap.release.asking.owner import OwnerAnswers
    from leakcap.report.records import AnnexRecord

__all__ = ["annex"]

_ENDINGS = (".md", ".html", ".htm", ".json")


def annex(
    source: Annotated[
        str,
        typer.Argument(
            help="A query file (.toml), whose table `[annex]` has the owner's answers; or a ledger's URL or "
            "path.",
            show_default=False,
        ),
    ],
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            "-o",
            help="An .html, .md or .json file; may be repeated. Without it, the terminal.",
            show_default=False,
        ),
    ] = None,
    registry: Annotated[
        bool,
        typer.Option("--registry", help="A draft of an entry for OpenDP's registry of deployments, as YAML."),
    ] = False,
    json_: Json = False,
) -> None:
    """What a publication's documents must say of privacy: layers, hazards, and risks as games.

    The layers are those of NIST SP 800-226. Singling out, linkability and inference, which an impact
    assessment asks about, are games with their bounds. It reads the ledger's whole chain, and no data; what
    only the owner can say comes from the query file's table [annex], or is listed as not stated.

    With --registry it is a draft for OpenDP's registry of deployments, in the fields of its schema.

    Example: leakcap annex examples/hospital/release.toml
    """
    targets = output or []
    for target in targets:
        endings = (".yaml",) if registry else _ENDINGS
        require_target(target, "`--output`", endings, kept_of(source))
    said, record = _record_of(source)
    if registry:
        _enter(record, said, source, targets, json_)
        return
    for target in targets:
        _write(record, target)
    if json_:
        print_record(record)
    elif targets:
        say(f"The annex is in {', '.join(map(str, targets))}")
    else:
        from leakcap.report.terminal.annex import print_annex

        print_annex(console(), record)


def _enter(
    annexed: AnnexRecord, said: OwnerAnswers, source: str, targets: Sequence[Path], json_: bool
) -> None:
    """Write or print the entry for the registry."""
    from leakcap.errors import InvalidQuery
    from leakcap.report.records import RegistryEntryRecord
    from leakcap.report.render.yaml import yaml_text

    for target in targets:
        if re.fullmatch(r"[a-z0-9_]+", target.stem) is None:
            raise InvalidQuery(
                f"`--output` must be called by small letters, digits and underscores, as the registry asks. "
                f"Got `{target.name}`."
            )
    record = RegistryEntryRecord.of(annexed, said, source)
    # The registry's own script reads this line without a reader of YAML.
    text = yaml_text(record.entry.to_dict(), bare=("url_slug",))
    for target in targets:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    if json_:
        print_record(record)
    elif targets:
        say(f"The entry is in {', '.join(map(str, targets))}")
    else:
        say(text)


def _record_of(source: str) -> tuple[OwnerAnswers, AnnexRecord]:
    from leakcap import __version__
    from leakcap.ledger import Ledger
    from leakcap.release.asking.owner import OwnerAnswers
    from leakcap.report.certified import certificate_hash
    from leakcap.report.records import AnnexRecord

    asked = load_asked(source) if is_query_file(source) else None
    said = (asked and asked.annex) or OwnerAnswers()
    with Ledger.read(address(source)) as book:
        head = book.verify()
        policy = _policy_of(book, None if asked is None else asked.policy)
        record = AnnexRecord.of(
            policy,
            book.entries(),
            book.balances(),
            head,
            amendments=book.amendments(),
            revisions=book.revisions(),
            answers=said,
            certificate=certificate_hash(book),
            version=__version__,
        )
    return said, record


def _policy_of(book: Ledger, file: Path | None) -> Policy:
    """The policy that governs the ledger: its own text, else a file with the same fingerprint."""
    import json

    from leakcap.errors import InvalidQuery
    from leakcap.release import load_policy

    text = book.policy_text
    if text:
        return load_policy(json.loads(text))
    if file is not None and load_policy(file).fingerprint() == book.policy:
        return load_policy(file)
    raise InvalidQuery(
        f"The ledger `{book.url}` was made without the text of its policy. Name a query file with the policy "
        "that governs it."
    )


def _write(record: AnnexRecord, target: Path) -> None:
    from leakcap.plain import json_text
    from leakcap.report.render.html import write_html
    from leakcap.report.render.markdown import write_markdown
    from leakcap.report.sources import page_of

    kind = target.suffix.lower()
    if kind == ".json":
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json_text(record.to_dict(), indent=2) + "\n", encoding="utf-8")
        return
    (write_markdown if kind == ".md" else write_html)(page_of(record, "reviewer"), target)
