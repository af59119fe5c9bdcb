"""Models whose fit is a private release: paid from a ledger before any noise is drawn."""

from __future__ import annotations

from leakcap.models.linear import LinearRegression
from leakcap.models.output import RidgeRegression

__all__ = ["LinearRegression", "RidgeRegression"]
