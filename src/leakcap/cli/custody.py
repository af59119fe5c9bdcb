"""`leakcap ledger backup`, `restore`, `move` and `admit`: the care of a ledger."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.asked import address, asking_file_of, is_query_file, kept_of
from leakcap.cli.ledger import Url, ledger
from leakcap.cli.printing import Json, console, print_record, say
from leakcap.cli.targets import require_target
from leakcap.errors import InvalidQuery
from leakcap.plain import counted

if TYPE_CHECKING:
    from leakcap.ledger.transfers import Restored

__all__ = ["admit", "backup", "ledger", "move", "restore"]


@ledger.command()
def move(
    url: Url,
    target: Annotated[
        str, typer.Argument(help="Where it is to live: a URL or path that has no ledger.", show_default=False)
    ],
    preview: Annotated[bool, typer.Option("--preview", help="Say what would move, and stop.")] = False,
    json_: Json = False,
) -> None:
    """Move a ledger to another database, from SQLite to PostgreSQL or back, with its whole chain.

    Nobody spends while it is copied. Then the old one is closed: it refuses spends and names the new one. If
    the command is stopped, run it again; until then exactly one of the two takes spends.

    Example: leakcap ledger move examples/hospital/hospital.db examples/hospital/moved.db
    --preview
    """
    from leakcap.ledger.custody import move as moved
    from leakcap.report.records import MoveRecord

    found = moved(address(url), _place(target), by=getpass.getuser(), preview=preview)
    if json_:
        print_record(MoveRecord.of(found, preview=preview))
        return
    counts = _counts(found.rows, found.entries)
    if preview:
        say(f"{found.source} would move to {found.target}: {counts}. The chain holds; nothing was written.")
        return
    say(
        f"{found.source} was moved to {found.target}: {counts}. Name the new one in query files; the old one "
        f"refuses spends.\nhead {found.head}"
    )


@ledger.command()
def backup(
    url: Url,
    copy: Annotated[
        Path, typer.Argument(help="The backup. Only an earlier one is replaced.", show_default=False)
    ],
    json_: Json = False,
) -> None:
    """Write a backup of a ledger as it is at one moment, while others go on spending.

    Nothing can be spent from a backup. It holds released answers and the ledger's seed: keep it as safe as
    the ledger. Keep the printed head, or all that --json prints, where nobody who can write the ledger can
    write: `leakcap ledger restore` asks for it.

    Example: leakcap ledger backup examples/hospital/hospital.db examples/hospital/hospital.backup
    """
    from leakcap.ledger import backup as backed_up
    from leakcap.report.records import BackupRecord

    require_target(copy, "The backup", (), kept_of(url))
    made = backed_up(address(url), copy, by=getpass.getuser())
    if json_:
        print_record(BackupRecord.of(made))
        return
    counts = _counts(made.anchor.rows, made.anchor.entries)
    say(f"{made.source} is backed up in {made.file}: {counts}.\nhead {made.anchor.head}")


@ledger.command()
def restore(
    backup: Annotated[Path, typer.Argument(help="What `leakcap ledger backup` wrote.", show_default=False)],
    target: Annotated[str, typer.Argument(help="Where the ledger is to stand.", show_default=False)],
    anchor: Annotated[
        str | None,
        typer.Option(
            help="The newest head that is known, or a file of `leakcap ledger verify --json`.",
            show_default=False,
        ),
    ] = None,
    book_lost: Annotated[
        bool, typer.Option("--book-lost", help="Restore a history that lacks spends, and book them.")
    ] = False,
    gone: Annotated[
        bool, typer.Option("--gone", help="Your word that the server where it was is gone for good.")
    ] = False,
    reason: Annotated[
        str, typer.Option(help="Why spends are lost, or the server is gone; recorded for good.")
    ] = "",
    preview: Annotated[bool, typer.Option("--preview", help="Say what would be restored, and stop.")] = False,
    json_: Json = False,
) -> None:
    """Put a ledger back from its backup. A backup that lacks spends is refused, and they are named.

    Give --anchor, unless a ledger stands at the target still. With --book-lost what is lost is booked as far
    as the anchor says; where it does not say, the ledger is closed, and only a record from then on.

    Example: leakcap ledger restore examples/hospital/hospital.backup examples/hospital/hospital.db --preview
    """
    from leakcap.ledger import restore as put_back
    from leakcap.report.records import RestoreRecord

    found = put_back(
        address(str(backup), query_file=False),
        _place(target),
        anchor=anchor,
        book_lost=book_lost,
        gone=gone,
        reason=reason,
        by=getpass.getuser(),
        preview=preview,
    )
    if json_:
        print_record(RestoreRecord.of(found, preview=preview))
        return
    verb = "would be restored" if preview else "is restored"
    say(f"{found.target} {verb}: {_counts(found.anchor.rows, found.anchor.entries)}.")
    if found.closed:
        say(f"What it lacks cannot be booked: it {'would be' if preview else 'is'} only a record.")
    elif found.booked:
        say(_booked(found, preview))
    if found.unreleased:
        say(f"Not released when the backup was made, and may not be any more: {_numbers(found.unreleased)}.")
    say(f"head {found.anchor.head}")


def _booked(found: Restored, preview: bool) -> str:
    """What is booked for the spends that a restored ledger lacks, or would be."""
    what = counted(found.lost, "spend") if found.lost else "costs that the anchor knows"
    verb = "would be" if preview else "is" if found.lost == 1 else "are"
    return f"It lacks {what}, which {verb} booked: {found.booked}."


def _counts(rows: int, entries: int) -> str:
    return f"{counted(rows, 'row')}, {counted(entries, 'spend')}"


def _place(target: str) -> str:
    """The address at which a ledger is to stand, which is no query file's."""
    if is_query_file(target):
        raise InvalidQuery(
            f"`{target}` is the name of a query file, not of a ledger. Name a database or a URL."
        )
    return address(target)


def _numbers(entries: tuple[int, ...]) -> str:
    return ", ".join(map(str, entries))


@ledger.command()
def admit(
    policy: Annotated[
        Path,
        typer.Argument(
            help="The other data set's policy, or a query file that names it.", show_default=False
        ),
    ],
    ledger: Annotated[
        str, typer.Option(help="The ledger's URL or path, or a query file (.toml).", show_default=False)
    ],
    reason: Annotated[str, typer.Option(help="Why the people are the same; recorded for good.")] = "",
    preview: Annotated[bool, typer.Option("--preview", help="Say whether it may pay, and stop.")] = False,
    json_: Json = False,
) -> None:
    """Let another data set about the same people pay from a ledger: one budget for what all of them tell.

    Its policy has the same caps, the same id of the unit and add-remove-one neighbours, or is refused. A
    policy of a data set that was admitted before takes the place of its earlier one.

    Example: leakcap ledger admit examples/visits.toml --ledger examples/stays/stays.db --preview
    """
    from leakcap.ledger import Ledger
    from leakcap.release import admit as admitted
    from leakcap.report.records import AdmitRecord
    from leakcap.report.terminal.spending import print_datasets

    url = address(ledger)
    why = reason or ("a preview" if preview else "")
    asked = asking_file_of(policy)
    other = policy if asked is None else asked.policy
    name = admitted(other, url, reason=why, by=getpass.getuser(), preview=preview)
    with Ledger.read(url) as book:
        where = book.url  # without a password
        record = AdmitRecord.of(name, book.datasets(), preview=preview)
    if json_:
        print_record(record)
        return
    say(f"{name} {'could pay' if preview else 'pays'} from {where}, under its caps.")
    print_datasets(console(), record.datasets)
