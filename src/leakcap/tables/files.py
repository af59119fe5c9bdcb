"""A file that asks for tables: of whose data, under which policy and ledger, at what price.

    policy = "policy.toml"
    data = "stays.parquet"
    ledger = "stays.db"
    rho = 0.02                       or epsilon, at the δ of the policy
    where = "year = 2026"
    name = "stays by ward"           left out, "tables"
    table = "stays"                  which table, where data is a database
    publication = { title = "Stays", period = "2026-03", version = "1.0" }
    ranges = ["week"]                of these columns ranges of keys are wanted, in place of cells
    prefixes = ["band"]              of these the counts from the first key on
    nested = false                   all pairs of keys of columns within others, too, as microdata need

    [[tables]]
    columns = ["sex", "age", "ward"]
    ways = 2                         all tables of two of them; left out, the table of all

    [[tables]]
    columns = ["ward"]
    weight = 5

All tables of a file are planned together and paid by one charge. Paths start at the file's own folder.

In a query file, `[[workload]]` has the fields of one question, and is paid together with the queries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from leakcap.errors import InvalidQuery
from leakcap.ledger import Edition
from leakcap.policy.validation import complaints, read_checked
from leakcap.release import QueryFile
from leakcap.release.planning.queries import locations
from leakcap.release.results.publication import Publication
from leakcap.tables.question import Flag, Number, TableAsked, TablesQuestion

__all__ = ["TablesContents", "TablesFile", "file_of_contents", "load_tables", "workloads_of"]


class TablesContents(BaseModel):
    """What stands in such a file, before its paths are resolved."""

    model_config = ConfigDict(extra="forbid")

    policy: str
    data: str
    table: str | None = None
    ledger: str
    publication: Publication | None = None
    name: str = Field(default="tables", min_length=1, max_length=200)
    rho: Number | None = None
    epsilon: Number | None = None
    where: str | None = None
    ranges: tuple[str, ...] | None = None
    prefixes: tuple[str, ...] | None = None
    nested: Flag | None = None
    tables: tuple[TableAsked, ...] = Field(min_length=1)


@dataclass(frozen=True)
class TablesFile:
    """Such a file with its paths resolved; `data` is a path, or the URL of a server."""

    policy: Path
    data: Path | str = field(repr=False)
    table: str | None
    ledger: str = field(repr=False)
    question: TablesQuestion
    publication: Publication | None = None

    @property
    def edition(self) -> Edition | None:
        """What the ledger records of the publication."""
        return None if self.publication is None else self.publication.edition


def workloads_of(file: QueryFile, path: str | Path) -> tuple[TablesQuestion, ...]:
    """What a query file asks for in its workloads. Raises `InvalidQuery`, one line per broken rule."""
    names = {query.name for query in file.queries}
    found = []
    for place, fields in enumerate(file.workloads, start=1):
        try:
            one = TablesQuestion.model_validate(fields)
        except ValidationError as error:
            raise InvalidQuery(complaints(error, f"{path}: workload {place}")) from None
        if one.name in names:
            raise InvalidQuery(
                f"`name` of workload `{one.name}` must be that of no other workload or query of `{path}`. "
                "Give it another `name`."
            )
        names.add(one.name)
        found.append(one)
    return tuple(found)


def load_tables(path: str | Path) -> TablesFile:
    """Read a file that asks for tables. Raises `InvalidQuery`, one line per broken rule."""
    path = Path(path)
    return file_of_contents(read_checked(TablesContents, path, InvalidQuery), path)


def file_of_contents(contents: TablesContents, path: Path) -> TablesFile:
    """The file of these contents, whose paths start at the folder of `path`. Raises `InvalidQuery`."""
    folder = path.resolve().parent
    data, ledger = locations(folder, contents.data, contents.ledger)
    asked = TablesQuestion(
        name=contents.name,
        tables=contents.tables,
        rho=contents.rho,
        epsilon=contents.epsilon,
        where=contents.where,
        ranges=contents.ranges,
        prefixes=contents.prefixes,
        nested=contents.nested,
    )
    return TablesFile(folder / contents.policy, data, contents.table, ledger, asked, contents.publication)
