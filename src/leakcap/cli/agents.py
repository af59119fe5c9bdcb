"""`leakcap mcp`: a curator for software agents, over standard input and output."""

from __future__ import annotations

from leakcap.cli.remote import connection_to, required_server
from leakcap.errors import InvalidParameter

__all__ = ["mcp"]


def mcp() -> None:
    """Serve a curator to a software agent: the Model Context Protocol over standard input and output.

    The agent asks under the token of LEAKCAP_TOKEN (for LEAKCAP_SERVER), or the one that `leakcap login`
    kept. Give it an identity of its own, for which the owner has caps.

    Example: leakcap --server https://curator.example.org mcp
    """
    try:
        from leakcap.client.agents import agent_server
    except ImportError:
        raise InvalidParameter(
            "`leakcap mcp` needs the package mcp. Install it: pip install 'leakcap[agents]'."
        ) from None
    server = required_server()
    with connection_to(server.url) as connection:
        agent_server(connection).run("stdio")
