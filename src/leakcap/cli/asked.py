"""Files that ask: what the commands read in them, whichever command answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakcap.cli.targets import files_of

if TYPE_CHECKING:
    from leakcap.ledger import Edition
    from leakcap.release.asking.owner import OwnerAnswers
    from leakcap.running.question import RunningQuestion
    from leakcap.synthesis.choice import ChoiceQuestion
    from leakcap.tables.hierarchies.question import HierarchyQuestion
    from leakcap.tables.question import TablesQuestion

__all__ = ["AskedFile", "address", "asking_file_of", "is_query_file", "kept_of", "load_asked"]


@dataclass(frozen=True)
class AskedFile:
    """A file that asks: of which data, under which policy and ledger, and what it asks for beside queries.

    `files` are those that nothing may replace.
    """

    policy: Path
    data: Path | str = field(repr=False)
    table: str | None
    ledger: str = field(repr=False)
    files: tuple[Path | str, ...] = field(repr=False)
    tables: Mapping[str, Path | str] = field(default_factory=dict, repr=False)
    edition: Edition | None = None
    questions: tuple[TablesQuestion | ChoiceQuestion | HierarchyQuestion | RunningQuestion, ...] = ()
    annex: OwnerAnswers | None = None


def load_asked(path: str | Path) -> AskedFile:
    """Read a query file, a model file, or one for tables, a tree, a running count or microdata.

    Which of these it is follows from the names in it. Raises `InvalidQuery`, one line per broken rule.
    """
    from leakcap.errors import InvalidQuery
    from leakcap.policy.validation import read_toml

    path = Path(path)
    named = read_toml(path, InvalidQuery)
    if "model" in named:
        from leakcap.models.files import load_model

        return _asked(load_model(path), ())
    if named.keys() & {"period", "first", "steps"}:
        from leakcap.running.files import load_running

        stream = load_running(path)
        return _asked(stream, (stream.question,))
    if named.keys() & {"levels", "tree"}:
        from leakcap.tables.hierarchies.files import load_hierarchy

        tree = load_hierarchy(path)
        return _asked(tree, (tree.question,), *([tree.tree] if tree.tree else []))
    if isinstance(named.get("tables"), list):
        # A file that asks for tables is one that asks for microdata, too.
        from leakcap.synthesis.files import load_synthesis

        rows = load_synthesis(path)
        return _asked(rows.tables, rows.questions)
    from leakcap.release import load_queries

    queries = load_queries(path)
    if not queries.workloads:
        return _asked(queries, ())
    from leakcap.tables.files import workloads_of

    return _asked(queries, workloads_of(queries, path))


def _asked(found: Any, questions: tuple[Any, ...], *files: Path) -> AskedFile:
    tables = getattr(found, "tables", {})
    return AskedFile(
        found.policy,
        found.data,
        found.table,
        found.ledger,
        (*files_of(found), *files),
        tables,
        found.edition,
        questions,
        getattr(found, "annex", None),
    )


def asking_file_of(file: Path) -> AskedFile | None:
    """What stands in a file that asks; None for a policy."""
    from leakcap.errors import InvalidPolicy
    from leakcap.policy.validation import read_toml

    is_policy = not isinstance(read_toml(file, InvalidPolicy).get("policy"), str)
    return None if is_policy else load_asked(file)


def address(text: str, *, query_file: bool | None = None) -> str:
    """A URL, a path, or the ledger that a file names which asks."""
    if query_file or (query_file is None and is_query_file(text)):
        text = load_asked(text).ledger
    return text if "://" in text else f"sqlite:///{text}"


def kept_of(source: str) -> list[Path | str]:
    """The files behind a ledger's URL, a path, or a file that asks."""
    return [source, *load_asked(source).files] if is_query_file(source) else [address(source)]


def is_query_file(text: str) -> bool:
    """Whether the words of a command name a file that asks, and not a ledger."""
    return text.endswith(".toml") and "://" not in text
