"""`leakcap job`: a question that waits for approval, and its answer."""

from __future__ import annotations

from typing import Annotated

import typer

from leakcap.cli.printing import Json, console, print_record, say
from leakcap.cli.remote import connection_to, record_of, required_server
from leakcap.errors import DataError

__all__ = ["job"]


def job(
    number: Annotated[str, typer.Argument(help="The job's number.", show_default=False)],
    wait: Annotated[
        float, typer.Option(min=0.0, max=86_400.0, help="Wait so many seconds for it to end.")
    ] = 0.0,
    json_: Json = False,
) -> None:
    """Where a question stands that had to be approved; once it is done, its answer, which costs nothing more.

    Example: leakcap --server https://curator.example.org job 0123456789abcdef
    """
    server = required_server()
    with connection_to(server.url) as connection:
        found = connection.jobs[number].wait(wait)
        if not found.ended and not json_:
            say(f"Job {found.id} is {found.state}.")
            return
        releases = found.result()
        dataset = found.told.get("dataset")
        if not isinstance(dataset, str):
            raise DataError("The curator's job names no data set.")
        record = record_of(connection[dataset], releases)
    if json_:
        print_record(record)
        return
    from leakcap.report.terminal.tables import print_release

    print_release(console(), record, every="--json")
