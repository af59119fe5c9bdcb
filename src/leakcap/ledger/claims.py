"""Certificates of what a ledger says: made when they are asked for, of the chain as it was read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from leakcap.certificate import certificate_of

__all__ = ["Certified", "merely_stated"]

Certified: TypeAlias = Callable[[], dict[str, Any]]
"""Makes a certificate."""


def merely_stated(most: float, unit: str) -> dict[str, Any]:
    """The certificate of a sum that no chain shows.

    >>> merely_stated(0.5, "rho")["kind"]
    'stated'
    """
    return certificate_of(None, (0.0, most), unit=unit, method="as charged", source="")
