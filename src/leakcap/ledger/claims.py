"""Certificates of what a ledger says: made when they are asked for, of the chain as it was read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from leakcap.certificate import certificate_of

__all__ = ["Certified", "Provable", "merely_stated"]

Certified: TypeAlias = Callable[[], dict[str, Any]]
"""Makes a certificate."""


class Provable:
    """What is certified while the ledger that it was read from is at hand; a pickle of it is not."""

    def __getstate__(self) -> dict[str, Any]:
        """Without the way to the ledger."""
        return {**self.__dict__, "proved": None}


def merely_stated(most: float, unit: str, reference: str = "") -> dict[str, Any]:
    """The certificate of a sum that no chain shows.

    >>> merely_stated(0.5, "rho")["kind"]
    'stated'
    """
    return certificate_of(None, (0.0, most), unit=unit, method="as charged", source=reference)
