"""No floating point between the bytes and the noise, and no overflow."""

from __future__ import annotations

import ast
import sys
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import leakcap.sampling
from leakcap.sampling import discrete_gaussian, discrete_laplace
from leakcap.sampling.bernoulli import MAX_NATS
from leakcap.sampling.laplace import _magnitude
from leakcap.sampling.rational import MAX_DENOMINATOR, MAX_NUMERATOR, MAX_SCALE
from seeded import SeededSource

ROOM = Path(leakcap.sampling.__file__).parent
SAMPLERS = sorted(path for path in ROOM.glob("*.py") if path.name not in {"__init__.py", "rational.py"})
FLOATING = {
    "float",
    "float16",
    "float32",
    "float64",
    "longdouble",
    "complex",
    "exp",
    "log",
    "log1p",
    "expm1",
    "sqrt",
}
FLOATING |= {"true_divide", "divide", "random", "mean", "fmod", "Decimal"}


def floating_parts(source: str) -> list[str]:
    """What in a module can make a float: literals, true division, floating types, functions and imports."""
    found = []
    for node in ast.walk(ast.parse(source)):
        name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "name", None)
        if isinstance(node, ast.Constant) and isinstance(node.value, (float, complex)):
            found.append(f"literal {node.value}")
        elif isinstance(getattr(node, "op", None), ast.Div):
            found.append("true division")
        elif isinstance(name, str) and name in FLOATING:
            found.append(name)
    return found


def test_the_samplers_have_no_floating_part() -> None:
    known = {"bernoulli.py", "gaussian.py", "laplace.py", "source.py"}
    assert {path.name for path in SAMPLERS} >= known
    assert {path.name: floating_parts(path.read_text()) for path in SAMPLERS} == {
        path.name: [] for path in SAMPLERS
    }


@pytest.mark.parametrize(
    "line", ["x = 0.5", "x = 1 / 2", "x /= 2", "np.log(x)", "x.astype(np.float64)", "float(x)"]
)
def test_a_floating_part_is_found(line: str) -> None:
    assert floating_parts(line)


def is_floating(value: object) -> bool:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "fc"
    return isinstance(value, (float, complex))


def floats_seen(action: Any, inside: Path) -> tuple[int, list[str]]:
    """Run `action`, look at every local variable after every line of the files inside a folder."""
    seen: list[str] = []
    lines = 0

    def look(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        if Path(frame.f_code.co_filename).parent.name != inside.name:
            return None
        lines += 1
        values = {**frame.f_locals, "the result": argument if event == "return" else None}
        seen.extend(f"{frame.f_code.co_name}: {name}" for name, value in values.items() if is_floating(value))
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        action()
    finally:
        sys.settrace(before)
    return lines, seen


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(10, 3), Fraction(1 << 45)], ids=str)
def test_no_variable_ever_holds_a_float(scale: Fraction) -> None:
    """Unsigned with signed arrays would silently make floats in numpy: watched while it runs."""
    for action in (
        lambda: discrete_laplace(scale, 500, SeededSource(1)),
        lambda: discrete_gaussian(scale, 500, SeededSource(1)),
    ):
        lines, seen = floats_seen(action, ROOM)
        assert lines > 100
        assert seen == []


def test_the_watch_sees_a_float() -> None:
    def mixing() -> None:
        mixed = np.zeros(1, dtype=np.uint64) + np.zeros(1, dtype=np.int64)
        assert mixed.size

    assert floats_seen(mixing, Path(__file__).parent)[1]


@pytest.mark.parametrize(
    "scale",
    [
        MAX_SCALE,
        Fraction(MAX_NUMERATOR - 1, 1 << 15),
        Fraction(MAX_NUMERATOR - 1, MAX_DENOMINATOR - 1),
        Fraction(MAX_DENOMINATOR - 2, MAX_DENOMINATOR - 1),
        Fraction(1, 3),
    ],
    ids=str,
)
def test_the_largest_magnitude_fits(scale: Fraction) -> None:
    """The extreme of every scale the samplers take, against Python integers."""
    a, b = scale.numerator, scale.denominator
    largest = _magnitude(np.array([a - 1]), np.array([MAX_NATS - 1]), a, b)
    assert largest.tolist() == [(a - 1 + a * (MAX_NATS - 1)) // b]
    assert largest[0] < 1 << 56
