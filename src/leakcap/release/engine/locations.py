"""Where data lies, by what it is called: a file with tables, a server, a cluster."""

from __future__ import annotations

from pathlib import Path

__all__ = ["is_database", "is_server", "is_spark_url"]

_POSTGRESQL = ("postgresql://", "postgresql+", "postgres://")


def is_server(data: str) -> bool:
    """Whether this is the URL of a server.

    >>> is_server("postgresql://ann@db/x"), is_server("visits.parquet")
    (True, False)
    """
    return is_spark_url(data) or data.startswith(_POSTGRESQL)


def is_database(data: str | Path) -> bool:
    """Whether a path is that of a DuckDB file, which holds several tables.

    >>> is_database("clinic.duckdb"), is_database("visits.parquet")
    (True, False)
    """
    return Path(data).suffix.lower() in {".duckdb", ".db", ".ddb"}


def is_spark_url(text: str) -> bool:
    """Whether this names a cluster: spark://host:port, sc://host:port (Spark Connect), local or local[n].

    >>> is_spark_url("sc://cluster:15002"), is_spark_url("local.parquet")
    (True, False)
    """
    return text.startswith(("spark://", "sc://", "local[")) or text == "local"
