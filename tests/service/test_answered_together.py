"""Questions that wait for an engine share their transactions, and each is answered as it would be alone."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from leakcap.errors import BudgetExceeded, DataError, InvalidQuery, LeakcapError, RequestReused
from leakcap.ledger import Ledger
from leakcap.ledger.ledger import Ledger as OpenLedger
from leakcap.ledger.paying_together import Alone
from leakcap.policy import load_policy
from leakcap.release import amend
from leakcap.release.engine.duck import DuckDB
from leakcap.release.planning.scan import Scan
from leakcap.service import ticks
from leakcap.service.configuration import Configuration, load_configuration
from leakcap.service.engine import process, together
from leakcap.service.engine.calling import EngineClient
from leakcap.service.engine.messages import receive, send
from leakcap.service.engine.tables import OpenTables
from leakcap.service.engine.waiting import WaitingCalls
from leakcap.service.ticks import Pace
from service.direct import written
from service.test_job_times import Pretended

TICK = 0.001


def message(number: int, *, dataset: str = "ward", operation: str = "release", **body: Any) -> dict[str, Any]:
    """A count of those who are so old."""
    query = {"name": "n", "statistic": "count", "where": f"age >= {number}", "epsilon": 0.1}
    return {
        "operation": operation,
        "dataset": dataset,
        "analyst": "local:ada",
        "body": {"queries": [query], **body},
        "request": f"{number:064x}",
    }


class Callers:
    """Connections on which calls wait for an answer."""

    def __init__(self, folder: Path) -> None:
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._path = str(folder / "e.sock")
        self.listener.bind(self._path)
        self.listener.listen(64)
        self._open: list[socket.socket] = []

    def taken(self, waiting: WaitingCalls) -> list[Any]:
        """The messages that are answered next."""
        calls = waiting.next()
        self._open += [one.connection for one in calls]
        return [one.message for one in calls]

    def numbers(self, waiting: WaitingCalls) -> list[int]:
        """The numbers of the questions that are answered next."""
        return [int(one["request"], 16) for one in self.taken(waiting)]

    def call(self, *messages: Any) -> None:
        for one in messages:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.connect(self._path)
            self._open.append(connection)
            if isinstance(one, bytes):
                connection.sendall(one)
                connection.shutdown(socket.SHUT_WR)
            else:
                send(connection, one)

    def close(self) -> None:
        for one in (*self._open, self.listener):
            one.close()


@pytest.fixture
def callers(tmp_path: Path) -> Iterator[Callers]:
    with closing(Callers(tmp_path)) as found:
        yield found


def test_questions_that_wait_are_taken_together_where_the_last_ones_were_quick(callers: Callers) -> None:
    waiting = WaitingCalls(callers.listener, TICK)
    callers.call(*map(message, range(4)))
    assert callers.numbers(waiting) == [0]  # nobody knows how long they take
    waiting.took("ward", 1, 0.02)
    assert callers.numbers(waiting) == [1, 2, 3]
    callers.call(*map(message, range(40)))
    assert callers.numbers(waiting) == list(range(11))  # the rung after 0.02 s is at 0.0211
    waiting.took("ward", 11, 0.05)
    assert len(callers.numbers(waiting)) == 16
    waiting.took("ward", 16, 40.0)
    assert len(callers.numbers(waiting)) == 1
    waiting.took("ward", 1, 3.0)
    assert len(callers.numbers(waiting)) == 1


def test_how_many_hangs_on_the_clock_alone(callers: Callers) -> None:
    """Between two rungs of it nobody sees how long others took."""
    found = []
    for seconds in (0.0201, 0.0209, 0.0219):
        waiting = WaitingCalls(callers.listener, 0.02)
        waiting.took("ward", 1, seconds)
        callers.call(*map(message, range(11)))
        found.append(len(callers.numbers(waiting)))
    assert found == [11] * 3  # a quarter of a second, at 0.022 each


@pytest.mark.parametrize(
    "other",
    [
        message(9, dataset="beds"),
        message(9, operation="budget"),
        message(9, policy="ab"),
        message(1),  # the same key
        {**message(1), "request": "f" * 64},  # the same question, which is repeated for free
        {**message(9), "begun": 1.0},
        {**message(9), "request": ""},
        {**message(9), "body": []},
        ["no object"],
    ],
    ids=["data set", "operation", "approved", "key", "question", "job", "no key", "no body", "no object"],
)
def test_what_cannot_share_comes_next_and_ends_what_is_taken(callers: Callers, other: Any) -> None:
    waiting = WaitingCalls(callers.listener, TICK)
    waiting.took("ward", 1, 0.001)
    callers.call(message(1), message(2), other, message(3))
    assert callers.numbers(waiting) == [1, 2]
    assert callers.taken(waiting)[0] == json.loads(json.dumps(other))


def test_the_same_question_is_taken_together_where_it_is_fresh(callers: Callers) -> None:
    waiting = WaitingCalls(callers.listener, TICK)
    waiting.took("ward", 1, 0.001)
    callers.call(*({**message(1, fresh=True), "request": f"{number:064x}"} for number in range(3)))
    assert callers.numbers(waiting) == [0, 1, 2]


def test_what_cannot_be_read_is_passed_over(callers: Callers) -> None:
    waiting = WaitingCalls(callers.listener, TICK)
    waiting.took("ward", 1, 0.001)
    callers.call(message(1), b"\0\0\0\4nope", b"\0\0", b"", b"\xff\xff\xff\xff", message(2))
    assert callers.numbers(waiting) == [1, 2]


# What is answered


@pytest.fixture
def configuration(tmp_path: Path) -> Configuration:
    return load_configuration(written(tmp_path, epsilon=0.5))


@pytest.fixture
def tables(configuration: Configuration) -> Iterator[OpenTables]:
    with closing(OpenTables(configuration.data)) as found:
        yield found


def told(configuration: Configuration, tables: OpenTables, *messages: Any) -> list[dict[str, Any]]:
    found = process.traced_together(messages, configuration, tables)
    json.dumps(found, allow_nan=False)
    return found


def answer_in(one: Mapping[str, Any]) -> tuple[int, Any]:
    (found,) = one["result"]["answers"]
    return found["entry"], found["values"]


def spent(tables: OpenTables) -> float:
    return tables.of("ward", "").ledger.totals().epsilon


def test_each_has_its_own_answer_refusal_or_mistake(configuration: Configuration, tables: OpenTables) -> None:
    """Seven, where five fit: one of them is no question, one is of somebody who asks no longer."""
    wrong = message(3)
    wrong["body"]["queries"][0]["statistic"] = "nonsense"
    asked = [*map(message, range(3)), wrong, *map(message, range(4, 8))]
    found = told(configuration, tables, *asked)
    kinds = ["result" if "result" in one else one["problem"]["type"].rpartition(":")[2] for one in found]
    assert kinds == [*["result"] * 3, "invalid-query", *["result"] * 2, *["budget-exceeded"] * 2]
    entries = [one["result"]["answers"][0]["entry"] for one in found if "result" in one]
    assert entries == [1, 2, 3, 4, 5]
    assert {one["result"]["caps"][0]["left"] for one in found if "result" in one} == {0.0}
    assert spent(tables) == 0.5
    again = told(configuration, tables, *asked)
    for was, one in zip(found, again, strict=True):
        if "result" in was:
            assert answer_in(one) == answer_in(was)
    assert spent(tables) == 0.5
    tables.of("ward", "").ledger.verify()


def test_records_are_those_of_an_answer_alone(configuration: Configuration, tables: OpenTables) -> None:
    (first, _) = told(configuration, tables, message(1), message(2))
    (alone,) = told(configuration, tables, message(1))
    assert answer_in(first) == answer_in(alone)
    (record,), (again,) = first["result"]["releases"], alone["result"]["releases"]
    assert (record.pop("repeated"), again.pop("repeated")) == (False, True)
    assert record == again


def test_they_share_three_transactions(configuration: Configuration, tables: OpenTables) -> None:
    table, begun = tables.of("ward", ""), []
    _ = table.ledger.seed
    event.listen(table.ledger._database._engine, "begin", begun.append)
    told(configuration, tables, *map(message, range(5)))
    assert len(begun) == 3


def test_after_an_amendment_they_are_asked_under_the_new_policy(
    configuration: Configuration, tables: OpenTables, tmp_path: Path
) -> None:
    told(configuration, tables, message(1))
    content = json.loads(load_policy(tmp_path / "policy.toml").text())
    content["caps"]["epsilon"] = 0.3
    amend(load_policy(content), f"sqlite:///{tmp_path / 'ward.db'}", reason="less", by="local:olga")
    found = told(configuration, tables, *map(message, range(2, 6)))
    assert ["result" in one for one in found] == [True, True, False, False]


@pytest.mark.parametrize(("neighbours", "many"), [("add-remove-one", 3), ("replace-one", 1)])
def test_under_replace_one_each_is_answered_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, neighbours: str, many: int
) -> None:
    """The ledger keeps when something was spent, and there rows are read before."""
    file, policy = written(tmp_path), tmp_path / "policy.toml"
    text = policy.read_text().replace("add-remove-one", neighbours)
    if neighbours == "replace-one":
        text = text.replace("[columns.age]", "rows = 90\n[columns.age]", 1)
    policy.write_text(text)
    configuration, sizes = load_configuration(file), list[int]()

    def noted(messages: Any, *_: Any, **__: Any) -> list[dict[str, Any]]:
        sizes.append(len(messages))
        if sum(sizes) == 4:
            raise KeyboardInterrupt
        return [{"result": {}} for _ in messages]

    monkeypatch.setattr(process, "traced_together", noted)
    monkeypatch.setattr(process.signal, "signal", lambda *_: None)
    monkeypatch.setattr(process.signal, "setitimer", lambda *_: None)
    with closing(Callers(tmp_path)) as callers:
        callers.call(*map(message, range(4)))
        with pytest.raises(KeyboardInterrupt):
            process.answer_calls(callers.listener, configuration, seconds=5.0)
    assert max(sizes) == many


def test_who_is_answered_alone_begins_on_a_rung(
    configuration: Configuration, tables: OpenTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spend's time is in the ledger, and would tell how long the ones before it read."""
    clock, began = Pretended(), list[float]()

    def slow(*_: Any, **__: Any) -> dict[str, Any]:
        began.append(clock.now - 100.0)
        clock.now += 0.0133
        return {"result": {}}

    def nobody(ledger: Any, payments: Sequence[Any], **_: Any) -> list[Alone]:
        clock.now += 0.0211
        return [Alone() for _ in payments]

    monkeypatch.setattr(process, "time", clock)
    monkeypatch.setattr(process, "answer", slow)
    monkeypatch.setattr(together, "pay_together", nobody)
    told(configuration, tables, *map(message, range(5)))
    ladder = [0.001 / 8 * 1.1**step for step in range(90)]
    assert len(began) == 5
    for moment in began:
        assert min(abs(moment - one) for one in ladder) < 1e-9


