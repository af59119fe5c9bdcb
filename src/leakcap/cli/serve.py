"""`leakcap serve`: the explorer in a browser."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from leakcap.apart import sqlite_path
from leakcap.cli.printing import console
from leakcap.cli.release import LedgerUrl
from leakcap.cli.targets import require_durable
from leakcap.errors import InvalidParameter

__all__ = ["serve"]


def serve(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="A query file, for its policy, data and ledger; it, and others of the same ledger, for the "
            "tables, trees and running counts that are drawn.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(help="The policy, in place of the query file's.", show_default=False)
    ] = None,
    ledger: LedgerUrl = None,
    data: Annotated[
        str | None, typer.Option(help="The data, in place of the query file's.", show_default=False)
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="The table, where the data has several.", show_default=False)
    ] = None,
    allow_release: Annotated[
        bool, typer.Option("--allow-release", help="Let the page release, within the caps.")
    ] = False,
    analyst: Annotated[str, typer.Option(help="Who asks; recorded in the ledger.")] = "",
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 8421,
    name: Annotated[
        list[str] | None,
        typer.Option(help="A further host name that browsers use for it.", show_default=False),
    ] = None,
) -> None:
    """Open the explorer: what ε means, which ε to choose, what a mechanism or a release leaks.

    Only this machine can reach it unless --host says otherwise; then, and where a ledger is shown, it asks
    for a token, which is printed here once.

    Example: leakcap serve examples/hospital/release.toml
    """
    try:
        for module in ("fastapi", "python_multipart", "uvicorn"):
            importlib.import_module(module)
    except ImportError:
        raise InvalidParameter(
            "`leakcap serve` needs FastAPI, Uvicorn and python-multipart. Install them with "
            "`pip install 'leakcap[web]'`."
        ) from None
    from leakcap.web import Settings
    from leakcap.web import serve as listen

    given = {"policy": policy, "data": data, "table": table}
    given |= {"ledger": None if ledger is None else require_durable(ledger)}
    instead = {key: value for key, value in given.items() if value is not None}
    found: dict[str, Any] = _from_files(files or [], instead.keys()) | instead
    settings = Settings(
        **found,
        analyst=analyst,
        allow_release=allow_release,
        host=host,
        port=port,
        names=tuple(name or ()),
    )
    if settings.policy is not None:
        from leakcap.release import load_policy

        load_policy(settings.policy)
    out = console()

    def ready(address: str) -> None:
        out.print("The explorer is at", address, markup=False, soft_wrap=True)
        if settings.needs_token:
            out.print("The token in this address lets in whoever has it. It ends with this run.", style="dim")
        out.print("Ctrl-C stops it.", style="dim")

    # What was loaded is never garbage; what a server makes in weeks is, and is looked for as Python does.
    gc.freeze()
    gc.set_threshold(700, 10, 10)
    listen(settings, ready=ready)


def _from_files(files: Sequence[Path], instead: Collection[str] = ()) -> dict[str, Any]:
    """What the first file says of policy, data and ledger, and what all of them ask beside queries.

    Policies and ledgers must be the same file, however it is written, but for what is given `instead`.
    """
    if not files:
        return {}
    from leakcap.cli.asked import load_asked
    from leakcap.errors import InvalidQuery

    first, *others = asked = [load_asked(file) for file in files]
    for file, other in zip(files[1:], others, strict=True):
        for name in ("policy", "ledger"):
            if name not in instead and _place(getattr(other, name)) != _place(getattr(first, name)):
                raise InvalidQuery(f"`{name}` of `{file}` must be that of `{files[0]}`: a page shows one.")
    return {
        "policy": first.policy,
        "data": first.data,
        "table": first.table,
        "tables": first.tables,
        "ledger": require_durable(first.ledger),
        "edition": first.edition,
        "questions": tuple(question for one in asked for question in one.questions),
    }


def _place(named: Path | str) -> Path | str:
    """A file by where it is; a server's ledger as it is written."""
    if isinstance(named, Path):
        return named.resolve()
    file = sqlite_path(require_durable(named))
    return named if file is None else Path(file).resolve()
