"""Models whose fit is a private release: paid from a ledger before any noise is drawn."""

from __future__ import annotations

from leakcap.models.linear import LinearRegression

__all__ = ["LinearRegression"]
