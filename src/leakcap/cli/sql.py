"""The command `sql`: a SELECT statement, answered in private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakcap.cli.certifying import AskedCertificate, Certificate, asked_certificate
from leakcap.cli.consent import Fresh, Yes, ask_to_pay_for, asked_before_it_begins
from leakcap.cli.printing import Json, print_answer
from leakcap.cli.release import LedgerUrl, SameAs
from leakcap.cli.remote import asked_server, refuse_at_hand
from leakcap.cli.sql_printing import print_dry_run, print_statement_previewed
from leakcap.cli.targets import files_of, require_durable
from leakcap.cli.values import CsvTarget, ExcelTarget, require_values, write_given
from leakcap.errors import InvalidQuery

if TYPE_CHECKING:
    from leakcap.release import Policy
    from leakcap.release.results.publication import Publication
    from leakcap.release.sql.select import SelectStatement
    from leakcap.report.records import ReleaseRecord

__all__ = ["sql"]


def sql(
    text: Annotated[str, typer.Argument(metavar="SELECT", help="The statement.", show_default=False)],
    epsilon: Annotated[
        float | None, typer.Option(help="The ε that the statement's aggregates share.", show_default=False)
    ] = None,
    rho: Annotated[
        float | None, typer.Option(help="The ρ that they share, in place of ε.", show_default=False)
    ] = None,
    error: Annotated[
        str | None,
        typer.Option(
            help="The errors wanted of 95 % of the answers, e.g. 30 or 30,2; they say the price.",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        Path,
        typer.Option("--in", help="The query file (TOML) whose policy, data and ledger are used."),
    ] = Path("release.toml"),
    weights: Annotated[
        str | None,
        typer.Option(help="How ε is shared, e.g. 2,1,1. Equally by default.", show_default=False),
    ] = None,
    objective: Annotated[
        str,
        typer.Option(
            "--for", help="What ε is divided for: shares by weight, least total error, equal errors."
        ),
    ] = "shares by weight",
    delta: Annotated[
        float | None,
        typer.Option(help="The δ for groups whose keys are private, shared equally.", show_default=False),
    ] = None,
    noise: Annotated[str, typer.Option(help="The law of the noise: laplace, gaussian or best.")] = "laplace",
    preview: Annotated[
        bool, typer.Option("--preview", help="Show accuracy and price. Touches neither data nor ledger.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Answer on a dummy table made from the policy alone. Costs nothing."),
    ] = False,
    ledger: LedgerUrl = None,
    analyst: Annotated[str, typer.Option(help="Who asks; recorded in the ledger.")] = "",
    fresh: Fresh = False,
    yes: Yes = False,
    same_as: SameAs = None,
    certificate: Certificate = None,
    csv: CsvTarget = None,
    excel: ExcelTarget = None,
    json_: Json = False,
) -> None:
    """Answer a SELECT statement in private: counts, sums, means and quantiles, with WHERE and GROUP BY;
    HAVING, ORDER BY and LIMIT order and cut the noisy answer.

    Example: leakcap sql "SELECT diagnosis, COUNT(*) FROM patients GROUP BY diagnosis" --epsilon 0.5
    --in examples/hospital/release.toml --preview
    """
    errors = _numbers(error, "--error")
    one = errors[0] if errors is not None and len(errors) == 1 else errors
    price: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "error": one}
    price |= {
        "weights": _numbers(weights, "--weights"),
        "delta": delta,
        "objective": objective,
        "noise": noise,
    }
    if (server := asked_server()) is not None:
        refuse_at_hand(ledger=ledger, analyst=analyst, same_as=same_as, certificate=certificate)
        if file != Path("release.toml"):
            refuse_at_hand(**{"in": file})
        require_values(csv, excel, [])
        from leakcap.cli.remote_sql import sql_of_curator

        job = (preview, dry_run, fresh, yes, json_)
        sql_of_curator(server, text, price, job, csv, excel)
        return
    asked = _asked(text, file, price)
    kept = [file, *asked.files, *([ledger] if ledger else [])]
    proof = asked_certificate(certificate, None, kept)
    require_values(csv, excel, [*kept, *proof.files])
    if (csv or excel or certificate) and (preview or dry_run):
        raise InvalidQuery(
            "`--csv`, `--excel` and `--certificate` go with an answer, not with `--preview` or `--dry-run`."
        )
    if preview:
        print_statement_previewed(asked.statement, asked.policy, json_)
        return
    if dry_run:
        from leakcap.release.table import dry_run as on_dummy

        dry = asked.statement.shown(on_dummy(asked.statement.queries, asked.policy), asked.policy)
        print_dry_run(dry, json_)
        return
    url = require_durable(asked.ledger if ledger is None else ledger)
    unused, record = _answer(asked, url, analyst, (fresh, yes), same_as, json_, proof)
    from leakcap.report.terminal.tables import print_release

    # What was paid for is in the files before anything is shown.
    written = list(write_given(record, csv, excel))
    print_answer(
        record,
        partial(print_release, every="--json"),
        began=unused,
        written=[("values are", path) for path in written],
        json_=json_,
    )
    proof.write()


@dataclass(frozen=True)
class _Asked:
    """A statement's queries, and what they are about."""

    statement: SelectStatement
    policy: Policy
    data: Path | str
    table: str | None
    tables: Mapping[str, Path | str]
    ledger: str
    files: Sequence[Path | str]
    publication: Publication | None


