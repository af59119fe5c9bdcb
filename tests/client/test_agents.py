"""Software agents ask a curator by tools; what they may learn is capped where the data is.

The scripted agent below reads a secret number with a code over noisy counts, as `leakcap attack wifi` does,
through the tools alone. Under a cap it is stopped at the answer that the cap predicts, in the middle of the
second block of four bits, and knows the first block and no more; where the owner left out the cap, it reads
all.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pyarrow
import pytest
from mcp import Client

from client.both import curator_of
from client.in_process import HOME, InProcess, curator_in, token_of
from leakcap.attack.codes.code import Code, as_integers
from leakcap.attack.codes.use import Use
from leakcap.attack.wifi.choice import code_for
from leakcap.client import Connection
from leakcap.client.agents import agent_server
from leakcap.release import Query, preview
from leakcap.service.api.curator import Curator

SECRETS = [0xA5, 0x3C, 0x00, 0xFF]
VICTIM = 1
BLOCKS, BITS, USES, EPSILON = 2, 4, 12, 3.0
STOPPED_AT = USES + 5
"""The fifth answer of the second block is the last that the cap lets through."""

Session = Callable[[Client], Awaitable[Any]]


def talk(connection: Connection, session: Session) -> Any:
    """What comes of a session with the tools."""

    async def both_ends() -> Any:
        async with Client(agent_server(connection)) as client:
            return await session(client)

    return anyio.run(both_ends)


def policy_of(nats: float | None) -> dict[str, Any]:
    """The owner's policy; the agent's own cap, in nats about a person, may be missing."""
    own = {"analysts": {"local:robot": {"nats_per_person": nats}}} if nats is not None else {}
    return {
        "dataset": "day",
        "neighbours": "add-remove-one",
        "unit": {"id": "id"},
        "caps": {"epsilon": 1000.0, **own},
        "columns": {"who": {"keys": [0, 1, 2, 3]}, "pin": {"keys": "private", "type": "integer"}},
    }


def world(folder: Path, nats: float | None) -> tuple[Curator, Connection]:
    rows = {"id": [0, 1, 2, 3], "who": [0, 1, 2, 3], "pin": SECRETS}
    curator = curator_of(folder, policy_of(nats), pyarrow.table(rows))
    curator.store.people.add("local:robot", by="test", agent=True)
    curator.store.grants.give("local:robot", "analyst", "day", by="test")
    return curator, Connection(HOME, token_of(curator, "robot"), transport=InProcess(curator))


def price_of_an_answer() -> float:
    """Nats about a person that one of the agent's answers costs."""
    from leakcap.release import load_policy

    query = Query(name="n", statistic="count", epsilon=EPSILON)
    (found,) = preview([query], policy=load_policy(policy_of(None)))
    return found.price.nats_person.upper


def conditions(code: Code, block: int) -> list[str]:
    """A question for each symbol: the parity of some of the bits of the secret."""
    masks = as_integers(code.encode(np.eye(BITS, dtype=np.uint8)).T)
    shift = BITS * block
    return [f"who = {VICTIM} AND bit_count(pin & {mask << shift}) % 2 = 1" for mask in masks]


async def attack(client: Client) -> tuple[dict[int, int], int, str]:
    """The blocks that were read, how many answers were given, and what stopped it."""
    use = Use(EPSILON)
    read, given, stopped = dict[int, int](), 0, ""
    for block in range(BLOCKS):
        code = code_for(BITS, USES, use, np.random.default_rng(block))
        told: list[float] = []
        for place, where in enumerate(conditions(code, block)):
            query = {"name": f"{block}-{place}", "statistic": "count", "where": where, "epsilon": EPSILON}
            answer = await client.call_tool("ask", {"dataset": "day", "queries": [query], "fresh": True})
            if answer.is_error:
                return read, given, answer.content[0].text  # type: ignore[union-attr]
            given += 1
            told.append(answer.structured_content["answers"][0]["values"][0]["value"])  # type: ignore[index]
        (message,) = as_integers(code.decode([use.ratios(told)]).messages)
        read[block] = message
    return read, given, stopped


def blocks_of(secret: int) -> dict[int, int]:
    return {block: secret >> BITS * block & (1 << BITS) - 1 for block in range(BLOCKS)}


def test_the_cap_stops_the_coding_attack_at_the_predicted_answer(tmp_path: Path) -> None:
    """x nats let ⌊x / c⌋ answers through, of c nats each: 17, so that the second block stays unread."""
    each = price_of_an_answer()
    cap = (STOPPED_AT + 0.5) * each
    curator, connection = world(tmp_path, cap)
    read, given, stopped = talk(connection, attack)
    assert given == math.floor(cap / each) == STOPPED_AT
    assert read == {0: blocks_of(SECRETS[VICTIM])[0]}
    assert "nats" in stopped
    assert "Nothing was spent" in stopped
    entries = curator.engine.call("ledger", "day", "")["entries"]
    assert {one["analyst"] for one in entries} == {"local:robot"}
    assert sum(one["nats_person"] for one in entries) <= cap
    assert len(read) * BITS * math.log(2.0) <= cap  # what it knows is no more than what it was allowed
    curator.store.close()


