"""`leakcap curator backup` and `restore`: the store and all ledgers, copied and put back."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated

import typer

from leakcap.cli.printing import say
from leakcap.errors import InvalidParameter
from leakcap.plain import counted

__all__ = ["backup", "restore"]

File = Annotated[Path, typer.Argument(help="The curator's configuration (TOML).", show_default=False)]
Folder = Annotated[Path, typer.Argument(help="The folder of the backup.", show_default=False)]


def backup(file: File, folder: Folder) -> None:
    """Copy the store and all ledgers into a folder, each as it is at one moment, while the curator runs.

    It holds released answers, seeds and hashes of secrets: keep it as safe as the data. Keep the printed
    heads, or the files that end in .anchor.json, where nobody who runs the curator can write.

    Example: leakcap curator backup curator.toml /var/backups/curator
    """
    from leakcap.service.configuration import load_configuration
    from leakcap.service.custody import back_up

    made = back_up(load_configuration(file), folder, by=_by())
    if made.acts is None:
        say("The store is on a server: back it up with pg_dump.")
    else:
        say(f"The store: {counted(made.acts.rows, 'act')}, head {made.acts.head}")
    for name, one in made.ledgers.items():
        anchor = one.anchor
        say(f"{name}: {counted(anchor.rows, 'row')}, {counted(anchor.entries, 'spend')}, head {anchor.head}")


def restore(
    file: File,
    folder: Folder,
    anchor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DATASET=ANCHOR",
            help="The newest anchor of a data set that is known: a head or a file; may be repeated.",
            show_default=False,
        ),
    ] = None,
    book_lost: Annotated[
        bool, typer.Option("--book-lost", help="Restore a history that lacks spends, and book them.")
    ] = False,
    reason: Annotated[str, typer.Option(help="Why spends are lost; recorded for good.")] = "",
    preview: Annotated[bool, typer.Option("--preview", help="Say what would be restored, and stop.")] = False,
) -> None:
    """Put the store and all ledgers back. A ledger that lacks spends is refused, and they are named.

    All tokens and sessions end, because some may have been revoked since, and so do one-time passwords and
    requests to administrators. People and roles are as they were: look through them before the curator runs.

    Example: leakcap curator restore curator.toml /var/backups/curator --preview
    """
    from leakcap.ledger.anchors import Anchor
    from leakcap.service.configuration import load_configuration
    from leakcap.service.custody import put_back

    known = {name: Anchor.read(text) for name, text in map(_pair, anchor or ())}
    found = put_back(
        load_configuration(file),
        folder,
        anchors=known,
        by=_by(),
        book_lost=book_lost,
        reason=reason,
        preview=preview,
    )
    verb = "would be" if preview else "is"
    if found.ended is None:
        say("The store stands, or is on a server: it is left as it is.")
    elif preview:
        say("The store would be put back.")
    else:
        say(f"The store is put back. Ended: {counted(found.ended, 'token')}.")
    for name, one in found.ledgers.items():
        lost = f" What it lacks {verb} booked: {one.booked}." if one.booked else ""
        closed = f" It {verb} closed: nobody can say what it lacks." if one.closed else ""
        say(f"{name} {verb} put back: {counted(one.anchor.entries, 'spend')}.{lost}{closed}")
    if not preview:
        say(f"Look through who has which role: leakcap curator people {file}")


def _pair(text: str) -> tuple[str, str]:
    name, equals, where = text.partition("=")
    if not (name and equals and where):
        raise InvalidParameter(f"`--anchor` must be DATASET=ANCHOR. Got `{text[:80]}`.")
    return name, where


def _by() -> str:
    return f"shell:{getpass.getuser()}"
