"""`leakcap disclosure`: what an office's method tells about one person."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakcap.cli.printing import Json, console, print_record
from leakcap.errors import InvalidInput

__all__ = ["disclosure"]


def disclosure(
    file: Annotated[
        Path,
        typer.Argument(help="The method: a TOML file with a [[method]] for each step.", show_default=False),
    ],
    published: Annotated[
        Path | None,
        typer.Argument(
            help="Tables that are published together, or a question about a group (.toml); or real counts "
            "(.csv), for the owner alone.",
            show_default=False,
        ),
    ] = None,
    show: Annotated[
        bool,
        typer.Option(
            "--show", help="Of real counts: show what is found also where the output is no terminal."
        ),
    ] = False,
    json_: Json = False,
) -> None:
    """What rounding, suppression, cell keys or another method tells about one person in a published cell.

    Reads no data. Each kind of cell, the worst first, beside noise of differential privacy that is as large.
    With tables: what all of them tell together, place by place, the worst first. With a tree of cells and
    margins: what they tell about a group, to somebody who may know the others by a law alone.
    With real counts, a CSV file with a column for each dimension and the count in the last: what their own
    cells tell, on the owner's terminal; nothing is recorded.

    Example: leakcap disclosure examples/disclosure/rounding.toml
    """
    if published is not None and (show or published.suffix.lower() == ".csv"):
        from leakcap.cli.disclosure_counts import weigh_counts

        weigh_counts(file, published, json_=json_, show=show)
        return
    if published is not None:
        from leakcap.disclosure.group_description import asks_about_a_group

        (_group if asks_about_a_group(published) else _whole_set)(file, published, json_)
        return
    from leakcap.disclosure.beside import noise_of_error
    from leakcap.disclosure.cells import GivenMethod
    from leakcap.disclosure.description import read_method
    from leakcap.disclosure.weighing import different_cells, largest_squared_error, mean_squared_error
    from leakcap.report.records.disclosure import DisclosureRecord
    from leakcap.report.terminal.disclosure import print_disclosure

    title, method = read_method(file)
    error, most = mean_squared_error(method), largest_squared_error(method)
    beside = noise_of_error(error) if error is not None and 100 * error >= 1 else ()
    record = DisclosureRecord.of(
        method,
        different_cells(method),
        squared_error=None if error is None else float(error),
        noise=beside,
        largest=(float(most), noise_of_error(most)[0]) if beside and most and most != error else None,
        endless=not isinstance(method, GivenMethod),
        file=file.name,
        title=title,
    )
    if json_:
        print_record(record)
    else:
        print_disclosure(console(), record)


def _whole_set(file: Path, tables: Path, json_: bool) -> None:
    """What a set of tables tells together."""
    from leakcap.disclosure.description import read_method
    from leakcap.disclosure.joint.keyed import begins_with_keys
    from leakcap.disclosure.set_description import read_tables
    from leakcap.disclosure.whole_set import WholeSet
    from leakcap.report.records.disclosure_sets import TableSetRecord
    from leakcap.report.terminal.disclosure_sets import print_table_set

    _, method = read_method(file)
    described, published, by, columns, kinds = read_tables(tables)
    _no_record_of_real(json_, described.assumed)
    whole = WholeSet(
        method, published, keys=described.keys if begins_with_keys(method) else None, size=described.household
    )
    risks = whole.worst(len(kinds))
    record = TableSetRecord.of(
        risks,
        [dict(zip(columns, kind, strict=True)) for kind in kinds],
        by=by,
        published=published.cells_counted,
        method=method.words,
        keys=None if whole.rows is None else whole.rows.keys,
        household=described.household,
        file=tables.name,
        title=described.title,
    )
    if json_:
        print_record(record)
    else:
        print_table_set(console(), record, real=not described.assumed)


def _group(file: Path, question: Path, json_: bool) -> None:
    """What a tree of cells and margins tells about a group."""
    from leakcap.disclosure.description import read_method
    from leakcap.disclosure.group_description import read_group, weigh_group
    from leakcap.disclosure.joint.keyed import begins_with_keys
    from leakcap.report.records.disclosure_groups import DisclosureGroupRecord
    from leakcap.report.terminal.disclosure_groups import print_group

    _, method = read_method(file)
    group = read_group(question)
    _no_record_of_real(json_, group.described.assumed)
    keys = group.described.keys if begins_with_keys(method) else None
    risk = weigh_group(group, method, keys)
    record = DisclosureGroupRecord.of(group, risk, method=method.words, keys=keys, file=question.name)
    if json_:
        print_record(record)
    else:
        print_group(console(), record, real=not group.described.assumed)


def _no_record_of_real(json_: bool, assumed: bool) -> None:
    if json_ and not assumed:
        raise InvalidInput(
            "`assumed` is false: real counts have no record. Leave out `--json`, or give assumed numbers."
        )