def test_the_planted_missing_cap_lets_it_go_on(tmp_path: Path) -> None:
    curator, connection = world(tmp_path, None)
    read, given, stopped = talk(connection, attack)
    assert (read, given, stopped) == (blocks_of(SECRETS[VICTIM]), BLOCKS * USES, "")
    curator.store.close()


def test_an_answer_tells_what_the_broken_wifi_carries() -> None:
    """What the ledger charges for one of these answers is the capacity of its use."""
    assert price_of_an_answer() == pytest.approx(Use(EPSILON).capacity, rel=1e-9)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    curator = curator_in(tmp_path)
    yield Connection(HOME, token_of(curator, "ada"), transport=InProcess(curator))
    curator.store.close()


def called(connection: Connection, tool: str, **given: Any) -> tuple[str, Any]:
    """The text that a tool answers, and its values; of an error None."""

    async def session(client: Client) -> tuple[str, Any]:
        told = await client.call_tool(tool, given)
        text = told.content[0].text  # type: ignore[union-attr]
        return text, None if told.is_error else told.structured_content

    found: tuple[str, Any] = talk(connection, session)
    return found


def test_tools_say_what_they_cost(connection: Connection) -> None:
    async def session(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = {one.name: one for one in talk(connection, session)}
    assert list(tools) == ["datasets", "preview", "ask", "budget", "explain"]
    assert "THIS COSTS" in tools["ask"].description
    free = [name for name, one in tools.items() if "Free" in (one.description or "")]
    assert free == ["datasets", "preview", "budget", "explain"]
    assert all(tools[name].annotations.read_only_hint for name in free)
    assert not tools["ask"].annotations.read_only_hint


def test_a_session(connection: Connection) -> None:
    text, told = called(connection, "datasets")
    assert "age: number from 0.0 to 120.0" in text
    assert told["datasets"][0]["columns"]["ward"] == "keys a, b, c"
    sql = "SELECT ward, COUNT(*) AS n FROM ward GROUP BY ward"
    text, told = called(connection, "preview", dataset="ward", sql=sql, epsilon=0.5)
    assert "Nothing was spent" in text
    assert told["previews"][0]["error_95"] == 6.0
    text, told = called(connection, "ask", dataset="ward", sql=sql, epsilon=0.5)
    assert "Left of everybody's caps: epsilon 9.5 of 10 left" in text
    assert [row["keys"] for row in told["answers"][0]["values"]] == [{"ward": one} for one in "abc"]
    assert told["answers"][0]["epsilon"] == 0.5
    _, told = called(connection, "ask", dataset="ward", sql=sql, epsilon=0.5)
    assert (told["answers"][0]["repeated"], told["answers"][0]["epsilon"]) == (True, 0.0)
    text, told = called(connection, "budget", dataset="ward")
    assert "everybody: epsilon 9.5 of 10 left" in text
    assert told["answers"] == 1
    text, told = called(connection, "explain", dataset="ward")
    assert "62.25 %" in text
    assert told["epsilon"] == 0.5


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sql": "SELECT COUNT(*) FROM ward"}, "state what the answer may cost"),
        ({"queries": [{"name": "n", "statistic": "count"}]}, "epsilon"),
        ({"queries": [{"name": "n", "statistic": "count", "error": 5.0}]}, "error"),
        ({"sql": "SELECT COUNT(*) FROM ward", "epsilon": 50.0}, "10 left of 10, 50 asked"),
        ({"sql": "SELECT age FROM ward", "epsilon": 1.0}, "Rows never leave the table"),
        ({"sql": "SELECT COUNT(*) FROM ward", "queries": [], "epsilon": 1.0}, "one of them"),
        ({}, "one of them"),
        ({"queries": [], "epsilon": 1.0}, "list of 1 to"),
    ],
)
def test_errors_say_what_to_do_and_nothing_is_spent(
    connection: Connection, given: dict[str, Any], said: str
) -> None:
    text, told = called(connection, "ask", dataset="ward", **given)
    assert told is None
    assert said in text
    assert connection["ward"].budget()[0].spent == 0.0


def test_a_data_set_without_a_role_is_not_there(connection: Connection) -> None:
    for name in ("none", "../ward"):
        text, told = called(connection, "budget", dataset=name)
        assert told is None
        assert "no" in text
