"""The interface as its document has it: pinned, so that nothing of it changes unseen."""

from __future__ import annotations

import json
from pathlib import Path

from leakcap.service.api.document import document

PINNED = Path(__file__).parent / "openapi.json"


def test_the_document_is_the_one_that_was_published() -> None:
    """Where it is meant to change: `leakcap curator openapi > tests/service/openapi.json`."""
    assert json.loads(json.dumps(document())) == json.loads(PINNED.read_text())


def test_every_answer_has_a_schema() -> None:
    """An answer without one could be anything."""
    silent = [
        f"{method} {path} {status}"
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
        for status, told in operation["responses"].items()
        for media in told.get("content", {}).values()
        if not media.get("schema")
    ]
    assert silent == []
