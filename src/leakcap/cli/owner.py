"""The commands of the owner, before the first spend: `init`, `check`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from leakcap.cli.owner_answers import asked, ends_of, keys_of, keys_within, named
from leakcap.cli.printing import Json, print_record, say
from leakcap.cli.targets import require_target
from leakcap.credentials import without_credentials
from leakcap.errors import InvalidParameter, InvalidQuery

__all__ = ["check", "init"]

_ALONE = (
    "This is exact, and for the owner alone: nothing was spent, and nothing recorded in a ledger or a log. "
    "Do not pass it on, and do not choose bounds or keys by it."
)

DataName = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A table: a CSV, Parquet or DuckDB file, or the URL of a server.",
        show_default=False,
    ),
]
TableName = Annotated[
    str | None, typer.Option("--table", help="Which table of a database.", show_default=False)
]


def init(
    data: DataName,
    table: TableName = None,
    dataset: Annotated[
        str | None, typer.Option(help="What the table is called; else as its file is.", show_default=False)
    ] = None,
    id_: Annotated[
        str | None, typer.Option("--id", help="The column that names a person.", show_default=False)
    ] = None,
    max_rows: Annotated[
        int | None, typer.Option(min=1, help="How many rows of a person count at most.", show_default=False)
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(min=1, help="How many people there are, where that is published.", show_default=False),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="The cap: the most ε of all releases together.", show_default=False)
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            help="Public bounds of a column, e.g. age=0:120, or two dates; may be repeated.",
            show_default=False,
        ),
    ] = None,
    keys: Annotated[
        list[str] | None,
        typer.Option(help="Public keys of a column, e.g. sex=F,M; may be repeated.", show_default=False),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            help="A column whose keys lie within those of another, e.g. district=region, with "
            "--keys 'district=North>Ashby,Newton;South>Newton'; may be repeated.",
            show_default=False,
        ),
    ] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask for what is public, one question after another.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The new file for it. Printed, else.", show_default=False),
    ] = None,
    json_: Json = False,
) -> None:
    """Draft a policy from the names and types of columns and from public answers, never from values.

    What is not answered is marked TODO. Nothing is spent: no row is looked at.

    Example: leakcap init examples/hospital/patients.parquet --id patient_id --bounds mean_radius=0:50
    """
    from leakcap.owner import PublicAnswers, draft
    from leakcap.owner.draft import todos
    from leakcap.release.engine import attach
    from leakcap.report.records import InitRecord

    if output is not None:
        require_target(output, "`--output`", kept=[data])
        if output.exists() or output.is_symlink():
            raise InvalidQuery(f"`--output` may not replace `{output}`. Name a new file.")
    columns = attach(data, table=table).columns()
    flat = named(keys, "--keys", "sex=F,M")
    inner = named(within, "--within", "district=region")
    for name, column in inner.items():
        if name not in flat:
            raise InvalidParameter(
                f"`--within` of `{name}` goes with its keys: --keys '{name}=KEY OF {column}>a,b;…'."
            )
    nested = {name: keys_within(flat.pop(name), name, column) for name, column in inner.items()}
    answers = PublicAnswers(
        dataset=dataset or table or Path(data).stem,
        id=id_,
        max_rows=max_rows,
        people=people,
        epsilon=epsilon,
        bounds={name: ends_of(text, name) for name, text in named(bounds, "--bounds", "age=0:120").items()},
        keys={name: keys_of(text) for name, text in flat.items()},
        within=nested,
    )
    text = draft(columns, asked(columns, answers) if ask else answers)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8")
    if json_:
        print_record(InitRecord.of(text, None if output is None else str(output)))
    elif output is None:
        say(text)
    else:
        questions = todos(text)
        left = f"{questions} questions are open, each marked TODO" if questions != 1 else "One TODO is open"
        say(f"The draft is in {output}. {left}. No row was looked at.")
        words = ["leakcap", "check", without_credentials(data), *(["--table", table] if table else [])]
        say(f"Next: {shlex.join([*words, '--policy', str(output)])}")


def check(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A query file (TOML), whose data, tables and policy are meant; or a table, with --policy.",
            show_default=False,
        ),
    ],
    policy: Annotated[
        Path | None, typer.Option("--policy", help="The policy (TOML) of a table.", show_default=False)
    ] = None,
    table: TableName = None,
    joined: Annotated[
        list[str] | None,
        typer.Option(
            help="A table of the policy and where it is, e.g. people=people.csv; may be repeated.",
            show_default=False,
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Show what is found also where the output is no terminal.")
    ] = False,
    json_: Json = False,
) -> None:
    """What in the data is not as the policy says: for the owner alone, before the first spend.

    Values that cannot be read, misspelt keys, missing ids, the form of a file.
    Exit code 1 where there is a problem.

    Example: leakcap check examples/hospital/release.toml --show
    """
    from leakcap.owner import DataFault
    from leakcap.owner import check as check_data
    from leakcap.owner.draft import todos
    from leakcap.policy import load_policy
    from leakcap.release import load_queries
    from leakcap.report.records import CheckRecord

    if not show and not sys.stdout.isatty():
        raise InvalidParameter(
            "What `leakcap check` finds are exact facts about people, and the output is no terminal. Add "
            "`--show` if only the owner reads it."
        )
    place: str | Path = data
    tables: dict[str, str | Path] = dict(named(joined, "--joined", "people=people.csv", plain_name=True))
    if data.lower().endswith(".toml"):
        if policy is not None or table is not None or joined:
            raise InvalidParameter(
                "A query file says `policy`, `table` and `tables` itself. Leave the options out."
            )
        file = load_queries(data)
        policy, place, table, tables = file.policy, file.data, file.table, dict(file.tables)
    if policy is None:
        raise InvalidParameter("`--policy` is missing: a table is checked against a policy.")
    known = load_policy(policy)
    found = list(check_data(place, known, table=table, tables=tables))
    left = todos(policy.read_text(encoding="utf-8"))
    if left:
        open_ = "1 of its questions is open, marked TODO."
        if left > 1:
            open_ = f"{left} of its questions are open, each marked TODO."
        found.append(DataFault(policy.name, "note", open_))
    problems = sum(one.grade == "problem" for one in found)
    if json_:
        print_record(CheckRecord.of(known.dataset, found))
    else:
        for one in found:
            say(f"{one.grade}: `{one.place}`: {one.text}")
        say(f"{_counted(problems, 'problem')}, {_counted(len(found) - problems, 'note')}. {_ALONE}")
    if problems:
        raise typer.Exit(1)


def _counted(many: int, what: str) -> str:
    return f"{many or 'no'} {what}{'' if many == 1 else 's'}"
