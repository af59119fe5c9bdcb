"""Whatever is sent by whomever: nothing fails, nothing is answered that is not documented, no value leaves.

`python benchmarks/curator_fuzzed.py` sends more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from leakcap.service.api.told import told_of_grant
from service.fuzzing import SECRETS, fuzzed, planted


@pytest.mark.slow
def test_hundreds_of_requests_to_each_operation(tmp_path: Path) -> None:
    curator = planted(tmp_path)
    try:
        found = fuzzed(curator, cases=100)
    finally:
        curator.store.close()
    assert found.faults == []
    assert sum(found.statuses.values()) > 3000
    assert found.statuses[200] > 100


@pytest.mark.slow
def test_planted_faults_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret in an answer."""
    monkeypatch.setattr(
        "leakcap.service.api.verbs.people.told_of_grant", lambda one: {**told_of_grant(one), "by": SECRETS[0]}
    )
    curator = planted(tmp_path)
    try:
        found = fuzzed(curator, cases=30)
    finally:
        curator.store.close()
    assert any("the secret" in one for one in found.faults)
