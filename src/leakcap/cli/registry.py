"""`leakcap registry`: published entries of OpenDP's registry of deployments, read and explained."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from leakcap.cli.printing import Json, console, print_record

__all__ = ["registry"]

_LARGEST = 1_000_000


def registry(
    files: Annotated[
        list[Path], typer.Argument(help="Entries (.yaml), or folders of them.", show_default=False)
    ],
    json_: Json = False,
) -> None:
    """What published entries of OpenDP's registry of deployments promise, and what they leave open.

    ε, δ and ρ become a guess's chances, nats and odds, rounded up; what is missing or does not fit is said.
    Nothing is looked up: clone opendp/deployments-registry-data for what is published. A file that is no
    entry is refused in a line; where no file is one, the exit code is 2.

    Example: leakcap registry examples/registry
    """
    from leakcap.errors import DataError
    from leakcap.report.records.registry import RefusedEntry, RegistryRecord
    from leakcap.statement.deployments import PublishedEntry

    entries, refused = [], []
    for file in _found(files):
        try:
            entries.append(PublishedEntry.read(_loaded(file)))
        except DataError as error:
            refused.append(RefusedEntry(file=str(file), reason=str(error)))
    record = RegistryRecord.made(entries=tuple(entries), refused=tuple(refused))
    if json_:
        print_record(record)
    else:
        from leakcap.report.terminal.registry import print_registry

        print_registry(console(), record)
    if not entries:
        raise typer.Exit(2)


def _found(files: list[Path]) -> list[Path]:
    """The files, those of a folder by name. Raises `DataError` where there are none."""
    from leakcap.errors import DataError

    found = []
    for one in files:
        inside = sorted(path for path in one.glob("*.y*ml") if path.suffix in (".yaml", ".yml"))
        if one.is_dir() and not inside:
            raise DataError(f"The folder `{one}` has no .yaml file. Name one that has entries.")
        found += inside if one.is_dir() else [one]
    return found


def _loaded(file: Path) -> Any:
    """The content of a YAML file; the `entry` of a record of `leakcap annex --registry --json`."""
    from leakcap.errors import DataError

    try:
        yaml = import_module("yaml")
    except ModuleNotFoundError:
        raise DataError("To read entries leakcap needs PyYAML: pip install 'leakcap[registry]'.") from None
    try:
        with file.open("rb") as opened:
            text = opened.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise DataError("It is larger than a megabyte, and so no entry.")
        content = yaml.safe_load(text.decode("utf-8"))
    except OSError as error:
        raise DataError(f"It cannot be read: {error.strerror or type(error).__name__}.") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError):
        raise DataError("It is no YAML that can be read.") from None
    return content["entry"] if isinstance(content, dict) and "entry" in content else content
