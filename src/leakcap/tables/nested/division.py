"""How ρ is divided among the tables of a workload with nested columns: one variance for each.

Noise of variance s_A² on the numbers of a table A makes a weighted squared error of v_A·s_A², and a row moves
these numbers by √p_A at most. By Cauchy and Schwarz Σv_A·s_A² is least, at a given Σp_A/(2s_A²), where each
table has its share of √(v_A·p_A).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leakcap.tables.workload import Places, Workload

__all__ = ["rho_shares"]

_FIXED = 128
"""Bits behind the point."""


def rho_shares(workload: Workload, tables: Sequence[Places]) -> dict[Places, int]:
    """√(v_A·p_A) of each of the tables, in steps of 2⁻¹²⁸; not below 1 of them."""
    errors = dict.fromkeys(tables, 0)
    for table, weight in workload.weights.items():
        for part in workload.margins(table):
            if part in errors:
                own = math.prod((way.error for way in workload.ways(table, part)), start=weight)
                errors[part] += math.floor(own * (1 << 2 * _FIXED))
    return {table: max(1, math.isqrt(error * _reach(workload, table))) for table, error in errors.items()}


def _reach(workload: Workload, table: Places) -> int:
    return workload.grain(table) ** 2 * math.prod(workload.bases[place].reach for place in table)
