"""`leakcap --server`: the commands that ask a curator, and print what they print of data at hand."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leakcap.errors import InvalidParameter, InvalidQuery

if TYPE_CHECKING:
    from leakcap.client import Connection, RemoteTable
    from leakcap.release import Query, Release
    from leakcap.report.records import ReleaseRecord
    from leakcap.statement import Statement

__all__ = [
    "ASKING",
    "SERVER",
    "Server",
    "agreed_to_pay",
    "asked_server",
    "awaited",
    "connection_to",
    "given_server",
    "record_of",
    "refuse_at_hand",
    "remote_table",
    "required_server",
]

ASKING = frozenset({"sql", "release", "preview", "budget", "datasets", "job", "login", "logout", "mcp"})
"""The commands that go with `--server`."""


@dataclass(frozen=True)
class Server:
    """Which curator is asked, of which of its data sets; None where there is only one."""

    url: str
    dataset: str | None = None


SERVER: ContextVar[Server | None] = ContextVar("server", default=None)
"""What `leakcap --server` said, for the command that runs."""


def asked_server() -> Server | None:
    """The curator that the command asks; None where it works on data at hand."""
    return SERVER.get()


def required_server() -> Server:
    """The curator, where a command asks nothing else. Raises `InvalidParameter`."""
    found = asked_server()
    if found is None:
        raise InvalidParameter(
            "`--server` is missing: leakcap --server https://curator.example.org … (or LEAKCAP_SERVER)."
        )
    return found


def connection_to(url: str) -> Connection:
    """A connection under the token that was kept."""
    from leakcap.client import connect

    return connect(url)


def remote_table(connection: Connection, server: Server) -> RemoteTable:
    """The data set that is asked. Raises `InvalidQuery` where there are several and none was named."""
    if server.dataset is not None:
        return connection[server.dataset]
    names = [one["name"] for one in connection.datasets()]
    if len(names) != 1:
        told = f"Name one of {', '.join(names)}" if names else "You have a role in none"
        raise InvalidQuery(f"`--dataset` must say which data set is asked. {told}.")
    return connection[str(names[0])]


def refuse_at_hand(**options: object) -> None:
    """Refuse what is about data, policy or ledger at hand: the curator has them."""
    for name, value in options.items():
        if value not in (None, "", False):
            raise InvalidQuery(
                f"`--{name.replace('_', '-')}` must be left out with `--server`: data, policy and ledger are "
                "the curator's. Nothing was spent."
            )


def agreed_to_pay(
    table: RemoteTable, queries: Sequence[Query], *, fresh: bool, yes: bool, json_: bool
) -> None:
    """New noise is paid for only where somebody agrees."""
    from leakcap.cli.consent import ask_to_pay

    if fresh:
        price = sum(one.price.epsilon for one in table.preview(queries))
        ask_to_pay(price, table.budget(), yes=yes, json_=json_)


def record_of(
    table: RemoteTable,
    releases: Sequence[Release],
    stated: Callable[[Statement], Statement] = lambda total: total,
    report: str | None = None,
) -> ReleaseRecord:
    """What was released, what everything told so far tells, and what is left."""
    from leakcap.report.records import ReleaseRecord

    total = stated(_so_far(table, releases))
    return ReleaseRecord.of(table.policy, releases, total, table.budget(), report=report)


def _so_far(table: RemoteTable, releases: Sequence[Release]) -> Statement:
    """What one was told; where all of it was somebody else's answers, which are repeated for free, that of
    these."""
    from leakcap.release.results.exposure import exposure_of, exposure_of_plan
    from leakcap.statement import statement_of

    try:
        return table.statement()
    except InvalidQuery:
        prices = [one.price for one in releases]
        each = [exposure_of(one.price, one.name) for one in releases]
        return statement_of(exposure_of_plan(prices, each, table.policy))


def given_server(url: str | None, dataset: str | None, command: str | None, *, said: bool) -> None:
    """Note what `--server` says. Raises `InvalidParameter` for a command that asks nobody."""
    if url is None or (command not in ASKING and not said):
        SERVER.set(None)
    elif command in ASKING:
        SERVER.set(Server(url, dataset or os.environ.get("LEAKCAP_DATASET") or None))
    else:
        raise InvalidParameter(
            f"`leakcap {command}` works on data at hand. Leave out `--server`: it goes with "
            f"{', '.join(sorted(ASKING))}."
        )


@contextmanager
def awaited(server: Server) -> Iterator[None]:
    """A question that waits, or whose answer was lost, is told as the terminal needs it."""
    from leakcap.client import AwaitingApproval, NoAnswer

    try:
        yield
    except NoAnswer as error:
        told = str(error).partition(" Whether it was paid")[0]
        raise error.saying(
            f"{told} Whether it was paid for, only the curator knows. Ask again without --fresh: an answer "
            "that was recorded is repeated for free."
        ) from None
    except AwaitingApproval as error:
        number = "" if error.job is None else error.job.id
        waits = "" if error.job is None else f": {error.job.state}"
        # What needs no approval is being worked on, and may have been paid for.
        spent = ", and nothing was spent" if error.job is None or error.job.needed else ""
        raise error.saying(
            f"There is no answer yet{spent}: job {number}{waits}. Later: "
            f"leakcap --server {server.url} job {number}"
        ) from None
