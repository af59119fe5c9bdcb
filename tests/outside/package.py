"""A package that is not leakcap's, with a statistic and a law of noise of its own."""

from __future__ import annotations

from pathlib import Path

__all__ = ["STATISTIC", "WITHOUT", "WITHOUT_A_PRICE", "installed"]

STATISTIC = '''
"""How many rows have a value, under noise of a law that leakcap does not know."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from leakcap.mechanism import TwoSidedGeometric
from leakcap.release.measurements.aggregates import Known
from leakcap.release.measurements.measurement import measured
from leakcap.release.measurements.sensitivity import Contribution
from leakcap.release.columns.grid import grid_for
from leakcap.release.statistics.counts import IntegerStatistic


@dataclass(frozen=True)
class OwnNoise(TwoSidedGeometric):
    """A law by a name of its own: the ledger has no event for it."""

    label: ClassVar[str] = "noise of another package"

    def event(self, *, steps, squared, most=None):
        return None


class Present(IntegerStatistic):
    """Rows whose value is known."""

    name = "present"
    sql = ("PRESENT",)

    def plan(self, asked):
        column, bounds = asked.bounded_column
        contribution = Contribution(1, 1, asked.policy.rows_per_unit, asked.cells.size)
        part = measured("count", Known(), contribution, asked.offer)
        part = replace(part, noise=OwnNoise(part.noise.scale, part.noise.sensitivity))
        value = grid_for(bounds, scale=Fraction(1)).tree(asked.query.column, bounds, column.fill)
        return asked.plan([part], values=[value])
'''

WITHOUT = STATISTIC.replace("part = replace(part, noise=", "part = replace(part, contribution=None, noise=")

WITHOUT_A_PRICE = STATISTIC.replace(
    "def event(", "def loss(self, **_):\n        return None\n\n    def event("
)


def installed(place: Path, name: str, text: str, entry: str) -> None:
    """A package of this name with one module of this text, and one entry point, where pip would put it."""
    package, about = place / name, place / f"{name}-1.0.dist-info"
    package.mkdir(parents=True)
    about.mkdir()
    (package / "__init__.py").write_text(text)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[leakcap.statistics]\n{name} = {entry}\n")
