"""`leakcap`: the entry point, and what it does with errors."""

from __future__ import annotations

import os
import sys

import typer

from leakcap.cli.attack import attack
from leakcap.cli.audit import audit
from leakcap.cli.channel import channel
from leakcap.cli.convert import convert
from leakcap.cli.dalenius import dalenius
from leakcap.cli.fit import fit
from leakcap.cli.ledger import budget, ledger
from leakcap.cli.release import preview, release
from leakcap.cli.report import report
from leakcap.cli.schema import schema
from leakcap.cli.serve import serve
from leakcap.cli.sql import sql
from leakcap.errors import LeakcapError

__all__ = ["app", "run"]

_STOPPED = "stopped. What was committed to the ledger stays spent."

app = typer.Typer(
    name="leakcap",
    help="Private statistics under durable caps, and what they leak: in words, nats and bits.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command()(release)
app.command()(preview)
app.command()(sql)
app.command()(fit)
app.command()(budget)
app.command()(convert)
app.add_typer(ledger)
app.command()(channel)
app.command()(dalenius)
app.command()(audit)
app.add_typer(attack)
app.command()(report)
app.command()(schema)
app.command()(serve)


def _version(value: bool) -> None:
    if value:
        from leakcap import __version__

        typer.echo(f"leakcap {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    pass


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
        _stop(f"`{error.filename or 'a file'}` cannot be used: {error.strerror or type(error).__name__}.", 2)
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
    from leakcap.plain import plain

    typer.echo(plain(f"leakcap: {' '.join(message.split())}"), err=True)
    sys.exit(code)


if __name__ == "__main__":
    run()
