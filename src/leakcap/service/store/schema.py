"""The store's tables, and the version that says how to read them.

Times are text, in UTC with microseconds, so that they sort as they follow each other. Lists are JSON. No
answer stands in the store: a job's result is the numbers of its entries in the ledger.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    inspect,
    select,
    text,
)

from leakcap.service.store.errors import StoreError

__all__ = [
    "ACTS",
    "ATTEMPTS",
    "CERTIFICATES",
    "CONFIRMATIONS",
    "DECISIONS",
    "GRANTS",
    "HEAD",
    "JOBS",
    "PAUSES",
    "PENDING",
    "PEOPLE",
    "STORE_VERSION",
    "TOKENS",
    "UNAPPROVED",
    "make_tables",
    "require_store_version",
]

STORE_VERSION = 4
_BEFORE = "It is of a leakcap before the first release: begin a new one with `leakcap curator init`."
"""Of the schema that this leakcap writes and reads."""

METADATA = MetaData()
_NUMBER = BigInteger().with_variant(Integer, "sqlite")
_CREATION_LOCK = 0x1EA6CB0


def _text(name: str, *, key: bool = False, null: bool = False) -> Column[str]:
    return Column(name, Text, primary_key=key, nullable=null and not key)


SCHEMA = Table("curator_schema", METADATA, Column("version", Integer, nullable=False))

# `folded` is unique, so that no subject differs from another in case alone. Rows stay when a person leaves.
# `one_time` is until when a password that somebody else gave lets its person choose one of their own;
# `vouched` is when a provider last said that it knows the person.
PEOPLE = Table(
    "curator_people",
    METADATA,
    _text("subject", key=True),
    Column("folded", Text, nullable=False, unique=True),
    _text("provider"),
    _text("display"),
    Column("agent", Boolean, nullable=False),
    _text("password", null=True),
    _text("created"),
    _text("removed", null=True),
    _text("one_time", null=True),
    _text("vouched", null=True),
)

TOKENS = Table(
    "curator_tokens",
    METADATA,
    _text("id", key=True),
    _text("kind"),
    _text("subject"),
    _text("label"),
    _text("hash"),
    _text("scopes", null=True),
    _text("datasets", null=True),
    Column("agent", Boolean, nullable=False),
    _text("created"),
    _text("expires"),
    _text("revoked", null=True),
    _text("last_used", null=True),
)
Index("curator_tokens_subject", TOKENS.c.subject)

# The data set of a role that holds for the whole curator is the empty text.
GRANTS = Table(
    "curator_grants",
    METADATA,
    _text("subject", key=True),
    _text("dataset", key=True),
    _text("role", key=True),
    _text("by"),
    _text("time"),
)
Index("curator_grants_dataset", GRANTS.c.dataset)

CERTIFICATES = Table(
    "curator_certificates",
    METADATA,
    _text("thumbprint", key=True),
    _text("subject"),
    _text("by"),
    _text("time"),
)
Index("curator_certificates_subject", CERTIFICATES.c.subject)

# `place` is the row of UNAPPROVED that counts the job's question.
JOBS = Table(
    "curator_jobs",
    METADATA,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    _text("subject"),
    _text("dataset"),
    _text("kind"),
    _text("body"),
    _text("key"),
    _text("state"),
    Column("needed", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    _text("progress"),
    _text("result", null=True),
    _text("problem", null=True),
    _text("created"),
    _text("updated"),
    _text("claimed_by", null=True),
    _text("heartbeat", null=True),
    _text("place", null=True),
)
Index("curator_jobs_key", JOBS.c.subject, JOBS.c.key, unique=True)
Index("curator_jobs_state", JOBS.c.state, JOBS.c.number)
Index("curator_jobs_dataset", JOBS.c.dataset, JOBS.c.number)

DECISIONS = Table(
    "curator_decisions",
    METADATA,
    _text("job", key=True),
    _text("subject", key=True),
    _text("verdict"),
    _text("reason"),
    _text("time"),
)

PAUSES = Table(
    "curator_pauses", METADATA, _text("dataset", key=True), _text("by"), _text("reason"), _text("time")
)

# What waits for another administrator; `body` holds no password, only a hash.
PENDING = Table(
    "curator_pending",
    METADATA,
    _text("id", key=True),
    _text("act"),
    _text("by"),
    _text("subject"),
    _text("dataset"),
    _text("body"),
    Column("needed", Integer, nullable=False),
    _text("state"),
    _text("created"),
    _text("expires"),
)

CONFIRMATIONS = Table(
    "curator_confirmations", METADATA, _text("pending", key=True), _text("subject", key=True), _text("time")
)

# What was asked without approval, by attempt; amounts as they are written.
UNAPPROVED = Table(
    "curator_unapproved",
    METADATA,
    _text("id", key=True),
    _text("request"),
    _text("subject"),
    _text("dataset"),
    _text("time"),
    _text("epsilon", null=True),
    _text("rho", null=True),
)
Index("curator_unapproved_time", UNAPPROVED.c.dataset, UNAPPROVED.c.time)

ATTEMPTS = Table(
    "curator_attempts",
    METADATA,
    _text("key", key=True),
    Column("failures", Integer, nullable=False),
    _text("again"),
    _text("succeeded", null=True),
)
Index("curator_attempts_again", ATTEMPTS.c.again)

ACTS = Table(
    "curator_acts",
    METADATA,
    Column("seq", _NUMBER, primary_key=True, autoincrement=False),
    Column("format", Integer, nullable=False),
    _text("time"),
    _text("by"),
    _text("act"),
    _text("subject"),
    _text("dataset"),
    _text("details"),
    _text("previous"),
    _text("hash"),
)
Index("curator_acts_dataset", ACTS.c.dataset, ACTS.c.seq)

# One row: the last act. Whoever writes an act locks it.
HEAD = Table(
    "curator_head",
    METADATA,
    Column("id", _NUMBER, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    _text("hash"),
)


def make_tables(connection: Connection, start: str, label: str) -> None:
    """Make the tables in an empty database, in the caller's transaction; nothing where they already stand.

    Raises `StoreError` where other tables are: a store has a database of its own.
    """
    _lock(connection)
    tables = inspect(connection).get_table_names()
    if SCHEMA.name in tables:
        return
    if tables:
        raise StoreError(
            f"The database `{label}` already holds other tables (`{sorted(tables)[0]}`). Give the curator's "
            "store a database of its own."
        )
    METADATA.create_all(connection, checkfirst=False)
    connection.execute(SCHEMA.insert().values(version=STORE_VERSION))
    connection.execute(HEAD.insert().values(id=1, seq=0, hash=start))


def require_store_version(connection: Connection, label: str) -> None:
    """Raise `StoreError` for a database without a store, or with one of another schema."""
    if not inspect(connection).has_table(SCHEMA.name):
        raise StoreError(f"There is no store in `{label}`. Check the URL; `leakcap curator init` makes one.")
    found = _versions(connection)
    if len(found) != 1:
        raise StoreError(f"The store `{label}` does not say which schema it has. Restore it from a backup.")
    if found[0] != STORE_VERSION:
        newer = found[0] > STORE_VERSION
        remedy = "A newer leakcap wrote it: upgrade leakcap." if newer else _BEFORE
        raise StoreError(
            f"The store `{label}` has schema {found[0]}, this leakcap reads {STORE_VERSION}. {remedy}"
        )


def _versions(connection: Connection) -> list[int]:
    return list(connection.execute(select(SCHEMA.c.version)).scalars())


def _lock(connection: Connection) -> None:
    """Of several processes that begin at once one makes the tables. SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CREATION_LOCK})
