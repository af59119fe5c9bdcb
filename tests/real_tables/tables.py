"""Real tables, each with the policy that its publisher could have written down before seeing a row."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Real:
    """A table: how to get it, its policy's columns, and what to ask: a number, and a key to group by."""

    name: str
    load: Callable[[], Any]
    columns: dict[str, Any]
    number: str
    by: str
    epsilon: float

    @property
    def policy(self) -> dict[str, Any]:
        """Add/remove-one, rows."""
        return {
            "dataset": self.name,
            "neighbours": "add-remove-one",
            "caps": {"epsilon": 1e6},
            "columns": self.columns,
        }

    def frame(self) -> pd.DataFrame:
        """All of it, the second route of every exact answer."""
        data = self.load()
        return pd.read_parquet(data) if isinstance(data, Path) else data


def fair() -> pd.DataFrame:
    """Fair's survey of 1974: 6,366 women."""
    from statsmodels.datasets import fair as source

    return source.load_pandas().data.astype({"children": float, "religious": int})


def anes96() -> pd.DataFrame:
    """The American National Election Study of 1996: 944 people."""
    from statsmodels.datasets import anes96 as source

    return source.load_pandas().data.astype({"PID": int})


def diabetes() -> pd.DataFrame:
    """442 patients of Efron, Hastie, Johnstone & Tibshirani, in the units in which they were measured."""
    from sklearn.datasets import load_diabetes

    found: pd.DataFrame = load_diabetes(as_frame=True, scaled=False).frame
    return found.astype({"sex": int})


def flights() -> Path:
    """Three million flights of 2001, fetched once."""
    if shutil.which("npm") is None and not (ROOT / "build" / "data" / "flights-3m.parquet").exists():
        pytest.fail("npm is not installed: the flights table cannot be fetched (scripts/ensure-flights).")
    done = subprocess.run([ROOT / "scripts" / "ensure-flights"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(done.stderr)
    return ROOT / "build" / "data" / "flights-3m.parquet"


TABLES = [
    Real(
        "fair",
        fair,
        {"age": {"bounds": [15.0, 60.0]}, "religious": {"keys": [1, 2, 3, 4]}},
        "age",
        "religious",
        1.0,
    ),
    Real(
        "anes96",
        anes96,
        {"age": {"bounds": [17.0, 100.0]}, "PID": {"keys": list(range(7))}},
        "age",
        "PID",
        2.0,
    ),
    Real("diabetes", diabetes, {"bmi": {"bounds": [10.0, 60.0]}, "sex": {"keys": [1, 2]}}, "bmi", "sex", 2.0),
    Real(
        "flights",
        flights,
        {"delay": {"bounds": [-60.0, 300.0]}, "origin": {"keys": ["ATL", "DFW", "JFK", "LAX", "ORD", "SFO"]}},
        "delay",
        "origin",
        0.1,
    ),
]


def clamped(values: Any, bounds: list[float]) -> np.ndarray:
    """What the policy lets count."""
    return np.clip(np.asarray(values, dtype=float), *bounds)
