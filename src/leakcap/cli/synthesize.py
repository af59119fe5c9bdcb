"""The command `synthesize`: a file of rows from tables that are released for one charge, or were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakcap.cli.asking import table_to_ask
from leakcap.cli.certifying import AskedCertificate, Certificate, asked_certificate
from leakcap.cli.consent import Fresh, Yes
from leakcap.cli.printing import Json, print_answer
from leakcap.cli.release import LedgerUrl, SameAs
from leakcap.cli.targets import require_durable, require_target
from leakcap.cli.values import require_values

if TYPE_CHECKING:
    from leakcap.report.records.synthesis import SynthesisRecord
    from leakcap.report.records.tables import TablesRecord
    from leakcap.synthesis.files import SynthesisFile
    from leakcap.synthesis.regression_terms import RegressionAsked
    from leakcap.tables.question import PlannedTables

__all__ = ["synthesize"]


def synthesize(
    output: Annotated[Path, typer.Option(help="Where the rows go: .csv or .parquet.", show_default=False)],
    file: Annotated[
        Path | None,
        typer.Argument(
            help="The file that asks for tables and rows (TOML). With --from it may be left out: only its "
            "`rows`, `weights` and `impossible` are read.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="A record that `leakcap tables --json` printed, or `--tables` wrote: the file is made from "
            "it alone, without data and ledger.",
            show_default=False,
        ),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="How many; as many as were released.", show_default=False)
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Makes the same file again; without it each differs.", show_default=False),
    ] = None,
    weights: Annotated[
        bool,
        typer.Option(
            "--weights",
            help="A column `weight`: for how many rows of the data a row of the file counts.",
        ),
    ] = False,
    ledger: LedgerUrl = None,
    analyst: Annotated[str, typer.Option(help="Who asks; recorded in the ledger.")] = "",
    fresh: Fresh = False,
    yes: Yes = False,
    same_as: SameAs = None,
    report: Annotated[
        Path | None, typer.Option(help="Where an HTML report goes.", show_default=False)
    ] = None,
    certificate: Certificate = None,
    tables: Annotated[
        Path | None,
        typer.Option(
            "--tables",
            help="Where the released tables go, with intervals and margins, for free, also chosen ones: a "
            "CSV file, a new folder that gets one per table, or a record (.json), which --from and "
            "`leakcap report` read.",
            show_default=False,
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Write a file of rows that agrees with released tables and tells no more than they do.

    The tables are paid by one charge, or known to the ledger; the file is computed from them alone, and any
    number of further files is free. A file for `leakcap tables` will do; with `choose` in it only so many of
    its tables are released, chosen by a private score, and a section `regression` has a regression of the
    file compared with a private one. With --from the tables come from a record of
    `leakcap tables`, or one that --tables wrote: whoever has it needs neither data nor ledger, and its word
    is taken that the tables were paid for.

    Example: leakcap synthesize examples/tables/microdata.toml --output patients.csv
    """
    from leakcap.errors import InvalidQuery
    from leakcap.report.render.html import write_html
    from leakcap.report.sources import page_of
    from leakcap.report.terminal.synthesis import print_synthesis
    from leakcap.synthesis.files import load_synthesis
    from leakcap.synthesis.microdata import ENDINGS, require_library

    if file is None and source is None:
        raise InvalidQuery(
            "`leakcap synthesize` needs a file that asks for tables, or `--from` with a record of "
            "`leakcap tables --json`. Nothing was spent or written."
        )
    if source is not None and (
        ledger is not None or fresh or same_as is not None or analyst or certificate is not None
    ):
        raise InvalidQuery(
            "With `--from` nothing is asked of a ledger: leave out `--ledger`, `--analyst`, `--fresh`, "
            "`--same-as` and `--certificate`. Nothing was spent or written."
        )
    wanted = None if file is None else load_synthesis(file)
    if source is not None and wanted is not None and wanted.choose is not None:
        raise InvalidQuery(
            f"`choose` of `{file}` asks for tables that are chosen from the data, and with `--from` they are "
            "those of the record. Leave out one of them. Nothing was spent or written."
        )
    regression = None if wanted is None else wanted.regression
    if source is not None and regression is not None and regression.priced:
        raise InvalidQuery(
            f"`[regression]` of `{file}` has a price, and with `--from` nothing is asked of a ledger. Leave "
            "out its `rho` or `epsilon`: the tables of the record are asked. Nothing was spent or written."
        )
    asked = None if wanted is None else wanted.tables
    url = None if asked is None else asked.ledger if ledger is None else ledger
    if url is not None and source is None:
        url = require_durable(url)
    kept = [one for one in (file, source, url) if one is not None]
    if asked is not None:
        kept += [asked.policy, asked.data, asked.ledger]
    require_target(output, "`--output`", ENDINGS, kept)
    if report is not None:
        require_target(report, "`--report`", (".html", ".htm"), [*kept, output])
    # A record's word is taken that its tables were paid for: there is no ledger to certify.
    proof = asked_certificate(certificate, None if source else report, [*kept, output])
    if tables is not None:
        written = [*kept, output, *([report] if report else []), *proof.files]
        require_values(tables, None, written, "`--tables`", (".csv", ".json"))
    if output.suffix.lower() == ".parquet":
        require_library("pyarrow", "`--output` to a Parquet file")
    if wanted is not None and rows is None:
        rows = wanted.rows
    impossible = () if wanted is None else wanted.impossible
    weights = weights or (wanted is not None and wanted.weights)
    drawn = {"rows": rows, "seed": seed, "impossible": impossible}
    if source is not None:
        record, unused = _from_record(source, output, drawn, weights, tables, regression), None
    else:
        assert wanted is not None
        assert url is not None
        record, unused = _from_ledger(
            wanted,
            url,
            output,
            drawn,
            weights,
            tables,
            analyst=analyst,
            fresh=fresh,
            yes=yes,
            same_as=same_as,
            json_=json_,
            proof=proof,
        )
    if report is not None:
        write_html(page_of(record, "reviewer"), report)
    print_answer(
        record,
        print_synthesis,
        began=unused,
        written=[("rows are", output), ("released tables are", tables), ("report is", report)],
        json_=json_,
    )
    proof.write()


