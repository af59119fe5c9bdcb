"""The number under which the ledger knows a request, so that it is paid for once."""

from __future__ import annotations

import hashlib

__all__ = ["request_number"]


def request_number(subject: str, dataset: str, key: str) -> str:
    """The number of a request of this person, about this data set, with this key: of one that is answered at
    once and of a job alike, so that one key never pays twice.

    >>> len(request_number("local:alice", "ward", "k1"))
    64
    """
    told = "\n".join(f"{len(part)}:{part}" for part in (subject, dataset, key))
    return hashlib.sha256(told.encode()).hexdigest()
