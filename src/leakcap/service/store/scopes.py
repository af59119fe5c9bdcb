"""What a token may be narrowed to."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from leakcap.errors import require

__all__ = ["TokenScope", "named_scopes"]


class TokenScope(StrEnum):
    """A part of what a person may do; a token with scopes does nothing else."""

    READ = "read"
    ASK = "ask"
    APPROVE = "approve"
    AUDIT = "audit"
    OWN = "own"


def named_scopes(scopes: Iterable[str]) -> frozenset[TokenScope]:
    """The scopes of these names. Raises `InvalidParameter` for a name that is none.

    >>> sorted(named_scopes(["read", "ask"]))
    [<TokenScope.ASK: 'ask'>, <TokenScope.READ: 'read'>]
    """
    names = tuple(scopes)
    rule = f"be some of {', '.join(TokenScope)}"
    require(set(names) <= set(TokenScope), "scopes", "token", rule, names)
    return frozenset(TokenScope(one) for one in names)
