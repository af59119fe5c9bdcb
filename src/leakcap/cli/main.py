"""`leakcap`: the entry point, and what it does with errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import typer

from leakcap.cli.lazy import Home, LazyGroup
from leakcap.credentials import without_credentials
from leakcap.errors import LeakcapError
from leakcap.plain import plain

__all__ = ["app", "run"]

_STOPPED = "stopped. What was committed to the ledger stays spent."


class _Commands(LazyGroup):
    """All commands of `leakcap`."""

    homes: ClassVar = {
        "init": Home(
            "leakcap.cli.owner",
            "init",
            "Draft a policy from the names and types of columns and from public answers, never from values.",
        ),
        "check": Home(
            "leakcap.cli.owner",
            "check",
            "What in the data is not as the policy says: for the owner alone, before the first spend.",
        ),
        "release": Home(
            "leakcap.cli.release",
            "release",
            "Release the statistics of a query file, and state what they leak.",
        ),
        "preview": Home(
            "leakcap.cli.release",
            "preview",
            "The accuracy and the price of each query, without touching data or ledger.",
        ),
        "plan": Home(
            "leakcap.cli.plan",
            "plan",
            "The year ahead: accuracy by month under the caps, what is left, and where it breaks.",
        ),
        "sql": Home(
            "leakcap.cli.sql",
            "sql",
            "Answer a SELECT statement in private: counts, sums, means and quantiles, with WHERE and "
            "GROUP BY; HAVING, ORDER BY and LIMIT order and cut the noisy answer.",
        ),
        "tables": Home(
            "leakcap.cli.tables",
            "tables",
            "Release many tables of counts for one charge, with the least noise there is for all of them.",
        ),
        "hierarchy": Home(
            "leakcap.cli.hierarchy",
            "hierarchy",
            "Release counts at every level of a public tree for one charge: whole numbers that add up.",
        ),
        "synthesize": Home(
            "leakcap.cli.synthesize",
            "synthesize",
            "Write a file of rows that agrees with released tables and tells no more than they do.",
        ),
        "running": Home(
            "leakcap.cli.running",
            "running",
            "Release counts by period and their running totals, one period after the other, for one charge.",
        ),
        "fit": Home(
            "leakcap.cli.fit",
            "fit",
            "Fit a model in private: linear (noisy moments), ridge, logistic or gradient descent.",
        ),
        "budget": Home(
            "leakcap.cli.ledger",
            "budget",
            "What was spent over time, by whom and on what, and what is left under each cap.",
        ),
        "spend": Home(
            "leakcap.cli.spend",
            "spend",
            "Charge what other software spent on the same data: trainings, measurements, tables of losses.",
        ),
        "convert": Home(
            "leakcap.cli.convert",
            "convert",
            "What follows from a guarantee, by the best route, with the source of every step.",
        ),
        "ledger": Home(
            "leakcap.cli.revisions",
            "ledger",
            "Check, repair, export, amend, move, back up, restore; revise and withdraw; admit data sets.",
        ),
        "channel": Home(
            "leakcap.cli.channel",
            "channel",
            "Everything that a channel given as a matrix leaks: to any belief, under one, and towards "
            "a goal.",
        ),
        "disclosure": Home(
            "leakcap.cli.disclosure",
            "disclosure",
            "What rounding, suppression, cell keys or another method tells about one person in a published "
            "cell.",
        ),
        "dalenius": Home(
            "leakcap.cli.dalenius",
            "dalenius",
            "What a channel leaks about another secret that is correlated with its own, and what it "
            "cannot pass.",
        ),
        "audit": Home(
            "leakcap.cli.audit",
            "audit",
            "Certified lower bounds on what a mechanism leaks, from its outputs on two neighbouring inputs.",
        ),
        "attack": Home(
            "leakcap.cli.attack",
            "attack",
            "Attacks that reach the limits: what each gets, what the theory allows at most, and the ratio.",
        ),
        "report": Home(
            "leakcap.cli.report",
            "report",
            "One page that opens offline, as HTML and Markdown: numbers with their formulas, and what "
            "they mean.",
        ),
        "annex": Home(
            "leakcap.cli.annex",
            "annex",
            "What a publication's documents must say of privacy: layers, hazards, and risks as games.",
        ),
        "registry": Home(
            "leakcap.cli.registry",
            "registry",
            "What published entries of OpenDP's registry of deployments promise, and what they leave open.",
        ),
        "schema": Home(
            "leakcap.cli.schema",
            "schema",
            "The JSON Schema of what a command prints with --json; always JSON itself.",
        ),
        "login": Home(
            "leakcap.cli.signing",
            "login",
            "Sign in at a curator: with name and password, or with a code at an OpenID provider.",
        ),
        "logout": Home(
            "leakcap.cli.signing",
            "logout",
            "End the session at a curator, and forget its token.",
        ),
        "password": Home(
            "leakcap.cli.signing",
            "password",
            "Change the password of your account at a curator; you are signed in under the new one.",
        ),
        "datasets": Home(
            "leakcap.cli.signing",
            "datasets",
            "The data sets of a curator in which you have a role.",
        ),
        "job": Home(
            "leakcap.cli.job",
            "job",
            "Where a question stands that had to be approved; once it is done, its answer, which costs "
            "nothing more.",
        ),
        "mcp": Home(
            "leakcap.cli.agents",
            "mcp",
            "Serve a curator to a software agent: the Model Context Protocol over standard input and output.",
        ),
        "serve": Home(
            "leakcap.cli.serve",
            "serve",
            "Open the explorer: what ε means, which ε to choose, what a mechanism or a release leaks.",
        ),
        "curator": Home(
            "leakcap.cli.curator",
            "curator",
            "Begin and run a curator: many people ask, and nobody but the owner holds the data.",
        ),
    }

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _careful():
            return super().make_context(*args, **kwargs)

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        with _careful():
            return super().invoke(*args, **kwargs)


@contextmanager
def _careful() -> Iterator[None]:
    """A word that is not understood is repeated without its password, and without steering the terminal."""
    try:
        yield
    except Exception as error:
        told: Any = error
        if hasattr(error, "format_message") and isinstance(getattr(error, "message", None), str):
            told.message = plain(without_credentials(told.message))
        raise


app = typer.Typer(
    name="leakcap",
    cls=_Commands,
    help="Private statistics under durable caps, and what they leak: in words, nats and bits.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(value: bool) -> None:
    if value:
        from leakcap import __version__

        typer.echo(f"leakcap {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    context: typer.Context,
    server: str | None = typer.Option(
        None,
        envvar="LEAKCAP_SERVER",
        metavar="URL",
        help="Ask the curator at this address, for sql, release, preview, budget, datasets and job.",
        show_default=False,
    ),
    dataset: str | None = typer.Option(
        None, metavar="NAME", help="Which of the curator's data sets is asked.", show_default=False
    ),
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    from leakcap.cli.remote import given_server

    source = context.get_parameter_source("server")
    said = source is not None and source.name == "COMMANDLINE"
    given_server(server, dataset, context.invoked_subcommand, said=said)


def run() -> None:
    """Run the command line: one clear line and exit code 2 for what a user can mend, no traceback ever."""
    try:
        app()
    except LeakcapError as error:
        _stop(str(error), 2)
    except KeyboardInterrupt:
        _stop(_STOPPED, 130)
    except SystemExit as end:
        # Typer turns Ctrl-C into this code, and says nothing.
        if end.code == 130:
            _stop(_STOPPED, 130)
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        what = f"`{error.filename}` cannot be used" if error.filename else "the operating system refuses"
        _stop(f"{what}: {error.strerror or type(error).__name__}.", 2)
    except Exception as error:
        if _interrupted(error):
            _stop(_STOPPED, 130)
        if os.environ.get("LEAKCAP_DEBUG"):
            raise
        # The text of an unforeseen error may hold data: only its kind is shown.
        _stop(
            f"internal error ({type(error).__name__}). Set LEAKCAP_DEBUG=1 where the data may be seen, "
            "and report it.",
            70,
        )


def _interrupted(error: BaseException) -> bool:
    """Whether Ctrl-C is behind this: Python 3.11 wraps what happens while a class is being made."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _stop(message: str, code: int) -> None:
    typer.echo(plain(f"leakcap: {' '.join(without_credentials(message).split())}"), err=True)
    sys.exit(code)


if __name__ == "__main__":
    run()
