"""The number of a request in the ledger, under which it is paid for once, and what is no part of it."""

from __future__ import annotations

import hashlib

__all__ = ["TERMS", "request_number"]

TERMS = ("most", "policy")
"""What the curator adds to what was asked: on which terms it was let pass. A request stays the same under
other terms, and the first ones hold."""


def request_number(subject: str, dataset: str, key: str) -> str:
    """The number of a request of this person, about this data set, with this key: of one that is answered at
    once and of a job alike, so that one key never pays twice.

    >>> len(request_number("local:alice", "ward", "k1"))
    64
    """
    told = "\n".join(f"{len(part)}:{part}" for part in (subject, dataset, key))
    return hashlib.sha256(told.encode()).hexdigest()
