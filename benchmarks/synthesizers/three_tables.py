"""The tables that synthesizers are compared on, as whole numbers from 0 on."""

from __future__ import annotations

import json
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.parquet
from numpy.typing import NDArray

__all__ = ["ADULT", "TABLES", "classes", "written"]

EXAMPLES = Path(__file__).parents[2] / "examples"
ADULT = {
    "age": 74, "workclass": 9, "fnlwgt": 100, "education": 16, "marital": 7, "occupation": 15,
    "relationship": 6, "race": 5, "sex": 2, "capital": 100, "hours": 99, "income": 2,
}  # fmt: skip
# Public ranges of the patients' measurements, in eight bands each.
NUCLEI = {
    "mean_radius": (5, 29), "mean_texture": (9, 41), "mean_smoothness": (0.05, 0.17),
    "mean_symmetry": (0.1, 0.3), "mean_concavity": (0, 0.45), "worst_radius": (7, 39),
    "worst_texture": (11, 51), "worst_concavity": (0, 1.3),
}  # fmt: skip
BANDS = 8
Codes = dict[str, NDArray[np.int64]]


def classes(columns: Mapping[str, int], rows: int, seed: int) -> Codes:
    """Rows of twelve latent classes; in each the keys are skewed in a way of their own."""
    draw = np.random.default_rng(seed)
    own = draw.choice(12, rows, p=draw.dirichlet(np.ones(12)))
    found = {}
    for name, size in columns.items():
        base = np.arange(1, size + 1) ** -1.2
        shares = np.array([draw.dirichlet(base / base.sum() * size / 4 + 1e-3) for _ in range(12)])
        ends = shares.cumsum(axis=1)[own]
        found[name] = np.minimum((draw.random(rows)[:, None] > ends).sum(axis=1), size - 1)
    return found


def hospital() -> tuple[dict[str, int], Codes]:
    """569 patients: a diagnosis, and eight measurements in bands."""
    table = pyarrow.parquet.read_table(EXAMPLES / "hospital" / "patients.parquet")
    codes = {"diagnosis": (table["diagnosis"].to_numpy() == "malignant").astype(np.int64)}
    for name, (low, high) in NUCLEI.items():
        place = (table[name].to_numpy() - low) / (high - low) * BANDS
        codes[name] = np.clip(np.floor(place), 0, BANDS - 1).astype(np.int64)
    return {name: 2 if name == "diagnosis" else BANDS for name in codes}, codes


def stays() -> tuple[dict[str, int], Codes]:
    """200,000 stays in a hospital; each stands for itself here."""
    table = runpy.run_path(str(EXAMPLES / "stays" / "make.py"))["stays"]()
    number = {name: table[name].to_numpy() for name in ("age", "cost")}
    month = pyarrow.compute.month(table["admitted"]).to_numpy()
    nights = pyarrow.compute.days_between(table["admitted"], table["discharged"]).to_numpy()
    codes = {
        "month": month - 1,
        "age": np.clip(number["age"] // 5, 0, 23),
        "nights": np.clip(nights, 0, 30),
        "cost": np.clip(number["cost"] // 500, 0, 39),
    }
    sizes = {"month": 12, "age": 24, "nights": 31, "cost": 40}
    for name in ("sex", "ward", "emergency", "diagnosis"):
        own = table[name].to_numpy(zero_copy_only=False)
        codes[name] = np.unique(own, return_inverse=True)[1]
        sizes[name] = int(codes[name].max()) + 1
    return sizes, {name: own.astype(np.int64) for name, own in codes.items()}


TABLES = {"hospital": hospital, "adult": lambda: (ADULT, classes(ADULT, 48_842, 1)), "stays": stays}


def written(name: str, folder: Path) -> tuple[dict[str, int], Codes]:
    """Write `codes.npz`, `codes.parquet` and `sizes.json`, what all are given, and return the same."""
    sizes, codes = TABLES[name]()
    stored: Mapping[str, Any] = codes
    np.savez(folder / "codes.npz", **stored)
    data: Any = pyarrow.table({column: pyarrow.array(own) for column, own in codes.items()})
    pyarrow.parquet.write_table(data, folder / "codes.parquet")
    (folder / "sizes.json").write_text(json.dumps(sizes))
    return sizes, codes
