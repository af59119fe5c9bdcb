"""What is stated of whoever stops when it suits them, once caps were amended after an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

from leakcap.ledger import Charge, Spend
from leakcap.release import PrivateTable, amend, exposure_so_far, load_policy

CAPS: dict[str, Any] = {"rho": 0.5, "delta": 1e-6}
FIRST: dict[str, Any] = {
    "dataset": "ward",
    "neighbours": "add-remove-one",
    "columns": {"age": {"bounds": [0.0, 120.0]}},
    "caps": CAPS,
}
ROWS = pyarrow.table({"age": [31.0, 45.0, 72.0]})


def spent(policy: dict[str, Any], path: Path, times: int) -> bool:
    """After so many answers more: whether the caps are stated."""
    with PrivateTable(ROWS, policy=policy, ledger=path).ledger as book:
        book.reserve([Charge("n", "count", Spend(epsilon=0.2)) for _ in range(times)])
        return exposure_so_far(book.entries(), load_policy(policy)).capped is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"caps": {**CAPS, "rho": 2.0}},
        {"caps": {**CAPS, "rho": 0.45}},
        {"caps": {"rho": 0.5}},
        {"caps": {**CAPS, "epsilon": 9.0}},
    ],
)
def test_caps_that_were_amended_after_an_answer_are_not_said_to_be_fixed(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    path = tmp_path / "ward.db"
    assert spent(FIRST, path, 20)
    amend(FIRST | changes, path, reason="agreed")
    assert not spent(FIRST | changes, path, 1)
    # Back again: what was asked in between was asked under other caps.
    amend(FIRST, path, reason="as before")
    assert not spent(FIRST, path, 1)


def test_the_same_caps_under_another_relation_were_not_fixed_either(tmp_path: Path) -> None:
    """Four times as much ρ was allowed between two contents before."""
    path = tmp_path / "ward.db"
    assert spent(FIRST, path, 4)
    replaced = FIRST | {"neighbours": "replace-one", "rows": 3}
    amend(replaced, path, reason="the number of rows is public")
    assert not spent(replaced, path, 1)


def test_other_amendments_leave_the_caps_as_they_were_fixed(tmp_path: Path) -> None:
    """Of a column, of the number of queries; and of caps before any answer."""
    path = tmp_path / "ward.db"
    lower = FIRST | {"caps": {**CAPS, "rho": 0.4}}
    with PrivateTable(ROWS, policy=lower, ledger=path).ledger:
        amend(FIRST, path, reason="nothing was asked yet")
    assert spent(FIRST, path, 20)
    wider = FIRST | {"columns": {**FIRST["columns"], "sex": {"keys": ["f", "m"]}}}
    amend(wider, path, reason="a column more")
    assert spent(wider, path, 1)
    counted = wider | {"caps": {**CAPS, "queries": 50}}
    amend(counted, path, reason="so many are enough")
    assert spent(counted, path, 1)
