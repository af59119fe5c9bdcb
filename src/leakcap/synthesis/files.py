"""A file that asks for microdata: a file that asks for tables, and what the rows are to be like.

policy = "policy.toml"           as in `leakcap.tables.files`
data = "stays.parquet"
ledger = "stays.db"
rho = 0.02
rows = 10_000                    left out, as many as were released
weights = true                   a column `weight`: how many rows of the data a row of the file counts for
impossible = [{ sex = "m", ward = ["maternity"] }]
choose = 8                       left out, all tables are released; else so many, chosen by a private score

[regression]                     a regression of the file beside that of released tables
target = "age"
features = ["sex", "ward"]
rho = 0.005                      or epsilon, a price of its own; left out, the file's own tables are asked

[[tables]]
columns = ["sex", "age", "ward"]
ways = 2
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Key
from leakcap.policy.validation import read_checked
from leakcap.synthesis.choice import ChoiceQuestion
from leakcap.synthesis.microdata import MOST_ROWS
from leakcap.synthesis.regression_terms import RegressionAsked
from leakcap.tables import TablesQuestion
from leakcap.tables.files import TablesContents, TablesFile, file_of_contents

__all__ = ["SynthesisFile", "load_synthesis"]


class _Contents(TablesContents):
    rows: Annotated[int, Field(strict=True, ge=1, le=MOST_ROWS)] | None = None
    weights: Annotated[bool, Field(strict=True)] = False
    # What a key may be is said by `Impossible`, which knows the public ones.
    impossible: tuple[dict[str, Any], ...] = ()
    choose: Annotated[int, Field(strict=True, ge=1)] | None = None
    regression: RegressionAsked | None = None


@dataclass(frozen=True)
class SynthesisFile:
    """Such a file: the tables that it asks for, what no row may be, how many tables are to be chosen, and the
    regression that its report has."""

    tables: TablesFile
    rows: int | None
    weights: bool
    impossible: tuple[Mapping[str, Key | tuple[Key, ...]], ...]
    choose: int | None
    regression: RegressionAsked | None = None

    @property
    def question(self) -> TablesQuestion | ChoiceQuestion:
        """What is asked of the data: all tables, or so many of them."""
        asked = self.tables.question
        return asked if self.choose is None else ChoiceQuestion(asked, self.choose)

    @property
    def questions(self) -> tuple[TablesQuestion | ChoiceQuestion, ...]:
        """The same, and what a regression with a price of its own asks."""
        own = None if self.regression is None else self.regression.question(self.tables.question)
        return (self.question,) if own is None else (self.question, own)


def load_synthesis(path: str | Path) -> SynthesisFile:
    """Read a file that asks for microdata; one that asks for tables is one. Raises `InvalidQuery`."""
    path = Path(path)
    contents = read_checked(_Contents, path, InvalidQuery)
    return SynthesisFile(
        file_of_contents(contents, path),
        contents.rows,
        contents.weights,
        contents.impossible,
        contents.choose,
        contents.regression,
    )
