"""What can be asked of a table: one family of statistics a file, found by being here.

A new statistic is a subclass of `Statistic` in a module of this package, or in a package of its own that
names the class among its entry points `leakcap.statistics`; see `docs/architecture.md`.
"""

from __future__ import annotations

from leakcap.release.statistics.base import Expected, Statistic, statistic_of, statistics

__all__ = ["Expected", "Statistic", "statistic_of", "statistics"]
