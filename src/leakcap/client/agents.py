"""A curator for software agents: tools of the Model Context Protocol, over one connection.

Whoever runs the agent signs it in under an identity of its own, for which the owner has caps: whatever it
asks, in whatever words, it learns at most that much about anyone. Nothing here could let it learn more: the
caps are held where the data is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations

import leakcap
from leakcap.client.asked_by_agents import AgentTable, about_columns, paid_for, preview_told, told_of
from leakcap.client.connection import Connection
from leakcap.errors import InvalidParameter, LeakcapError

__all__ = ["agent_server"]

Tool = TypeVar("Tool", bound=Callable[..., Any])
_MOST_ROWS = 1000

_INSTRUCTIONS = (
    "Private statistics of a curator's data sets. Every answer is noisy on purpose and is paid for out of "
    "caps that are never refilled: preview before you ask, ask once, and ask for groups in one question "
    "rather than in many. The same question at the same price about the same data is repeated for free."
)


def agent_server(connection: Connection) -> MCPServer:
    """The tools `datasets`, `preview`, `ask`, `budget` and `explain` of a curator."""
    server = MCPServer(
        "leakcap",
        title="leakcap",
        instructions=_INSTRUCTIONS,
        version=leakcap.__version__,
        log_level="ERROR",
    )
    tools = _Tools(connection)
    free = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    paying = ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
    )
    for tool, hints in (
        (tools.datasets, free),
        (tools.preview, free),
        (tools.ask, paying),
        (tools.budget, free),
        (tools.explain, free),
    ):
        about = " ".join((tool.__doc__ or "").split())
        server.add_tool(_refusing(tool), description=about, annotations=hints)
    return server


class _Tools:
    """What an agent may call. Each docstring is the tool's description."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._tables: dict[str, AgentTable] = {}

    def datasets(self) -> CallToolResult:
        """The data sets that you may ask, with the columns that a question may name. Free."""
        found, lines = [], []
        for one in self._connection.datasets():
            table = self._table(one["name"])
            columns = about_columns(table.policy)
            found.append({**one, "columns": columns, "unit": table.unit})
            lines += [f"{one['name']}. {table.unit}", *(f"- {n}: {told}" for n, told in columns.items())]
        return _result("\n".join(lines) or "You have a role in no data set.", {"datasets": found})

    def preview(
        self,
        dataset: str,
        sql: str | None = None,
        queries: list[dict[str, Any]] | None = None,
        epsilon: float | None = None,
        rho: float | None = None,
        error: float | None = None,
        delta: float | None = None,
        noise: str = "laplace",
    ) -> CallToolResult:
        """What a question would cost and how far off its answers would be (95 %). Free: nothing is read and
        nothing is spent. Ask in SQL, e.g. SELECT ward, COUNT(*) FROM visits GROUP BY ward, with `epsilon`
        or `rho` for the whole statement, or an `error` to learn the price that keeps it; or in `queries`,
        each with name, statistic (count, sum, mean, quantiles, histogram, …), epsilon, and where needed
        column, by, where."""
        table = self._table(dataset)
        price = {"epsilon": epsilon, "rho": rho, "error": error, "delta": delta, "noise": noise}
        asked = table.asked(sql, queries, price)
        return _result(*preview_told(asked.previews(table.policy), asked.queries))

    def ask(
        self,
        dataset: str,
        sql: str | None = None,
        queries: list[dict[str, Any]] | None = None,
        epsilon: float | None = None,
        rho: float | None = None,
        delta: float | None = None,
        noise: str = "laplace",
        fresh: bool = False,
        request: str | None = None,
    ) -> CallToolResult:
        """Private answers. THIS COSTS: what you state as `epsilon` (or `rho`) is spent for good out of the
        caps, and nobody refills them; see `preview` and `budget` first. A question that was answered before
        at the same price is repeated for free, unless `fresh` asks for new noise, which is paid again.
        Ask in SQL with `epsilon` or `rho` for the whole statement, or in `queries`, each with its own.
        Answers carry 95 % intervals; a small or negative count is noise. Where the answer was lost, ask
        again with the `request` that the error names: it is paid for once."""
        table = self._table(dataset)
        if sql is not None and epsilon is None and rho is None:
            raise InvalidParameter("`epsilon` of `ask` is missing: state what the answer may cost.")
        price = {"epsilon": epsilon, "rho": rho, "error": None, "delta": delta, "noise": noise}
        asked = table.asked(sql, queries, price)
        paid_for(asked.queries)
        releases = table.release(asked, fresh=fresh, request=request)
        return _result(*told_of(releases, table.budget(), most=_MOST_ROWS))

    def budget(self, dataset: str) -> CallToolResult:
        """What is spent and what is left of the caps: of everybody together, and of your own. Free."""
        return _result(*self._table(dataset).accounts())

    def explain(self, dataset: str) -> CallToolResult:
        """What the answers that you were given so far let somebody find out about one person, in sentences.
        Free."""
        return _result(*self._table(dataset).explained())

    def _table(self, name: str) -> AgentTable:
        if name not in self._tables:
            self._tables[name] = AgentTable(self._connection[name])
        return self._tables[name]


def _refusing(tool: Tool) -> Tool:
    """The tool, whose errors an agent can read: what is wrong, and what to do."""

    @functools.wraps(tool)
    def careful(*given: Any, **named: Any) -> Any:
        try:
            return tool(*given, **named)
        except LeakcapError as error:
            raise ToolError(str(error)) from None

    return careful  # type: ignore[return-value]


def _result(text: str, content: Mapping[str, Any]) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=dict(content))