def _asked(text: str, file: Path, price: Mapping[str, Any]) -> _Asked:
    from leakcap.release import load_policy, load_queries
    from leakcap.release.sql.select import StatementTerms, select_statement

    place = load_queries(file)
    policy = load_policy(place.policy)
    # A table goes by the policy's name for the data, and by its own name in its database or folder.
    named = [place.table.rpartition(".")[2]] if place.table is not None else []
    tables = named + ([place.data.stem] if isinstance(place.data, Path) else [])
    statement = select_statement(text, policy, StatementTerms(**price), tables)
    return _Asked(
        statement,
        policy,
        place.data,
        place.table,
        place.tables,
        place.ledger,
        files_of(place),
        place.publication,
    )


def _numbers(text: str | None, option: str) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidQuery(f"`{option}` must be numbers with commas between. Got {text!r}.") from None


def _answer(
    asked: _Asked,
    ledger: str,
    analyst: str,
    fresh: tuple[bool, bool],
    same_as: int | None,
    json_: bool,
    proof: AskedCertificate,
) -> tuple[str | None, ReleaseRecord]:
    """What was answered, and where the ledger is that it began, if it did."""
    from leakcap.release import PrivateTable, exposure_so_far
    from leakcap.report.records import ReleaseRecord
    from leakcap.statement import statement_of

    ask = fresh[0] and not asked_before_it_begins(
        ledger, asked.policy, asked.statement.queries, yes=fresh[1], json_=json_
    )
    with PrivateTable(
        asked.data,
        policy=asked.policy,
        ledger=ledger,
        table=asked.table,
        tables=asked.tables,
        analyst=analyst,
        same_as=same_as,
        edition=None if asked.publication is None else asked.publication.edition,
        asked=asked.statement.queries,
        fresh=fresh[0],
    ) as table:
        unused = not table.ledger.totals().entries
        if ask:
            ask_to_pay_for(table, asked.statement.queries, yes=fresh[1], json_=json_)
        releases = asked.statement.shown(table.release(asked.statement.queries, fresh=fresh[0]), asked.policy)
        total = statement_of(exposure_so_far(table.ledger.entries(), asked.policy))
        record = ReleaseRecord.of(
            asked.policy,
            releases,
            total,
            table.budget(),
            table.ledger.amendments(),
            asked.publication,
            revisions=table.ledger.revisions(),
            source=table.named,
            same_as=table.same_as,
            certificate=proof.make(table.ledger, releases),
        )
        return (table.ledger.url if unused else None), record
