"""Write examples/hospital/patients.parquet from the table that scikit-learn bundles.

Needs scikit-learn and pyarrow: `pip install scikit-learn pyarrow`, then `python scripts/make_hospital.py`.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
from sklearn.datasets import load_breast_cancer

TARGET = Path(__file__).parents[1] / "examples" / "hospital" / "patients.parquet"


def table() -> pyarrow.Table:
    bundle = load_breast_cancer()
    rows = len(bundle.target)
    names = [str(bundle.target_names[code]) for code in bundle.target]
    columns: dict[str, object] = {
        "patient_id": pyarrow.array(range(1, rows + 1), type=pyarrow.int32()),
        "diagnosis": pyarrow.array(names),
    }
    for index, feature in enumerate(bundle.feature_names):
        columns[str(feature).replace(" ", "_")] = pyarrow.array(bundle.data[:, index])
    return pyarrow.table(columns)


def main() -> None:
    patients = table()
    pyarrow.parquet.write_table(patients, TARGET, compression="zstd")
    print(f"{TARGET.name}: {patients.num_rows} rows, {patients.num_columns} columns")


if __name__ == "__main__":
    main()
