"""A day's questions, the same each time: run alone, it says what stands in the ledger and what was repeated.

python -m release.session FOLDER
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from sqlalchemy import create_engine, select

from leakcap.errors import InvalidQuery
from leakcap.ledger import Ledger
from leakcap.ledger.schema import EVENT
from leakcap.models import LinearRegression, LogisticRegression, PrivateGradientDescent, RidgeRegression
from leakcap.release import PrivateTable, Query, load_policy
from leakcap.release.asking.budget import OBJECTIVES
from leakcap.release.planning.plan import plan_query
from release.asked import contents
from release.world import COLUMNS, table
from seeded import SeededSource

ROWS = 60
BASE: dict[str, Any] = {"dataset": "day", "columns": {**COLUMNS, "w": {"keys": "private", "type": "text"}}}
POLICIES: dict[str, dict[str, Any]] = {
    "present": {
        **BASE,
        "neighbours": "add-remove-one",
        "caps": {"epsilon": 1e5, "delta": 0.5, "alpha": 2.5},
        "max_rows": 100,
    },
    "contents": {**BASE, "neighbours": "replace-one", "rows": ROWS, "caps": {"coin_flip": 0.99999}},
    "people": {
        **BASE,
        "neighbours": "add-remove-one",
        "unit": {"id": "id", "max_rows": 3, "max_groups": 2},
        "caps": {"epsilon": 1e5, "delta": 0.5},
    },
}


def data() -> pyarrow.Table:
    rows = [
        {"id": i // 2, "x": i / 7, "y": 2 + i % 6, "d": "abc"[i % 3], "k": 1 + i % 2, "f": i % 2 == 0}
        for i in range(ROWS)
    ]
    return table(rows).append_column("w", pyarrow.array(["one", "two", "three"] * (ROWS // 3)))


def questions(policy: Any, epsilon: float) -> list[Query]:
    """Everything that the policy lets anybody ask, in groups and alone."""
    found = []
    for content in contents():
        for more in ({}, {"where": "x > 1.5"}, {"by": ("f",)}, {"by": ("w",), "delta": 1e-6}):
            query = Query(name=f"q{len(found)}", epsilon=epsilon, **content, **more)
            try:
                plan_query(query, policy)
            except InvalidQuery:
                continue
            found.append(query)
    return found


def released(private: PrivateTable) -> list[bool]:
    """Whether each answer of the day was repeated."""
    epsilon = 0.3 if private.policy.caps.coin_flip is None else 1e-3
    releases = private.release(questions(private.policy, epsilon))
    for objective in OBJECTIVES:
        batch = private.batch(epsilon=10 * epsilon, objective=objective)
        for weight, question in ((1.0, private.all.count()), (2.0, private.by("d").sum("x"))):
            batch = batch.add(question, weight=weight)
        releases += batch.add(private.all.mean("y"), weight=0.7).release()
    releases += (
        private.batch().add(private.all.count(), error=200.0).add(private.all.sum("x"), error=1e4).release()
    )
    return [release.repeated for release in releases]


def fitted(policy: Any, ledger: Ledger) -> list[bool]:
    """The same of models on arrays, whose state is named by hand."""
    draws = np.random.default_rng(5)
    X, y = draws.uniform(-0.5, 0.5, (ROWS, 2)), draws.uniform(-1, 1, ROWS)
    about: dict[str, Any] = {"policy": policy, "ledger": ledger, "source": SeededSource(7)}
    models = [
        LinearRegression(epsilon=0.7, bounds=(-1.0, 1.0), target_bounds=(-1.0, 1.0), **about),
        LinearRegression(epsilon=0.7, delta=1e-7, bounds=(-1.0, 1.0), target_bounds=(-1.0, 1.0), **about),
        RidgeRegression(epsilon=0.7, **about),
        RidgeRegression(epsilon=0.7, delta=1e-7, **about),
        PrivateGradientDescent(steps=3, expected_rows=ROWS, **about),
    ]
    fits = [model.fit(X, y, version="1").repeated_ for model in models]
    for delta in (0.0, 1e-7):
        logistic = LogisticRegression(epsilon=0.7, delta=delta, classes=(0, 1), **about)
        fits.append(logistic.fit(X, (y > 0).astype(int), version="1").repeated_)
    return fits


def day(folder: Path, hour: int, names: Iterable[str] = POLICIES) -> dict[str, Any]:
    """By policy: what was repeated, and the rows of the ledger."""
    found: dict[str, Any] = {}
    for name in names:
        content = POLICIES[name]
        policy, file = load_policy(content), folder / f"{name}.db"
        with Ledger.open(
            f"sqlite:///{file}",
            dataset=policy.dataset,
            policy=policy.fingerprint(),
            caps=policy.caps.ledger_caps(),
            text=policy.text(),
            clock=lambda: datetime(2030, 6, 1, hour, tzinfo=UTC),
        ) as ledger:
            source = SeededSource(3)
            private = PrivateTable(data(), policy=policy, ledger=ledger, version="1", source=source)
            repeated = released(private)
            if name == "present":
                repeated += fitted(policy, ledger)
            ledger.verify()
        with create_engine(f"sqlite:///{file}").connect() as connection:
            rows = [dict(row) for row in connection.execute(select(EVENT)).mappings()]
        found[name] = {"repeated": repeated, "rows": rows, "policy": policy.text()}
    return found


if __name__ == "__main__":
    secrets.token_hex = lambda size=32: "5e" * size  # the ledger's seed, and nothing else, is drawn so
    print(json.dumps(day(Path(sys.argv[1]), int(sys.argv[2]))))
