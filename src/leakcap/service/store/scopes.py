"""What a token may be narrowed to."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["TokenScope"]


class TokenScope(StrEnum):
    """A part of what a person may do; a token with scopes does nothing else."""

    READ = "read"
    ASK = "ask"
    APPROVE = "approve"
    AUDIT = "audit"
    OWN = "own"
