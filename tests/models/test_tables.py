"""Models on tables behind a policy: every engine, people with several rows, answers that are remembered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pyarrow
import pyarrow.parquet
import pytest

from leakcap.errors import DataError, InvalidQuery
from leakcap.models import (
    LinearRegression,
    LinearSVC,
    LogisticLoss,
    LogisticRegression,
    PrivateDecisionTree,
    PrivateGradientDescent,
    RidgeRegression,
)
from leakcap.models.examples import of_table
from leakcap.models.moment_query import MomentQuery
from leakcap.models.moments import Moments
from leakcap.release import PrivateTable, attach
from ledger.server import emptied
from models.world import ledger_of, policy_of
from seeded import SeededSource

COLUMNS = {
    "x": {"bounds": [-1.0, 1.0]},
    "z": {"bounds": [0.0, 10.0]},
    "y": {"bounds": [-3.0, 3.0]},
    "k": {"keys": ["no", "yes"]},
}
ODD = [
    (1, 0.5, 2.0, 1.0, "yes"),
    (1, None, 2.0, 1.0, "no"),
    (2, float("nan"), 2.0, 1.0, "yes"),
    (2, 7.5, -3.0, 99.0, None),
    (3, -0.25, 9.75, -2.5, "else"),
    (None, 0.1, 5.0, 0.5, "no"),
]


def rows(seed: int, n: int) -> list[tuple[Any, ...]]:
    generator = np.random.default_rng(seed)
    x, z = generator.uniform(-1, 1, n), generator.uniform(0, 10, n)
    y = 0.5 + x - 0.1 * z + generator.normal(0, 0.2, n)
    return [(i, *map(float, r), "yes" if r[2] > 0 else "no") for i, r in enumerate(zip(x, z, y, strict=True))]


def arrow(given: list[tuple[Any, ...]]) -> pyarrow.Table:
    types = [pyarrow.int64(), *[pyarrow.float64()] * 3, pyarrow.string()]
    names = ("id", "x", "z", "y", "k")
    return pyarrow.table(
        {
            n: pyarrow.array([r[i] for r in given], t)
            for i, (n, t) in enumerate(zip(names, types, strict=True))
        }
    )


MODELS: dict[str, tuple[Any, str]] = {
    "linear": (lambda **o: LinearRegression(**o, epsilon=2000.0), "y"),
    "ridge": (lambda **o: RidgeRegression(**o, epsilon=1e5, radius=3.0, penalty=1.0), "y"),
    "descent": (
        lambda **o: PrivateGradientDescent(**o, noise_multiplier=0.05, sample_rate=1, steps=300, clip=2.0,
                                           learning_rate=0.5, expected_rows=2000),
        "y",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_table_gives_the_line_in_its_columns_units(name: str) -> None:
    policy = policy_of(columns=COLUMNS, max_rows=2000)
    make, target = MODELS[name]
    with ledger_of(policy) as ledger:
        table = PrivateTable(arrow(rows(1, 2000)), policy=policy, ledger=ledger)
        model = make(source=SeededSource(1)).fit_table(table, features=["x", "z"], target=target)
        found = [float(np.ravel(model.intercept_)[0]), *model.coef_]
        assert np.allclose(found, [0.5, 1.0, -0.1], atol=0.06)
        assert np.allclose(model.predict([[0.5, 4.0]]), [0.6], atol=0.06)


def test_classes_of_a_table() -> None:
    policy = policy_of(columns=COLUMNS, max_rows=2000)
    given = rows(2, 2000)
    X, k = [r[1:3] for r in given], [r[4] for r in given]
    with ledger_of(policy) as ledger:
        table = PrivateTable(arrow(given), policy=policy, ledger=ledger)
        asked: dict[str, Any] = {"features": ["x", "z"], "target": "k"}
        by_objective = LogisticRegression(epsilon=200.0, penalty=1.0, classes=("no", "yes"))
        by_objective.fit_table(table, **asked)
        by_descent = PrivateGradientDescent(
            loss=LogisticLoss(("no", "yes")),
            noise_multiplier=0.3,
            sample_rate=1,
            steps=100,
            learning_rate=3.0,
        )
        by_vectors = LinearSVC(epsilon=200.0, penalty=1.0, classes=("no", "yes")).fit_table(table, **asked)
        assert by_objective.score(X, k) > 0.89  # the line that made them is right for 0.911
        assert by_vectors.score(X, k) > 0.89
        by_tree = PrivateDecisionTree(epsilon=200.0, depth=4, classes=("no", "yes")).fit_table(table, **asked)
        assert by_tree.score(X, k) > 0.8  # steps along a slanted line
        assert by_descent.fit_table(table, **asked).score(X, k) > 0.89


CLASSIFIERS: dict[str, Any] = {"logistic": LogisticRegression, "svm": LinearSVC, "tree": PrivateDecisionTree}


def released(model: Any) -> Any:
    """What a fit released."""
    return model.counts_ if isinstance(model, PrivateDecisionTree) else model.coef_


def maker(name: str) -> tuple[Any, str]:
    """A model by its name, with the target that it is fitted to."""
    if name in MODELS:
        return MODELS[name]
    return lambda **o: CLASSIFIERS[name](**o, classes=("no", "yes")), "k"


@pytest.mark.parametrize("name", [*MODELS, *CLASSIFIERS])
def test_the_same_fit_of_the_same_table_is_free(name: str, tmp_path: Path) -> None:
    """Unless the file changed, the settings, or fresh noise is asked for. Arrays need a version."""
    policy, file = policy_of(columns=COLUMNS, max_rows=50), tmp_path / "t.parquet"
    pyarrow.parquet.write_table(arrow(rows(3, 50)), file)
    make, target = maker(name)
    with ledger_of(policy) as ledger:
        asked: dict[str, Any] = {"features": ["x", "z"], "target": target}
        first = make().fit_table(PrivateTable(file, policy=policy, ledger=ledger), **asked)
        again = make().fit_table(PrivateTable(file, policy=policy, ledger=ledger), **asked)
        assert (first.repeated_, again.repeated_) == (False, True)
        assert np.array_equal(released(first), released(again))
        assert again.entry_ == first.entry_
        assert len(ledger.entries()) == 1
        table = PrivateTable(file, policy=policy, ledger=ledger)
        assert not make().fit_table(table, **asked, fresh=True).repeated_
        assert not make().fit_table(table, **asked, where="x > 0").repeated_
        assert not make().fit_table(table, **{**asked, "features": ["z"]}).repeated_
        pyarrow.parquet.write_table(arrow(rows(4, 50)), file)
        changed = PrivateTable(file, policy=policy, ledger=ledger)
        assert not make().fit_table(changed, **asked).repeated_
        assert len(ledger.entries()) == 5


@pytest.mark.parametrize("name", ["linear", "ridge", "logistic", "svm", "tree"])
def test_arrays_are_remembered_by_their_version(name: str) -> None:
    policy = policy_of()
    X, y = np.array([[0.1], [0.4]]), np.array([0, 1])
    make: Any = {
        "linear": lambda **o: LinearRegression(**o, bounds=(0, 1), target_bounds=(0, 1)),
        "ridge": RidgeRegression,
        **CLASSIFIERS,
    }[name]
    with ledger_of(policy) as ledger:
        fits = [
            make(policy=policy, ledger=ledger).fit(X, y, version=version)
            for version in (None, None, "a", "a", "b")
        ]
        assert [fit.repeated_ for fit in fits] == [False, False, False, True, False]
        assert np.array_equal(released(fits[2]), released(fits[3]))
        assert not make(policy=policy, ledger=ledger).fit(X, y, version="a", fresh=True).repeated_


def test_rows_of_people_are_bounded_and_told_apart() -> None:
    policy = policy_of(columns=COLUMNS, unit={"id": "id", "max_rows": 2})
    given = [(i // 5, 0.5, 2.0, 1.0, "yes") for i in range(20)] + ODD[-1:]
    with ledger_of(policy) as ledger:
        table = PrivateTable(arrow(given), policy=policy, ledger=ledger)
        X, y, people = of_table(table, ["x"], "y", None, classes=False, centred=True).read()
    assert people is not None
    assert sorted(people.tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert np.allclose(X, 0.5)
    assert np.allclose(y, 1 / 3)


def same_everywhere(data: Any, table: str | None = None) -> None:
    """Totals and rows as DuckDB has them, odd values included."""
    engine, duck = attach(data, table=table), attach(arrow(ODD + rows(5, 30)))
    for changes in ({}, {"unit": {"id": "id", "max_rows": 1}}):
        policy = policy_of(columns=COLUMNS, **changes)
        query = MomentQuery(policy, ["x", "z", "y"], "x > -0.5")
        plan = Moments.plan(query.bounds, policy, epsilon=1.0, delta=0.0)
        totals = [query.run(query.statement(plan, e), e) for e in (engine, duck)]
        if not changes:  # which row of a person counts is the engine's secret
            assert totals[0] == totals[1]
        assert totals[0][0] > 0
        read = []
        with ledger_of(policy) as ledger:
            for given, name in ((data, table), (duck, None)):
                private = PrivateTable(given, policy=policy, ledger=ledger, table=name)
                X, k, people = of_table(private, ["x", "z"], "k", None, classes=True, centred=True).read()
                read.append(sorted(map(str, zip(X.tolist(), k, strict=True))))
                assert (people is None) is (not changes)
                RidgeRegression().fit_table(private, features=["x"], target="y")
        if not changes:
            assert read[0] == read[1]


def test_postgresql_holds_the_same_examples(postgresql_server: str) -> None:
    url = emptied(postgresql_server, "models")
    with psycopg.connect(url.replace("postgresql+psycopg", "postgresql")) as connection:
        connection.execute("CREATE TABLE visits (id bigint, x float8, z float8, y float8, k text)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO visits VALUES (%s, %s, %s, %s, %s)", ODD + rows(5, 30))
    same_everywhere(url, "visits")


@pytest.mark.slow
def test_spark_holds_the_same_examples() -> None:
    from leakcap.release.engine.spark import local_session

    session = local_session(2)
    try:
        session.sparkContext.setLogLevel("OFF")
        schema = "id bigint, x double, z double, y double, k string"
        same_everywhere(session.createDataFrame(ODD + rows(5, 30), schema))
    finally:
        session.stop()


def test_what_no_model_reads_is_refused_before_it_costs() -> None:
    policy = policy_of(columns=COLUMNS, neighbours="replace-one", rows=4)
    with ledger_of(policy) as ledger:
        table = PrivateTable(arrow(rows(6, 5)), policy=policy, ledger=ledger)
        fit = RidgeRegression().fit_table
        for features, target in ([], "y"), (["k"], "y"), (["x"], "k"), (["x", "x"], "y"), (["x"], "none"):
            with pytest.raises(InvalidQuery):
                fit(table, features=features, target=target)
        with pytest.raises(DataError, match="so many"):
            fit(table, features=["x"], target="y")
        assert ledger.entries() == []


@pytest.mark.parametrize("name", [*MODELS, "logistic"])
@pytest.mark.parametrize("changes", [{}, {"unit": {"id": "id", "max_rows": 3}}], ids=str)
def test_a_table_of_which_no_row_counts_is_answered_like_any_other(name: str, changes: Any) -> None:
    """An error would tell that nobody is there."""
    policy = policy_of(columns=COLUMNS, max_rows=50, **changes)
    make, target = maker(name)
    with ledger_of(policy) as ledger:
        table = PrivateTable(arrow(rows(7, 20)), policy=policy, ledger=ledger)
        for where in ("x > 5", None):
            model = make().fit_table(table, features=["x", "z"], target=target, where=where)
            assert np.isfinite(model.coef_).all()
        assert [entry.state for entry in ledger.entries()] == ["released", "released"]
