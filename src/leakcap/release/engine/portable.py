"""What of a table's data goes into a pickle: where it lies, or a data frame itself. No password does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from leakcap.credentials import may_hold_secret, shown_url
from leakcap.errors import DataError
from leakcap.release.engine.frames import is_frame
from leakcap.release.engine.locations import is_database, is_server

__all__ = ["portable", "portable_tables"]


def portable(data: object) -> object:
    """The data as another process on this machine can open it: an absolute path, a URL, a data frame.

    Raises `DataError` for what belongs to its process, and for a URL with a password.

    >>> portable("visits.parquet") == Path("visits.parquet").absolute()
    True
    >>> portable("postgresql://ann:pw@db/x")
    Traceback (most recent call last):
    leakcap.errors.DataError: `postgresql://ann@db/x` was opened with a password, or a parameter that ...
    """
    if isinstance(data, str) and is_server(data):
        if may_hold_secret(data):
            raise DataError(
                f"`{shown_url(data)}` was opened with a password, or a parameter that may be one, and a "
                "pickle would carry it. Leave it to `~/.pgpass` or the environment (`PGPASSWORD`)."
            )
        return data
    if isinstance(data, str | Path):
        return Path(data).absolute()
    if is_frame(data) and type(data).__name__ != "LazyFrame":
        return data
    raise DataError(
        f"A table over a {type(data).__name__} cannot be pickled: it belongs to its process. Open the table "
        "from a path, a URL, or a pandas, Polars or Arrow table."
    )


def portable_tables(data: object, tables: Mapping[str, object]) -> dict[str, object]:
    """The tables beside it; those stored in the same database by their names there."""
    named = isinstance(data, str | Path) and (is_server(str(data)) or is_database(data))
    return {
        name: other if named and isinstance(other, str) else portable(other) for name, other in tables.items()
    }
