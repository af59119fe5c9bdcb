"""What people see computes nothing: `report/` draws records, `web/` asks the rooms below and draws.

No arithmetic on arrays, no solver, no accountant, no noise: those are imported nowhere in these rooms, not
for types and not within a function.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import leakcap

SOURCE = Path(leakcap.__file__).parent
SHOWING = ("report", "web")
ARITHMETIC = {"numpy", "scipy", "mpmath", "fractions", "decimal", "statistics", "random"}
COMPUTING = {"accounting", "capacities", "divergence", "mechanism", "sampling", "utility", "numeric"}
# Digits are read and rounded outward exactly; bars are sums, rounded up.
SHOWN = {
    "web/reading.py": {"decimal"},
    "report/words/wording.py": {"fractions", "decimal"},
    "report/terminal/spending.py": {"leakcap.numeric.rounding"},
}


def computing(text: str) -> set[str]:
    """What a file imports that computes."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "leakcap":
            names |= {f"leakcap.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {
        name
        for name in names
        for head, _, rest in [name.partition(".")]
        if (rest.partition(".")[0] in COMPUTING if head == "leakcap" else head in ARITHMETIC)
    }


@pytest.mark.parametrize("room", SHOWING)
def test_what_is_shown_is_computed_elsewhere(room: str) -> None:
    files = sorted((SOURCE / room).rglob("*.py"))
    assert len(files) > 10
    for file in files:
        allowed = SHOWN.get(str(file.relative_to(SOURCE)), set())
        assert computing(file.read_text(encoding="utf-8")) == allowed, file


def test_planted_arithmetic_is_found() -> None:
    planted = {
        "import numpy as np": {"numpy"},
        "from scipy.special import ndtr": {"scipy.special"},
        "def f():\n    from leakcap.capacities import capacity": {"leakcap.capacities"},
        "if TYPE_CHECKING:\n    from leakcap.accounting.loss import PrivacyLoss": {"leakcap.accounting.loss"},
        "from leakcap import mechanism": {"leakcap.mechanism"},
        "import leakcap.sampling": {"leakcap.sampling"},
        "import math\nfrom leakcap.release import Release": set(),
    }
    assert {text: computing(text) for text in planted} == planted
