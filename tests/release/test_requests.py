"""Questions that are asked under a key: of a table, beside its tables and trees, of a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from leakcap.errors import DataError, RequestReused
from leakcap.ledger import Ledger, Request
from leakcap.models import LinearRegression
from leakcap.release import PrivateTable
from leakcap.release.planning.queries import Query
from leakcap.tables import TablesQuestion, release_tables
from leakcap.tables.hierarchies import HierarchyQuestion, release_hierarchy

PEOPLE = pyarrow.table({"sex": ["f", "m"] * 50, "x": [0.25, 0.75] * 50, "y": [0.5, 0.5] * 50})
ASKED = Request.of("ann", "1", "rows and sum")
QUERIES = [
    Query(name="n", statistic="count", epsilon=0.1),
    Query(name="s", statistic="sum", column="x", epsilon=0.1),
]


def policy(neighbours: str, epsilon: float) -> dict[str, Any]:
    size = {"rows": 100} if neighbours == "replace-one" else {"max_rows": 100}
    columns = {"sex": {"keys": ["f", "m"]}, "x": {"bounds": [0.0, 1.0]}, "y": {"bounds": [0.0, 1.0]}}
    caps = {"epsilon": epsilon, "delta": 1e-6}
    return {"dataset": "d", "neighbours": neighbours, "caps": caps, "columns": columns, **size}


@pytest.fixture(params=["replace-one", "add-remove-one"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    def open_(epsilon: float = 5.0) -> PrivateTable:
        file = f"sqlite:///{tmp_path}/d.db"
        return PrivateTable(PEOPLE, policy=policy(request.param, epsilon), ledger=file, version="1")

    return open_


def test_the_same_request_is_the_same_release(table: Callable[..., PrivateTable]) -> None:
    with table() as private:
        first = private.release(QUERIES, fresh=True, request=ASKED)
    with table() as private:
        again = private.release(QUERIES, fresh=True, request=ASKED)
        assert [one.value for one in again] == [one.value for one in first]
        assert len(private.ledger.entries()) == 2
        with pytest.raises(RequestReused, match="another number of questions"):
            private.release(QUERIES[:1], request=ASKED)


def test_a_request_that_died_with_the_last_of_the_budget_is_finished(
    table: Callable[..., PrivateTable], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left under the cap, and nothing is needed."""
    with table(0.2) as private:
        with monkeypatch.context() as broken:
            broken.setattr(Ledger, "release_once", lambda *_, **__: (_ for _ in ()).throw(DataError("Dead.")))
            with pytest.raises(DataError, match=r"Dead\. The spend was committed"):
                private.release(QUERIES, request=ASKED)
        assert [one.query.name for one in private.release(QUERIES, request=ASKED)] == ["n", "s"]
        assert [one.state for one in private.ledger.entries()] == ["released", "released"]
        assert private.ledger.unreleased() == []


def test_tables_trees_and_fits_take_requests(table: Callable[..., PrivateTable]) -> None:
    with table() as private:
        margins = TablesQuestion(columns=("sex",), ways=1, rho=0.01)
        tree = HierarchyQuestion(levels=("sex",), rho=0.01)

        def fit(key: Request) -> Any:
            model = LinearRegression(epsilon=0.5)
            model.fit_table(private, features=["x"], target="y", fresh=True, request=key)
            return model.moments_.tolist()

        asked: list[Callable[[Request], Any]] = [
            lambda key: (
                release_tables(private, margins, fresh=True, request=key).table("sex").values.tolist()
            ),
            lambda key: release_hierarchy(private, tree, fresh=True, request=key).entry,
            fit,
        ]
        for number, ask in enumerate(asked):
            key = Request.of("ann", str(number), "asked")
            assert ask(key) == ask(key)
            assert len(private.ledger.entries()) == number + 1
        private.ledger.verify()
