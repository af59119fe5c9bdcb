"""`leakcap ledger revise` and `withdraw`: what replaced a published answer, and why, on record."""

from __future__ import annotations

import getpass
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.asked import address
from leakcap.cli.custody import ledger
from leakcap.cli.ledger import Url
from leakcap.cli.printing import Json, print_record, say

if TYPE_CHECKING:
    from leakcap.ledger import Revision

__all__ = ["ledger", "revise", "withdraw"]

_RECORDED = "It is on record. Nothing of the budget comes back."
Preview = Annotated[bool, typer.Option("--preview", help="Show what would be recorded, and stop.")]
Reason = Annotated[str, typer.Option(help="Why, in one line; recorded for good.")]
Period = Annotated[
    str | None, typer.Option(help="The reference period of a publication.", show_default=False)
]
Version = Annotated[str | None, typer.Option(help="Its version.", show_default=False)]
Title = Annotated[
    str, typer.Option(help="Its title, where several have the same period and version.", show_default=False)
]


@ledger.command()
def revise(
    url: Url,
    replace: Annotated[
        list[str] | None,
        typer.Option(help="OLD=NEW, numbers of two entries; may be repeated.", metavar="OLD=NEW"),
    ] = None,
    period: Period = None,
    version: Version = None,
    by_version: Annotated[
        str | None,
        typer.Option(
            help="The version that replaces it, answer by answer of the same name.", show_default=False
        ),
    ] = None,
    title: Title = "",
    reason: Reason = "",
    preview: Preview = False,
    json_: Json = False,
) -> None:
    """Put on record that published answers were replaced by later ones, about the same reference period.

    Name entries (--replace 3=7), or a publication (--period 2026-03 --version 1.0 --by-version 1.1). A
    replaced answer is no longer repeated as valid. Nothing of the budget comes back.

    Example: leakcap ledger revise examples/hospital/hospital.db --replace 1=2
    --reason "A ward was counted twice" --preview
    """
    from leakcap.errors import InvalidQuery
    from leakcap.ledger import Ledger
    from leakcap.ledger.editions import Edition
    from leakcap.ledger.revising import pairs_of

    named = (period, version, by_version)
    if bool(replace) == any(named) or (any(named) and not all(named)):
        raise InvalidQuery(
            "`leakcap ledger revise` needs either --replace OLD=NEW, or all of --period, --version and "
            "--by-version."
        )
    _require_publication(title, period)
    pairs = _pairs(replace or ())
    with Ledger.resume(address(url)) as book:
        if period and version and by_version:
            edition = Edition(title, period, version)
            pairs = pairs_of(book.entries(), {one.entry for one in book.revisions()}, edition, by_version)
        made = book.revise(pairs, reason=reason, by=getpass.getuser(), preview=preview)
        _tell(book.dataset, made, preview, json_)


@ledger.command()
def withdraw(
    url: Url,
    entry: Annotated[
        list[int] | None, typer.Option(help="The number of an entry; may be repeated.", show_default=False)
    ] = None,
    period: Period = None,
    version: Version = None,
    title: Title = "",
    reason: Reason = "",
    preview: Preview = False,
    json_: Json = False,
) -> None:
    """Put on record that published answers were withdrawn: they are wrong, and nothing replaces them.

    Name entries (--entry 3), or a publication (--period 2026-03 --version 1.0). A withdrawn answer is no
    longer repeated as valid. Nothing of the budget comes back: whoever saw the answer knows it.

    Example: leakcap ledger withdraw examples/hospital/hospital.db --entry 3
    --reason "A ward is missing" --preview
    """
    from leakcap.errors import InvalidQuery
    from leakcap.ledger import Ledger
    from leakcap.ledger.editions import Edition
    from leakcap.ledger.revising import valid_of

    if bool(entry) == bool(period or version) or bool(period) != bool(version):
        raise InvalidQuery(
            "`leakcap ledger withdraw` needs either --entry NUMBER, or both --period and --version."
        )
    _require_publication(title, period)
    with Ledger.resume(address(url)) as book:
        wanted = entry or []
        if period and version:
            gone = {one.entry for one in book.revisions()}
            wanted = [one.id for one in valid_of(book.entries(), gone, Edition(title, period, version))]
        if not wanted:
            raise InvalidQuery(
                f"No valid answer was published as version {version} for {period}. `leakcap budget --all` "
                "lists what was published as what."
            )
        made = book.withdraw(wanted, reason=reason, by=getpass.getuser(), preview=preview)
        _tell(book.dataset, made, preview, json_)


def _tell(dataset: str, made: Sequence[Revision], preview: bool, json_: bool) -> None:
    """What was put on record just now, or would be."""
    from leakcap.report.records import RevisedRecord, RevisionRecord, revision_lines

    revisions = tuple(map(RevisionRecord.of, made))
    if json_:
        print_record(RevisedRecord.made(preview=preview, dataset=dataset, revisions=revisions))
        return
    say("\n".join(revision_lines(revisions)))
    say("A preview: nothing was recorded." if preview else _RECORDED)


def _require_publication(title: str, period: str | None) -> None:
    from leakcap.errors import InvalidQuery

    if title and not period:
        raise InvalidQuery(
            "`--title` says which publication is meant, and goes with --period and --version. Leave it out."
        )


def _pairs(texts: Sequence[str]) -> dict[int, int]:
    from leakcap.errors import InvalidQuery

    pairs: dict[int, int] = {}
    for old, new in map(_pair, texts):
        if old in pairs:
            raise InvalidQuery(f"`--replace` names entry {old} twice. An answer is replaced by one other.")
        pairs[old] = new
    return pairs


def _pair(text: str) -> tuple[int, int]:
    from leakcap.errors import InvalidQuery

    found = re.fullmatch(r"(\d{1,15})=(\d{1,15})", text, re.ASCII)
    if found is None:
        raise InvalidQuery(f"`--replace` must be numbers of two entries, as in 3=7. Got `{text[:20]}`.")
    return int(found[1]), int(found[2])
