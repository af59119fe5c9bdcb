"""A file that asks for a running count: of whose data, under which policy and ledger, at what price.

    policy = "policy.toml"
    data = "visits.parquet"
    ledger = "visits.db"
    name = "visits 2026"             what the ledger knows the stream by
    period = "month"                 a column of the policy that cuts a date down
    first = "2026-01"
    steps = 12
    by = ["ward"]                    left out, one series
    rho = 0.02                       or epsilon, at the δ of the policy, for all steps together
    where = "age >= 18"
    rows_stay = true                 needed where the policy hides people: see RunningQuestion
    table = "visits"                 which table, where data is a database
    publication = { title = "Visits", period = "2026", version = "1.0" }

Paths start at the file's own folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from leakcap.errors import InvalidQuery
from leakcap.ledger import Edition
from leakcap.policy.validation import read_checked
from leakcap.release.planning.queries import locations
from leakcap.release.results.publication import Publication
from leakcap.running.question import RunningQuestion

__all__ = ["RunningFile", "load_running"]


class _RunningContents(RunningQuestion):
    policy: str
    data: str
    table: str | None = None
    ledger: str
    publication: Publication | None = None


@dataclass(frozen=True)
class RunningFile:
    """Such a file with its paths resolved; `data` is a path, or the URL of a server."""

    policy: Path
    data: Path | str = field(repr=False)
    table: str | None
    ledger: str = field(repr=False)
    question: RunningQuestion
    publication: Publication | None = None

    @property
    def edition(self) -> Edition | None:
        """What the ledger records of the publication."""
        return None if self.publication is None else self.publication.edition


def load_running(path: str | Path) -> RunningFile:
    """Read a file that asks for a running count. Raises `InvalidQuery`, one line per broken rule."""
    path = Path(path)
    contents = read_checked(_RunningContents, path, InvalidQuery)
    folder = path.resolve().parent
    data, ledger = locations(folder, contents.data, contents.ledger)
    own = {name: getattr(contents, name) for name in RunningQuestion.model_fields}
    asked = RunningQuestion.model_validate(own)
    return RunningFile(folder / contents.policy, data, contents.table, ledger, asked, contents.publication)
