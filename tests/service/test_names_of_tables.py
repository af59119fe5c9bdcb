"""A data set has two names: the policy's, and the one that the curator gives it. SQL may use both."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakcap.errors import InvalidQuery
from leakcap.service.configuration import load_configuration
from service.direct import DirectEngine, written


@pytest.mark.parametrize("name", ["ward", "clinic-1"])
def test_table_of_a_statement(name: str, tmp_path: Path) -> None:
    file = written(tmp_path)
    file.write_text(file.read_text().replace("[data.ward]", "[data.clinic-1]"))
    engine = DirectEngine(load_configuration(file))
    asked = {"sql": f'SELECT COUNT(*) FROM "{name}"', "epsilon": 0.5}
    told = engine.call("preview", "clinic-1", "local:ada", asked)
    assert told["policy"]["dataset"] == "ward"
    with pytest.raises(InvalidQuery, match="is not the table"):
        engine.call("preview", "clinic-1", "local:ada", {**asked, "sql": 'SELECT COUNT(*) FROM "other"'})
