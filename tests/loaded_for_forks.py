"""What the process that others are forked from has loaded: all that a first spend of a table needs."""

import duckdb
import psycopg
import pyarrow
import sqlalchemy.dialects.postgresql.psycopg

from leakcap.ledger import Caps, Charge, Ledger, Spend
from leakcap.models import PrivateGradientDescent
from leakcap.release import PrivateTable

__all__ = ["PrivateGradientDescent", "PrivateTable", "duckdb", "psycopg", "pyarrow", "sqlalchemy"]

with Ledger.open("sqlite://", dataset="d", policy="0" * 8, caps=Caps(1.0)) as ledger:
    ledger.reserve([Charge("q", "", Spend(0.1))])