def test_text_is_looked_through_before_anybody_asks(tables: OpenTables) -> None:
    """It is read when the first statement about it is written: before the spend, whose time is kept."""
    engine = tables.of("ward", "").engine
    assert isinstance(engine, DuckDB)
    texts = {name for name, type_ in engine.columns().items() if type_ == "VARCHAR"}
    assert texts & engine._checked == texts & set(tables.of("ward", "").policy.columns) != set()


def rests(configuration: Configuration, tables: OpenTables, *messages: Any) -> bool:
    """Whether the engine need not wait for another rung after these."""
    pace = Pace()
    process.traced_together(messages, configuration, tables, pace=pace)
    return pace.rested


def test_what_was_held_back_waits_for_no_other_rung(
    configuration: Configuration, tables: OpenTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the answers were held back nothing reads data: alone or together, but not where nothing was held
    back, and where what is asked for is no answer to a question."""
    several = configuration.model_copy(update={"engines": 2})
    assert not rests(configuration, tables, message(1))  # one engine: nobody sees its ledger meanwhile
    assert not rests(configuration, tables, message(2), message(3))
    assert rests(several, tables, message(4))
    assert not rests(several, tables, message(4))  # known, and nothing was computed
    assert not rests(several, tables, {**message(5), "operation": "tables"})

    def gone(*_: Any, **__: Any) -> Any:
        raise DataError("The file is gone.")

    with monkeypatch.context() as broken:
        broken.setattr(Scan, "draw", gone)
        assert not rests(several, tables, message(5))
        assert not rests(several, tables, message(6), message(7))


def test_those_together_rest_unless_the_last_one_failed_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = load_configuration(written(tmp_path, epsilon=9.0))
    several = configuration.model_copy(update={"engines": 2})
    with closing(OpenTables(several.data)) as tables:
        assert rests(several, tables, message(1), message(2), message(3))
        paid = together.pay_together
        one_alone = lambda book, payments, **more: [*paid(book, payments[:-1], **more), Alone()]  # noqa: E731
        monkeypatch.setattr(together, "pay_together", one_alone)
        assert rests(several, tables, message(4), message(5))
        late = lambda *_, **__: {"problem": {"type": "urn:leakcap:problem:data"}}  # noqa: E731
        monkeypatch.setitem(process.OPERATIONS, "release", late)
        assert not rests(several, tables, message(6), message(7))


@pytest.mark.parametrize("rested", [False, True])
def test_what_does_not_rest_ends_on_a_rung(monkeypatch: pytest.MonkeyPatch, rested: bool) -> None:
    clock = Pretended()
    monkeypatch.setattr(ticks, "time", clock)
    begun = clock.now
    with ticks.on_the_clock(0.001) as pace:
        clock.now += 0.0133
        pace.rested = rested
    assert clock.now - begun == pytest.approx(0.0133 if rested else 0.001 * 1.1**28)


def test_where_the_data_cannot_be_opened_each_is_told_so(tmp_path: Path) -> None:
    file = written(tmp_path)
    configuration = load_configuration(file)
    (tmp_path / "ward.parquet").unlink()
    with closing(OpenTables(configuration.data)) as tables:
        found = told(configuration, tables, *map(message, range(3)))
    assert all("cannot be opened" in one["problem"]["detail"] for one in found)


def test_what_is_written_about_answers_waits_for_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several engines the ledger shows what one has answered before the answer leaves."""
    configuration = load_configuration(written(tmp_path, more="").parent / "curator.toml")
    several = configuration.model_copy(update={"engines": 2, "tick": 1.6})
    stamps: dict[str, float] = {}
    once = OpenLedger.release_once

    def noted(self: Any, *args: Any, **more: Any) -> Any:
        stamps.setdefault("recorded", time.monotonic())
        return once(self, *args, **more)

    monkeypatch.setattr(OpenLedger, "release_once", noted)
    with closing(OpenTables(several.data)) as tables:
        tables.of("ward", "")
        begun = time.monotonic()
        told(several, tables, *map(message, range(3)))
    assert stamps["recorded"] - begun >= 0.2  # the first rung of a clock eight times as fast


# A process of the engine, and many who ask it


@contextmanager
def engine(configuration: Configuration, folder: Path) -> Iterator[EngineClient]:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(folder / "engine.sock"))
    listener.listen(64)
    children = []
    for _ in range(2):
        child = os.fork()
        if not child:
            try:
                process.answer_calls(listener, configuration, seconds=30.0)
            finally:
                os._exit(1)
        children.append(child)
    listener.close()
    try:
        yield EngineClient(str(folder / "engine.sock"), seconds=20.0)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_many_who_ask_two_engines_at_once_are_told_each_their_own(tmp_path: Path) -> None:
    """Forty people, each under two keys twice; as many as fit are answered, and the chain has each once."""
    configuration = load_configuration(written(tmp_path, epsilon=5.0))
    outcomes: dict[tuple[str, int], Any] = {}
    lock = threading.Lock()

    def ask(client: EngineClient, person: int, number: int) -> None:
        body: Mapping[str, Any] = {**message(person)["body"], "fresh": True}
        who, request = f"local:p{person}", f"{person * 100 + number:064x}"
        try:
            found = answer_in({"result": client.call("release", "ward", who, body, request=request)})
        except LeakcapError as error:
            found = type(error)
        with lock:
            assert outcomes.setdefault((who, number), found) == found or found is BudgetExceeded

    with engine(configuration, tmp_path) as client, ThreadPoolExecutor(24) as many:
        client.call("check", "ward", "")
        asked = [(person, number) for _ in range(2) for person in range(40) for number in range(2)]
        list(many.map(lambda one: ask(client, *one), asked))
        who, number = next(key for key, found in outcomes.items() if isinstance(found, tuple))
        used = int(who.removeprefix("local:p")) * 100 + number
        with pytest.raises(RequestReused):
            client.call("release", "ward", who, message(77)["body"], request=f"{used:064x}")
        with pytest.raises(InvalidQuery):
            client.call("release", "ward", "local:p0", {"sql": ""}, request="f" * 64)
    answered = {key: found for key, found in outcomes.items() if isinstance(found, tuple)}
    with Ledger.read(f"sqlite:///{tmp_path / 'ward.db'}") as ledger:
        assert ledger.totals().epsilon == 5.0
        assert len(ledger.requests()) == 50
        assert len({entry for entry, _ in answered.values()}) == len(answered)
        entries = {one.id: one for one in ledger.entries()}
        for (who, _), (entry, values) in answered.items():
            assert entries[entry].analyst == who
            kept = ledger.answer(entry)
            assert kept is not None
            assert kept.values == values
        ledger.verify()


def test_a_message_that_is_cut_short_ends_nothing(tmp_path: Path) -> None:
    configuration = load_configuration(written(tmp_path))
    with engine(configuration, tmp_path) as client:
        for junk in (b"\0\0\0\x10abc", b"\0\0\0\2{}", b""):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.connect(str(tmp_path / "engine.sock"))
                connection.sendall(junk)
                connection.shutdown(socket.SHUT_WR)
                if junk == b"\0\0\0\2{}":
                    assert "problem" in receive(connection)
        assert client.call("check", "ward", "")["columns"]