def _from_record(
    source: Path,
    output: Path,
    drawn: Mapping[str, Any],
    weights: bool,
    tables: Path | None,
    regression: RegressionAsked | None,
) -> SynthesisRecord:
    """The file of a record's tables, and what it is made of; nothing else is read."""
    from leakcap.errors import InvalidParameter
    from leakcap.release.results.exposure import exposure_of_plan
    from leakcap.report.records.recovered import released_of
    from leakcap.report.records.synthesis import SynthesisRecord
    from leakcap.report.records.tables import TablesRecord
    from leakcap.report.sources import parsed_record
    from leakcap.statement import statement_of
    from leakcap.statement.restated import restated
    from leakcap.synthesis import compare_regression
    from leakcap.synthesis import synthesize as drawn_from

    told = parsed_record(source)
    if not isinstance(told, TablesRecord):
        raise InvalidParameter(
            "`--from` must be a record of tables, leakcap/tables/1, as `leakcap tables --json` prints it and "
            f"`leakcap synthesize --tables tables.json` writes it. Got {told.schema_name()}."
        )
    found = released_of(told)
    policy = found.planned.policy
    _check(found.planned, drawn, weights, regression)
    made = drawn_from(found, **drawn)
    made.write(output, weights=weights)
    _write_tables(told, tables)
    own = exposure_of_plan((), (), policy, [found.charge])
    return SynthesisRecord.of(
        made,
        output.name,
        statement_of(replace(own, title=f"this file of `{policy.dataset}`")),
        restated(told.so_far),
        told.caps,
        told.publication,
        source=told.source,
        same_as=told.same_as,
        from_record=source.name,
        weights=weights,
        regression=None if regression is None else compare_regression(made, regression),
    )


