"""What the process that others are forked from has loaded: what a first spend of a table and a store need."""

import duckdb
import psycopg
import pyarrow
import pytest
import sqlalchemy.dialects.postgresql.psycopg

from leakcap.ledger import Caps, Charge, Ledger, Spend
from leakcap.models import PrivateGradientDescent
from leakcap.release import PrivateTable
from leakcap.service.store import Store

__all__ = [
    "PrivateGradientDescent",
    "PrivateTable",
    "Store",
    "duckdb",
    "psycopg",
    "pyarrow",
    "pytest",
    "sqlalchemy",
]

with Ledger.open("sqlite://", dataset="d", policy="0" * 8, caps=Caps(1.0)) as ledger:
    ledger.reserve([Charge("q", "", Spend(0.1))])
