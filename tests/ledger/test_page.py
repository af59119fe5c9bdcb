"""The page about the ledger says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from leakcap.ledger import Ledger
from leakcap.ledger.schema import ACCOUNT, EVENT, SCHEMA, STATE

PAGE = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text(encoding="utf-8")


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    ledger = names["ledger"]
    assert isinstance(ledger, Ledger)
    assert (ledger.totals().epsilon, ledger.unreleased()) == (0.1, [])
    ledger.close()


def test_every_table_is_explained() -> None:
    for table in (EVENT, STATE, ACCOUNT, SCHEMA):
        assert f"`{table.name}`" in PAGE


def test_every_public_verb_is_explained() -> None:
    verbs = {name for name in dir(Ledger) if callable(getattr(Ledger, name)) and not name.startswith("_")}
    assert len(verbs) >= 16
    assert not {verb for verb in verbs if f"{verb}(" not in PAGE and f"`{verb}`" not in PAGE}
