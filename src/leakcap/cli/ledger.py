"""The commands of the ledger: `budget`, and `ledger verify`, `repair`, `export` and `amend`."""

from __future__ import annotations

import getpass
import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.asked import address, asking_file_of, kept_of, load_asked
from leakcap.cli.printing import Json, console, print_record, say
from leakcap.cli.release import LedgerUrl
from leakcap.cli.remote import asked_server, connection_to, refuse_at_hand, remote_table
from leakcap.cli.targets import require_target
from leakcap.plain import counted

if TYPE_CHECKING:
    from leakcap.cli.remote import Server
    from leakcap.report.certified import CertificateFile
    from leakcap.report.records import BudgetRecord
    from leakcap.report.records.certificates import CertificateRecord

__all__ = ["Url", "budget", "budget_record", "ledger"]

ledger = typer.Typer(
    name="ledger",
    help="Check, repair, export, amend, move, back up, restore; revise and withdraw; admit data sets.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
Url = Annotated[
    str, typer.Argument(help="A ledger's URL or path, or a query file (.toml).", show_default=False)
]


class ExportFormat(StrEnum):
    """What an export is written as."""

    csv = "csv"
    json = "json"


def budget(
    file: Annotated[
        Path | None,
        typer.Argument(help="A file of any command that asks, for its ledger.", show_default=False),
    ] = None,
    ledger: LedgerUrl = None,
    all_: Annotated[
        bool, typer.Option("--all", help="List every spend; without it the latest twenty.")
    ] = False,
    delta: Annotated[
        list[float] | None,
        typer.Option("--delta", help="Say what all answers so far tell together, but with this probability."),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            help="A .json file for what `leakcap-verify` checks without leakcap: the chain, its caps, the "
            "ε at the first --delta, else at 10⁻⁹.",
            show_default=False,
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """What was spent over time, by whom and on what, and what is left under each cap.

    Example: leakcap budget examples/hospital/release.toml
    """
    from leakcap.errors import InvalidQuery
    from leakcap.ledger import Ledger

    if (server := asked_server()) is not None:
        refuse_at_hand(ledger=ledger, delta=None if certificate is not None else delta)
        if file is not None:
            raise InvalidQuery("`leakcap --server … budget` takes no file: the curator has the ledger.")
        record, written = _budget_of_curator(server, certificate, delta or ())
        if json_:
            print_record(record)
        else:
            _print_budget(record, all_=all_)
        if written is not None:
            written.write()
        return
    url = ledger if ledger is not None else None if file is None else str(file)
    if url is None:
        raise InvalidQuery("`leakcap budget` needs a query file or --ledger.")
    proved = None
    if certificate is not None:
        from leakcap.report.certified import certificate_file

        require_target(certificate, "`--certificate`", (".json",), [*kept_of(url), *([file] if file else [])])
        with Ledger.read(address(url, query_file=ledger is None)) as book:
            written = certificate_file(book, certificate, *(delta or ())[:1])
        written.write()
        proved = written.record
    if json_:
        print_record(budget_record(url, query_file=ledger is None, deltas=delta or (), certificate=proved))
        return
    from leakcap.report.records import BudgetRecord

    with Ledger.read(address(url, query_file=ledger is None)) as book:
        governs = {book.policy_of(one.dataset) for one in book.datasets()}
        record = BudgetRecord.of_ledger(book, deltas=delta or (), certificate=proved)
    _print_budget(record, all_=all_)
    if file is not None and _fingerprint(file) not in governs:
        used = bool(record.entries or record.amendments)
        console().print(_other_policy(file, used=used), markup=False, style="red")


def _budget_of_curator(
    server: Server, certificate: Path | None, deltas: Sequence[float]
) -> tuple[BudgetRecord, CertificateFile | None]:
    """What a curator says of the ledger, with its certificate where one is asked for: for its owners and
    auditors."""
    from leakcap.errors import InvalidQuery
    from leakcap.report.certified import DELTA, certificate_file

    if len(deltas) > 1:
        raise InvalidQuery("`--delta` may be said once with `--server`: the certificate is at one δ.")
    if certificate is not None:
        require_target(certificate, "`--certificate`", (".json",))
    with connection_to(server.url) as connection:
        table = remote_table(connection, server)
        delta = deltas[0] if deltas else DELTA
        written = None if certificate is None else certificate_file(table, certificate, delta)
        record = table.accounts()
    if written is None:
        return record, None
    return record.model_copy(update={"certificate": written.record}), written


def _print_budget(record: BudgetRecord, *, all_: bool) -> None:
    """The accounts, and the latest spends or all of them."""
    from leakcap.report.terminal.certified import print_certificate
    from leakcap.report.terminal.published import print_custody, print_revisions, print_versions
    from leakcap.report.terminal.spending import (
        print_accounts,
        print_amendments,
        print_datasets,
        print_entries,
        print_slots,
        print_spending,
        print_told,
    )

    entries = record.entries
    out, latest = console(), entries if all_ else entries[-20:]
    print_accounts(out, record)
    print_told(out, record.told)
    print_datasets(out, record.datasets)
    print_slots(out, record.slots)
    print_versions(out, record.versions)
    print_revisions(out, record.revisions)
    print_amendments(out, record.amendments)
    print_custody(out, record.custody)
    print_spending(out, entries)
    print_entries(out, latest)
    print_certificate(out, record.certificate)
    if len(latest) < len(entries):
        out.print(f"… and {len(entries) - len(latest)} earlier; --all lists them.", style="dim")


def _fingerprint(file: Path) -> str:
    """That of the policy that a file names."""
    from leakcap.release import load_policy

    return load_policy(load_asked(file).policy).fingerprint()


def _other_policy(file: Path, *, used: bool) -> str:
    """What is said where the query file has another policy than the ledger."""
    told = f"\nThe policy of {file} is not the one that governs this ledger, whose caps are shown."
    if not used:
        return f"{told} Nothing was spent: the next release takes it over as it is."
    return f"{told} To let it govern, with all that was spent: leakcap ledger amend {file} --reason WHY"


def budget_record(
    source: str,
    *,
    query_file: bool,
    deltas: Sequence[float] = (),
    certificate: CertificateRecord | None = None,
) -> BudgetRecord:
    """All accounts and spends; with a query file also the policy and what everything so far tells."""
    from leakcap.ledger import Ledger
    from leakcap.release import load_policy
    from leakcap.report.records import BudgetRecord

    policy = load_policy(load_asked(source).policy) if query_file else None
    with Ledger.read(address(source, query_file=query_file)) as book:
        return BudgetRecord.of_ledger(book, policy, deltas=deltas, certificate=certificate)


@ledger.command()
def verify(
    url: Url,
    anchor: Annotated[
        str | None,
        typer.Option(help="The head of an earlier verify, kept elsewhere.", show_default=False),
    ] = None,
    json_: Json = False,
) -> None:
    """Read the whole chain: was anything edited, taken out, put in or moved?

    Keep the printed head where nobody who can write the ledger can write: as --anchor it later shows that the
    chain was not rewritten.

    Example: leakcap ledger verify examples/hospital/hospital.db
    """
    from leakcap.ledger import Ledger

    with Ledger.read(address(url)) as book:
        head = book.verify(anchor=anchor)
        entries, ends = book.totals().entries, book.anchor()
    if json_:
        from leakcap.report.records import LedgerAnchorRecord, VerifyRecord

        found = {"rows": head.rows, "entries": entries, "head": head.hash}
        print_record(
            VerifyRecord.made(**found, anchored=anchor is not None, anchor=LedgerAnchorRecord.of(ends))
        )
        return
    met = " It contains the anchor." if anchor is not None else ""
    say(f"The chain holds: {counted(head.rows, 'row')}, {counted(entries, 'spend')}.{met}\nhead {head.hash}")


@ledger.command()
def repair(
    url: Url,
    acknowledge: Annotated[
        list[int] | None,
        typer.Option(help="The number of an entry whose answer never left; may be repeated."),
    ] = None,
    note: Annotated[str, typer.Option(help="What was found out; recorded.")] = "",
    json_: Json = False,
) -> None:
    """List what was paid for without an answer known to have left, and acknowledge what is settled.

    What was spent stays spent: nobody can prove that an answer did not leave. An acknowledged entry is no
    longer listed, and its answer may not leave any more.

    Example: leakcap ledger repair examples/hospital/hospital.db
    """
    from leakcap.ledger import Ledger

    target = address(url)
    if acknowledge:
        with Ledger.resume(target) as book:
            book.acknowledge(acknowledge, note=note, analyst=getpass.getuser())
    with Ledger.read(target) as book:
        unreleased = book.unreleased()
    from leakcap.report.records import EntryRecord, RepairRecord

    lost = tuple(map(EntryRecord.of, unreleased))
    if json_:
        print_record(RepairRecord.made(entries=lost))
        return
    if not lost:
        say("Nothing to repair: every spend was released or acknowledged, or is that of a stream.")
        return
    from leakcap.report.terminal.spending import print_entries

    out = console()
    print_entries(out, lost)
    out.print(
        "\nThese are spent, and no answer is known to have left; one may still be on its way. "
        "When you know that none will come: leakcap ledger repair … --acknowledge NUMBER",
        style="dim",
    )


@ledger.command("export")
def export_(
    url: Url,
    form: Annotated[ExportFormat, typer.Option("--format", help="What to write.")] = ExportFormat.csv,
    output: Annotated[
        Path | None, typer.Option(help="The file; without it, standard output.", show_default=False)
    ] = None,
    json_: Json = False,
) -> None:
    """The audit trail: who, when, which query, what it cost, which software. No answers, no data, no noise.

    Example: leakcap ledger export examples/hospital/hospital.db --format csv --output spends.csv
    """
    from leakcap.ledger import Ledger, export

    if output is not None:
        require_target(output, "`--output`", (), kept_of(url))
    with Ledger.read(address(url)) as book:
        entries, custody = book.entries(), book.custody()
        amendments, revisions, requests = book.amendments(), book.revisions(), book.requests()
    if json_:
        from leakcap.report.records import (
            AmendmentRecord,
            CustodyRecord,
            ExportRecord,
            RequestRecord,
            RevisionRecord,
        )

        listed = tuple(map(AmendmentRecord.of, amendments))
        revised = tuple(map(RevisionRecord.of, revisions))
        rows = json.loads(export(entries, "json"))
        cared = tuple(map(CustodyRecord.of, custody))
        keyed = tuple(map(RequestRecord.of, requests))
        print_record(
            ExportRecord.made(
                entries=rows, amendments=listed, revisions=revised, custody=cared, requests=keyed
            )
        )
        return
    text = export(entries, form.value, amendments, revisions, custody, requests)
    if output is None:
        say(text)
    else:
        output.write_text(text, encoding="utf-8")


@ledger.command()
def amend(
    file: Annotated[
        Path, typer.Argument(help="The new policy, or a query file that names it.", show_default=False)
    ],
    ledger: LedgerUrl = None,
    reason: Annotated[str, typer.Option(help="Why, in one line; recorded for good.")] = "",
    old: Annotated[
        Path | None,
        typer.Option(
            "--from", help="The policy that governs, for a ledger without its text.", show_default=False
        ),
    ] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show what would change, and stop.")] = False,
    json_: Json = False,
) -> None:
    """Let a new policy govern: everything spent so far counts against its caps, in every currency.

    A change that cannot carry over what was spent (another unit of privacy, say) is refused, naming it. Who,
    when and why stands in the chain, the budget, the report and the export; nobody spends under the old
    policy any more.

    Example: leakcap ledger amend examples/hospital/policy-amended.toml --ledger
    examples/hospital/hospital.db --preview
    """
    from leakcap.ledger import Ledger
    from leakcap.release import amend as made_of
    from leakcap.release import amendment as planned_of
    from leakcap.report.records import AmendRecord
    from leakcap.report.terminal.spending import print_amendment

    policy, url = _amended(file, ledger)
    if preview:
        planned = planned_of(policy, url, reason=reason or "a preview", by=getpass.getuser(), before=old)
        told, balances = planned.amendment, planned.after
        with Ledger.read(url) as book:
            dataset = book.dataset
    else:
        told = made_of(policy, url, reason=reason, by=getpass.getuser(), before=old)
        with Ledger.read(url) as book:
            dataset, balances = book.dataset, book.balances()
    record = AmendRecord.of(dataset, told, balances, preview=preview)
    if json_:
        print_record(record)
        return
    print_amendment(console(), record)


def _amended(file: Path, ledger: str | None) -> tuple[Path, str]:
    """The new policy and the ledger's URL; a query file names both."""
    from leakcap.errors import InvalidQuery

    asked = asking_file_of(file)
    if asked is not None:
        return asked.policy, address(ledger or asked.ledger, query_file=False)
    if ledger is None:
        raise InvalidQuery("`leakcap ledger amend` needs --ledger beside a policy.")
    return file, address(ledger, query_file=False)
