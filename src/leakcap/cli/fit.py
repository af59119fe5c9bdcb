"""The command `fit`: a model whose fit is a private release."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakcap.cli.certifying import AskedCertificate, Certificate, asked_certificate
from leakcap.cli.consent import Fresh, Yes, ask_to_pay
from leakcap.cli.printing import Json, console, print_record
from leakcap.cli.release import LedgerUrl
from leakcap.cli.targets import files_of, require_durable, require_target
from leakcap.errors import InvalidParameter

if TYPE_CHECKING:
    from leakcap.ledger import Ledger
    from leakcap.models import PrivateGradientDescent
    from leakcap.models.files import Lecture, ModelFile
    from leakcap.release import PrivateTable
    from leakcap.report.records.certificates import CertificateRecord

__all__ = ["fit"]


def fit(
    file: Annotated[Path, typer.Argument(help="The model file (TOML).", show_default=False)],
    ledger: LedgerUrl = None,
    analyst: Annotated[str, typer.Option(help="Who asks; recorded in the ledger.")] = "",
    fresh: Fresh = False,
    yes: Yes = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Where gradient descent keeps its state; beside the model file by default.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a descent that stopped. It is paid for.")
    ] = False,
    certificate: Certificate = None,
    delta: Annotated[
        float | None,
        typer.Option(help="Say ε at this δ too. The guarantee itself stays as it is.", show_default=False),
    ] = None,
    json_: Json = False,
) -> None:
    """Fit a model in private: linear (noisy moments), ridge, logistic or gradient descent.

    The guarantee is shown as Rényi divergences and capacities of every level. The same fit of the same table
    is repeated from the ledger for free, unless --fresh asks for new noise. A descent that was stopped or
    killed goes on with --resume.

    Example: leakcap fit examples/hospital/model.toml
    """
    from leakcap.models.files import Descent, Lecture, load_model

    asked = load_model(file)
    if isinstance(asked.fit, Lecture):
        if certificate is not None:
            raise InvalidParameter(
                "`--certificate` goes with a fit. A demonstration reads and spends nothing: leave it out."
            )
        _lecture(asked.fit, json_)
        return
    if delta is not None and not 0 < delta < 1:
        raise InvalidParameter(f"`--delta` must lie between 0 and 1. Got {delta:g}.")
    url = require_durable(asked.ledger if ledger is None else ledger)
    state = checkpoint or file.with_suffix(".checkpoint.json")
    if isinstance(asked.fit, Descent):
        # It is written beside itself first, and then put in its place.
        for path in (state, state.with_name(f"{state.name}.new")):
            require_target(path, "`--checkpoint`", (), [*files_of(asked, url), file])
    kept = [*files_of(asked, url), file, state, state.with_name(f"{state.name}.new")]
    proof = asked_certificate(certificate, None, kept)
    _fit(asked, url, analyst, (fresh, yes), resume, delta, json_, state, proof)
    proof.write()


def _fit(
    asked: ModelFile,
    ledger: str,
    analyst: str,
    consent: tuple[bool, bool],
    resume: bool,
    delta: float | None,
    json_: bool,
    checkpoint: Path,
    proof: AskedCertificate,
) -> None:
    from leakcap.ledger.unpaid import NothingPaid
    from leakcap.models import PrivateGradientDescent
    from leakcap.models.summary import summary_of
    from leakcap.progress import progress
    from leakcap.release import PrivateTable, load_policy
    from leakcap.release.opening import begun_by, unbegun, unpaid

    policy = load_policy(asked.policy)
    model = asked.fit.model(policy, analyst)
    if resume and not isinstance(model, PrivateGradientDescent):
        raise InvalidParameter("`--resume` goes with gradient descent, whose steps are many. Leave it out.")
    fresh, yes = consent

    def opened(place: Ledger | str) -> PrivateTable:
        return PrivateTable(
            asked.data, policy=policy, ledger=place, table=asked.table, analyst=analyst, edition=asked.edition
        )

    def run(table: PrivateTable) -> None:
        columns: dict[str, Any] = asked.fit.columns()
        if isinstance(model, PrivateGradientDescent):
            _descend(model, table, columns, checkpoint, resume=resume, fresh=fresh)
        else:
            model.fit_table(table, **columns, fresh=fresh)

    if first := begun_by(ledger):
        # What is refused leaves no empty ledger behind.
        with unpaid(ledger, policy) as held, opened(held) as table, suppress(NothingPaid):
            run(table)
        if fresh:
            ask_to_pay(None, unbegun(ledger, policy).balances(), yes=yes, json_=json_)
    with opened(ledger) as table:
        unused = not table.ledger.totals().entries
        if fresh and not first:
            ask_to_pay(None, table.budget(), yes=yes, json_=json_)
        with progress("fitting") as tick:
            if isinstance(model, PrivateGradientDescent):
                model.progress = lambda step, steps: tick(step / steps, f"step {step:,} of {steps:,}")
            run(table)
        summary = summary_of(model, asked.fit.features, neighbours=policy.neighbours, delta=delta)
        if unused and not json_:
            from leakcap.report.terminal.tables import print_new_ledger

            print_new_ledger(console(), table.ledger.url)
        _print(summary, table, proof.make(table.ledger), json_)


def _descend(
    model: PrivateGradientDescent,
    table: PrivateTable,
    columns: dict[str, Any],
    checkpoint: Path,
    *,
    resume: bool,
    fresh: bool,
) -> None:
    if checkpoint.suffix != ".json":
        raise InvalidParameter(f"`--checkpoint` must be a .json file. Got `{checkpoint}`. Nothing was spent.")
    if checkpoint.exists() and not resume:
        raise InvalidParameter(
            f"`{checkpoint}` is there: of a run that stopped and is paid for, which --resume goes on with. "
            "Remove the file to pay for another. Nothing was spent."
        )
    model.checkpoint = checkpoint
    try:
        if resume:
            model.resume_table(table, **columns)
        else:
            model.fit_table(table, **columns, fresh=fresh)
    except KeyboardInterrupt:
        if checkpoint.exists():
            typer.echo("leakcap: `leakcap fit --resume` goes on from here, without paying again.", err=True)
        raise
    checkpoint.unlink(missing_ok=True)


def _print(summary: Any, table: PrivateTable, certificate: CertificateRecord | None, json_: bool) -> None:
    from leakcap.release import exposure_so_far
    from leakcap.report.records import CapRecord, FitRecord, FittedRecord
    from leakcap.report.terminal.certified import print_certificate
    from leakcap.report.terminal.fitting import print_fit
    from leakcap.statement import statement_of

    total = statement_of(exposure_so_far(table.ledger.entries(), table.policy))
    if json_:
        print_record(FitRecord.of(table.policy.dataset, summary, total, certificate))
        return
    caps = tuple(map(CapRecord.of, table.budget()))
    out = console()
    print_fit(out, FittedRecord.of(summary), total.record(), caps)
    print_certificate(out, certificate)


def _lecture(asked: Lecture, json_: bool) -> None:
    from leakcap.models import lecture
    from leakcap.report.terminal.fitting import print_lecture

    public = {"M": 0.01, "N": 1.0, "P": 1.0}
    tables = lecture.neighbouring_tables(asked.rows)
    moved = [
        abs(a - b) for a, b in [[lecture.minimiser(t, P=1.0, ridge=r) for t in tables] for r in (0.0, 0.1)]
    ]
    facts = {
        "rows": float(asked.rows),
        "bound": lecture.lecture_bound(k=1, n=asked.rows, **public),
        "moved": moved[0],
        "ridge_bound": lecture.ridge_bound(n=asked.rows, ridge=0.1, **public),
        "ridge_moved": moved[1],
    }
    if json_:
        from leakcap.report.records import FitRecord

        print_record(FitRecord.demonstrated(facts))
        return
    print_lecture(console(), facts)