def _from_ledger(
    wanted: SynthesisFile,
    url: str,
    output: Path,
    drawn: Mapping[str, Any],
    weights: bool,
    tables: Path | None,
    *,
    analyst: str,
    fresh: bool,
    yes: bool,
    same_as: int | None,
    json_: bool,
    proof: AskedCertificate,
) -> tuple[SynthesisRecord, str | None]:
    """The file of tables that are paid for now or known to the ledger, and a ledger's address that is new."""
    from leakcap.release import exposure_so_far, load_policy
    from leakcap.report.records.base import CapRecord
    from leakcap.report.records.synthesis import SynthesisRecord
    from leakcap.report.records.tables import TablesRecord
    from leakcap.report.records.versions import SameAsRecord
    from leakcap.statement import statement_of
    from leakcap.synthesis import compare_regression
    from leakcap.synthesis import synthesize as drawn_from
    from leakcap.synthesis.choice import TableChoice
    from leakcap.synthesis.releasing import release_for_file
    from leakcap.tables.charge import charge_of_tables

    asked, choose, regression = wanted.tables, wanted.choose, wanted.regression
    policy = load_policy(asked.policy)
    planned = asked.question.flat(policy).planned(policy)
    _check(planned, drawn, weights, regression, chosen=choose is not None)
    who: dict[str, Any] = {"analyst": analyst, "edition": asked.edition}
    if choose is None:
        charge = charge_of_tables(planned, **who)
    else:
        charge = TableChoice.of(asked.question, policy, choose).charge(**who)
    own = None if regression is None else regression.question(asked.question)
    beside = [] if own is None else [charge_of_tables(own.flat(policy).planned(policy), **who)]
    with table_to_ask(
        asked, policy, url, charge, planned, beside=beside, same_as=same_as, fresh=fresh, yes=yes, json_=json_
    ) as (table, unused):
        found, compared = release_for_file(table, wanted.question, own, fresh=fresh)
        entries, balances = table.ledger.entries(), table.budget()
        total = statement_of(exposure_so_far(entries, policy))
        certified, kept = proof.make(table.ledger), None
        if tables is not None:
            kept = TablesRecord.of(
                found,
                total,
                balances,
                asked.publication,
                source=table.named,
                same_as=table.same_as,
                certificate=certified,
            )
    made = drawn_from(found, **drawn)
    made.write(output, weights=weights)
    _write_tables(kept, tables)
    of_file = exposure_so_far([entry for entry in entries if entry.id == found.entry], policy)
    record = SynthesisRecord.of(
        made,
        output.name,
        statement_of(replace(of_file, title=f"this file of `{policy.dataset}`")),
        total,
        tuple(map(CapRecord.of, balances)),
        asked.publication,
        source=table.named,
        same_as=None if table.same_as is None else SameAsRecord.of(table.same_as),
        weights=weights,
        regression=None if regression is None else compare_regression(made, regression, compared),
        certificate=certified,
    )
    return record, table.ledger.url if unused else None


def _write_tables(record: TablesRecord | None, target: Path | None) -> None:
    """The tables that the file is made of, where they are asked for."""
    if target is None or record is None:
        return
    from leakcap.plain import json_text
    from leakcap.report.render.margins import write_cells, write_each_table

    if target.suffix.lower() == ".json":
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json_text(record.to_dict(), indent=2) + "\n", encoding="utf-8")
        return
    (write_cells if target.suffix else write_each_table)(record, target)


def _check(
    planned: PlannedTables,
    drawn: Mapping[str, Any],
    weights: bool,
    regression: RegressionAsked | None,
    *,
    chosen: bool = False,
) -> None:
    """Refuse what cannot be fitted, drawn or compared, before anything is paid; with `chosen` nobody knows
    yet which tables there will be."""
    from leakcap.errors import InvalidQuery
    from leakcap.synthesis.impossible import Impossible
    from leakcap.synthesis.microdata import check_draw, check_weights
    from leakcap.synthesis.regression_terms import RegressionTerms
    from leakcap.synthesis.targets import check_fits

    check_fits(planned)
    if weights:
        check_weights(planned)
    if regression is not None:
        terms = RegressionTerms.of(regression, planned)
        if not regression.priced and chosen:
            raise InvalidQuery(
                "`[regression]` beside `choose` needs a `rho` or an `epsilon` of its own: which tables are "
                "chosen is not known before they are paid for. Nothing was spent or written."
            )
        if not regression.priced:
            terms.require_released()
    named = Impossible.of(planned, drawn["impossible"]).named
    check_draw(drawn["rows"], drawn["seed"], len(planned.axes), named)
