"""Jobs end at few times, whatever they read; before that neither the job nor the ledger tells anything."""

from __future__ import annotations

import math
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import leakcap as lc
from leakcap import Channel
from leakcap.audit import audit_samples
from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.ledger import Caps, Charge, Ledger, Spend, answer_once
from leakcap.service import job_times, ticks
from leakcap.service.api.curator import Curator
from leakcap.service.configuration import Configuration, DataSource, load_configuration
from leakcap.service.engine import process
from leakcap.service.engine.calling import EngineClient
from leakcap.service.engine.tables import OpenTables
from leakcap.service.job_times import JobClock, JobTimes, LastTimePassed
from leakcap.service.running import jobs
from leakcap.service.running.jobs import work
from leakcap.service.ticks import FASTER, rung
from leakcap.service.timing import answer_nats, late_nats, timing_lines
from service.direct import CURATOR, curator_in, written
from service.test_api import COUNT, client_of, signed_in

FRESH = {**COUNT, "fresh": True}
AS_JOBS = 'answers = "as jobs"\n'
TIMES = next(line for line in CURATOR.splitlines() if line.startswith("job_times"))


class Pretended:
    """A clock on which nothing but sleeping takes time."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Hurried:
    """The real clock, on which sleeping takes no time; before it somebody looks."""

    def __init__(self, look: Callable[[], None]) -> None:
        self._slept, self._look = 0.0, look

    def monotonic(self) -> float:
        return time.monotonic() + self._slept

    def sleep(self, seconds: float) -> None:
        self._look()
        self._slept += seconds


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Pretended:
    found = Pretended()
    monkeypatch.setattr(job_times, "time", found)
    return found


# What time tells at most


@pytest.mark.parametrize("outcomes", [2, 3, 8, 40])
def test_what_late_answers_tell_is_the_capacity_of_the_widest_channel(outcomes: int) -> None:
    """The library's solver of capacities is the second route; p ln m, which is quoted for it, is above it."""
    for late in (1e-3, 0.01, 0.3, 0.9, 1.0):
        others = range(1, outcomes)
        rows = [[1.0] + [0.0] * (outcomes - 1)]
        rows += [[1.0 - late, *(late if place == one else 0.0 for place in others)] for one in others]
        solved = lc.capacity(Channel(rows), lc.Renyi(1), lc.AllPriors())
        found = late_nats(outcomes, late)
        assert solved.lower - 1e-12 <= found <= solved.upper + 1e-9
        assert found <= late * math.log(outcomes) * (1 + 1e-12)
        assert not solved.lower <= found * 0.99  # a bound that is too low is caught


def test_late_answers_are_a_probability() -> None:
    for outcomes, late in ((2, 1.5), (2, -0.1), (0, 0.5)):
        with pytest.raises(InvalidParameter):
            late_nats(outcomes, late)


def configured(**more: Any) -> Configuration:
    limits = more.pop("limits", {})
    data = {"ward": DataSource(policy="p", source="s", ledger="l", **more)}
    return Configuration(data=data, limits=limits, tick=0.1)


def test_all_ends_that_can_be_told_apart_are_counted() -> None:
    """Of jobs by hand; of answers that are waited for by walking through all times that one may take."""
    two = configured(answers="as jobs", job_times=[5.0, 60.0])
    assert answer_nats(two, "ward", replace_one=False) == pytest.approx(math.log(3), abs=1e-15)
    assert answer_nats(two, "ward", replace_one=True) == pytest.approx(2 * math.log(3), abs=1e-15)
    plain = configured(answers="as jobs", limits={"job_seconds": 50.0})  # 1, 4, 16, 50, never
    assert answer_nats(plain, "ward", replace_one=False) == pytest.approx(math.log(5), abs=1e-15)

    def ends(most: float, tick: float) -> int:
        return len({rung(most * part / 20_000, tick) for part in range(1, 20_001)})

    waited, queued = ends(80.0, 0.1), ends(30.0, 0.1 / FASTER) + 1
    at_once = answer_nats(configured(), "ward", replace_one=False)
    assert at_once == pytest.approx(math.log(waited * queued), abs=1e-12)
    assert answer_nats(two, "ward", replace_one=False) < at_once / 5
    for engines in (1, 2):  # the ledger keeps the time of the spend, whoever may look meanwhile
        several = configured().model_copy(update={"engines": engines})
        free = engines * (queued - 1) + 1  # of two, also when what was held back until a rung is recorded
        counted = answer_nats(several, "ward", replace_one=True)
        assert counted == pytest.approx(math.log(waited * free * queued), abs=1e-12)
        counted = answer_nats(several, "ward", replace_one=False)
        assert counted == pytest.approx(math.log(waited * free), abs=1e-12)


def test_the_owner_is_told(tmp_path: Path) -> None:
    file = written(tmp_path, more=AS_JOBS)
    (line,) = timing_lines(load_configuration(file))
    assert line == (
        "ward answers as jobs, seen after 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30 s, or never: "
        "the time of an answer tells at most 2.31 nats."
    )


@pytest.mark.parametrize("times", ["[0.0, 1.0]", "[2.0, 1.0]", "[1.0, 1.0]", "[90000.0]", '["1"]', "[nan]"])
def test_times_that_are_none_are_refused(tmp_path: Path, times: str) -> None:
    file = written(tmp_path)
    file.write_text(file.read_text().replace(TIMES, f"job_times = {times}"))
    with pytest.raises(InvalidParameter, match="job_times"):
        load_configuration(file)


def test_whole_numbers_are_times(tmp_path: Path) -> None:
    file = written(tmp_path)
    file.write_text(file.read_text().replace(TIMES, "job_times = [1, 30]"))
    assert load_configuration(file).times_of_jobs("ward") == JobTimes((1.0, 30.0))


# The clock of one job


def test_an_answer_waits_for_the_next_time_and_after_the_last_there_is_none(pretended: Pretended) -> None:
    watched: list[float] = []
    for took, wanted in ((0.0, 2.0), (2.0, 2.0), (2.1, 8.0), (7.9, 8.0)):
        clock = JobClock(JobTimes((2.0, 8.0)), pretended.now, watch=watched.append)
        clock.start()
        pretended.now += took
        clock.before_release()
        assert clock.elapsed == pytest.approx(wanted)
        assert watched[-2:] == pytest.approx([8.0, 13.0 - took])  # not ended while it is being recorded
    clock = JobClock(JobTimes((2.0, 8.0)), pretended.now - 8.1)
    for late in (clock.start, clock.before_release, clock.before_spend):
        with pytest.raises(LastTimePassed):
            late()
    clock.before_end()
    assert clock.elapsed == pytest.approx(13.0)
    assert JobTimes((2.0, 8.0)).reached(clock.elapsed) == 13.0


@pytest.mark.parametrize(("took", "waits"), [(0.0, 2.0), (1.9, 2.0), (2.1, 4.0)])
def test_nobody_is_ended_while_it_waits_to_say_that_it_has_ended(
    pretended: Pretended, took: float, waits: float
) -> None:
    """With one time the process would be ended at the very moment until which it waits."""
    told: list[tuple[float, float]] = []  # when the watch was set, and how long it leaves
    clock = JobClock(JobTimes((2.0,)), pretended.now, watch=lambda left: told.append((clock.elapsed, left)))
    clock.start()
    pretended.now += took
    clock.before_end()
    assert clock.elapsed == pytest.approx(waits)
    assert told[0] == pytest.approx((0.0, 2.0))
    assert sum(told[-1]) > clock.elapsed + 1.0


def test_an_engine_with_one_time_says_what_is_known_and_what_is_refused(tmp_path: Path) -> None:
    """A process of the engine, with its alarm: until 0.8 s it waits, and is not ended."""
    file = written(tmp_path, more=AS_JOBS)
    file.write_text(file.read_text().replace(TIMES, "job_times = [0.8]"))
    configuration, place = load_configuration(file), tmp_path / "e.sock"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(place))
    listener.listen()
    child = os.fork()
    if not child:
        process.answer_calls(listener, configuration, seconds=30.0)
    listener.close()
    try:
        engine = EngineClient(str(place), seconds=5.0)

        def told(key: str, body: Mapping[str, Any]) -> Any:
            times = {"begun": time.monotonic(), "seconds": 0.8}
            return engine.call("release", "ward", "local:ada", body, request=key * 64, **times)

        engine.call("check", "ward", "")  # it has begun
        first = told("a", COUNT)
        assert told("b", COUNT)["answers"][0]["entry"] == first["answers"][0]["entry"]
        with pytest.raises(InvalidQuery):
            told("c", {"queries": [{**COUNT["queries"][0], "statistic": "nonsense"}]})
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_what_is_spent_after_rows_were_read_waits_for_half_of_a_time(pretended: Pretended) -> None:
    for took, wanted in ((0.3, 1.0), (1.2, 4.0)):
        clock = JobClock(JobTimes((2.0, 8.0)), pretended.now)
        pretended.now += took
        clock.before_spend()
        assert clock.elapsed == pytest.approx(wanted)
    pretended.now += 0.2
    with pytest.raises(LastTimePassed):
        clock.before_spend()


# The ledger


def seen_states(file: Path, hold: bool) -> tuple[list[str], list[str]]:
    """The states of the entries that another reader sees once the answer is computed, and at the end."""
    url, seen = f"sqlite:///{file}", list[str]()

    def look() -> None:
        with Ledger.read(url) as other:
            seen.extend(one.state for one in other.entries())

    def prepare(*_: object) -> Callable[[Any], Any]:
        return lambda entries: [(1, [[1]])]

    with Ledger.open(url, dataset="d", policy="ab12cd34", caps=Caps(1.0)) as ledger:
        with ledger.held_back(before_release=look if hold else lambda: None):
            answer_once(ledger, [Charge("c", "count", Spend(epsilon=0.5))], prepare, data="t")
        if not hold:
            look()
        return seen, [one.state for one in ledger.entries()]


def test_what_is_held_back_is_not_in_the_ledger(tmp_path: Path) -> None:
    assert seen_states(tmp_path / "held.db", hold=True) == (["reserved"], ["released"])
    assert seen_states(tmp_path / "not.db", hold=False) == (["released"], ["released"])


def test_a_release_that_is_held_back_for_ever_never_left(tmp_path: Path) -> None:
    """Its spend stands: what fails after the commit costs budget."""

    def never() -> None:
        raise LastTimePassed

    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    with Ledger.open(url, dataset="d", policy="ab12cd34", caps=Caps(1.0)) as ledger:
        (entry,) = ledger.reserve([Charge("c", "count", Spend(epsilon=0.5))], data="t")
        with ledger.held_back(before_release=never), pytest.raises(LastTimePassed):
            ledger.mark_released([entry.id], answers={entry.id: [[1]]})
        with ledger.held_back(before_spend=never, before_release=never), pytest.raises(LastTimePassed):
            ledger.reserve([Charge("d", "count", Spend(epsilon=0.1))], data="t")
        assert [(one.state, one.spend.epsilon) for one in ledger.entries()] == [("reserved", 0.5)]
        ledger.mark_released([entry.id], answers={entry.id: [[1]]})  # nothing is held back any more


# The whole way


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    found = curator_in(tmp_path, more=AS_JOBS)
    yield found
    found.store.close()


def timed(curator: Curator, *times: float) -> None:
    curator.configuration.data["ward"].job_times[:] = times


def worked(curator: Curator, many: int = 1) -> None:
    left = iter([True] * many)
    work(curator.store, curator.engine, curator.configuration, going=lambda: next(left, False))


def asked(web: TestClient, who: Mapping[str, str], key: str, body: Any = FRESH) -> Any:
    told = web.post("/v1/datasets/ward/releases", json=body, headers={**who, "idempotency-key": key})
    assert told.status_code == 202, told.text
    return told.json()["id"]


@contextmanager
def slowed(seconds: float) -> Iterator[None]:
    """The engine takes so long to read the rows, once it was paid."""
    before = lc.PrivateTable._prepare

    def prepare(self: Any, steps: Any, charges: Any) -> Any:
        compute = before(self, steps, charges)

        def later(entries: Any) -> Any:
            time.sleep(seconds)
            return compute(entries)

        return later

    lc.PrivateTable._prepare = prepare  # type: ignore[method-assign]
    try:
        yield
    finally:
        lc.PrivateTable._prepare = before  # type: ignore[method-assign]


def test_the_first_answer_says_nothing_and_the_ledger_neither(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a job, whether it would be quick or not; while it waits for its time the budget, which anybody
    with a role may read, has its spend, and not that it was computed."""
    timed(curator, 1.5, 30.0)
    web, seen = client_of(curator), list[tuple[str, str]]()
    ada = signed_in(web, "ada")
    number = asked(web, ada, "k1")
    sleep = time.sleep

    def look(seconds: float) -> None:
        with Ledger.read(curator.configuration.data["ward"].ledger) as book:
            seen.extend((one.state, curator.store.jobs.find(number).state) for one in book.entries())
        sleep(seconds)

    monkeypatch.setattr(job_times.time, "sleep", look)
    worked(curator)
    assert seen == [("reserved", "running")]
    assert web.get(f"/v1/jobs/{number}", headers=ada).json()["state"] == "done"
    (entry,) = web.get("/v1/datasets/ward/budget", headers=ada).json()["entries"]
    assert entry["state"] == "released"


def test_progress_is_told_and_hangs_on_the_clock_alone(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is said while a job works is the same where it was computed at once and where it takes long."""
    monkeypatch.setattr(jobs, "_BEAT", 0.02)
    timed(curator, 0.8, 30.0)
    web = client_of(curator)
    ada = signed_in(web, "ada")
    for took in (0.0, 0.5):
        number, seen = asked(web, ada, f"{took}"), set[str]()
        with slowed(took), watched(curator, number, seen):
            worked(curator)
        # The second is said where a beat comes between the first time and the job's end.
        assert seen - {"Under way. Its end may show 30 s after its start."} == {
            "Under way. Its end may show 0.8 s after its start, 30 s at the latest."
        }
        assert web.get(f"/v1/jobs/{number}", headers=ada).json()["progress"] == ""


@contextmanager
def watched(curator: Curator, number: str, seen: set[str]) -> Iterator[None]:
    """Note what a job says of itself meanwhile."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.01):
            if told := curator.store.jobs.find(number).progress:
                seen.add(told)

    watching = threading.Thread(target=look)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


def test_rows_that_are_read_before_the_spend_do_not_date_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under replace-one the people are counted first. The budget shows the spend at half of a time: without
    that there is one wait in place of two, and the spend is seen when the counting ends."""
    found = curator_in(tmp_path, more=AS_JOBS)
    file = tmp_path / "policy.toml"
    file.write_text("rows = 90\n" + file.read_text().replace("add-remove-one", "replace-one"))
    timed(found, 3.0, 30.0)
    web, seen = client_of(found), list[list[str]]()
    number = asked(web, signed_in(web, "ada"), "k1")

    def look() -> None:
        with Ledger.read(found.configuration.data["ward"].ledger) as book:
            seen.append([one.state for one in book.entries()])

    hurried = Hurried(look)
    for module in (job_times, jobs, process):
        monkeypatch.setattr(module, "time", hurried)
    worked(found)
    assert found.store.jobs.find(number).state == "done"
    assert seen == [[], ["reserved"]]
    found.store.close()


def test_of_several_engines_one_does_not_show_when_another_has_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answered at once: the ledger is written on a rung. One engine alone shows nothing while it works."""
    found = curator_in(tmp_path)
    url, seen = found.configuration.data["ward"].ledger, list[str]()

    def look() -> None:
        with Ledger.read(url) as book:
            seen.extend(one.state for one in book.entries())

    monkeypatch.setattr(ticks, "time", Hurried(look))
    call = {"operation": "release", "dataset": "ward", "analyst": "local:ada", "body": FRESH}
    for engines, states in ((1, []), (3, ["released", "reserved"])):
        several = found.configuration.model_copy(update={"engines": engines})
        told = process.answer({**call, "request": f"{engines}" * 64}, several, OpenTables(several.data))
        assert "result" in told
        assert seen == states
    found.store.close()


def test_the_ledger_keeps_no_time_at_which_the_counting_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One engine, at once: the spend that follows on the count is written on a rung, and has its time."""
    found = curator_in(tmp_path)
    file = tmp_path / "policy.toml"
    file.write_text("rows = 90\n" + file.read_text().replace("add-remove-one", "replace-one"))
    slow = found.configuration.model_copy(update={"tick": 6.0})
    tables = OpenTables(slow.data)
    tables.of("ward", "")
    call = {"operation": "release", "dataset": "ward", "analyst": "local:ada", "body": FRESH}
    begun = datetime.now(UTC)
    assert "result" in process.answer({**call, "request": "a" * 64}, slow, tables)
    (entry,) = tables.of("ward", "").ledger.entries()
    spent_after = (datetime.fromisoformat(str(entry.time)) - begun).total_seconds()
    assert 6.0 / FASTER <= spent_after < 6.0 / FASTER + 0.2
    found.store.close()


def test_a_known_answer_and_a_refusal_end_as_a_fresh_one_does(curator: Curator) -> None:
    timed(curator, 0.6, 30.0)
    web, moments = client_of(curator), list[datetime]()
    ada, unknown = signed_in(web, "ada"), {"queries": [{"name": "n", "statistic": "count", "epsilon": 99.0}]}
    curator.store.clock = lambda: (moments.append(datetime.now(UTC)), moments[-1])[1]
    for key, body, state in (("a", COUNT, "done"), ("b", COUNT, "done"), ("c", unknown, "failed")):
        number, place = asked(web, ada, key, body), len(moments)
        begun = time.monotonic()
        worked(curator)
        assert 0.6 <= time.monotonic() - begun < 3.0
        job = curator.store.jobs.find(number)
        assert job.state == state
        assert job.updated - timedelta(seconds=0.6) in moments[place:]


def test_what_takes_longer_than_the_last_time_has_no_answer(curator: Curator) -> None:
    """It is told a moment later; what was computed by then never left."""
    timed(curator, 0.25, 0.5)
    web = client_of(curator)
    ada = signed_in(web, "ada")
    number, begun = asked(web, ada, "k1"), time.monotonic()
    with slowed(0.6):
        worked(curator)
    assert time.monotonic() - begun >= 1.0
    job = curator.store.jobs.find(number)
    assert (job.state, job.problem and job.problem["status"]) == ("failed", 503)
    (entry,) = web.get("/v1/datasets/ward/budget", headers=ada).json()["entries"]
    assert entry["state"] == "reserved"


def test_the_next_job_begins_when_the_one_before_may_be_seen(curator: Curator) -> None:
    """Else its own end would tell how long the one before took."""
    timed(curator, 0.6, 30.0)
    web = client_of(curator)
    ada, ben = signed_in(web, "ada"), signed_in(web, "ben")
    ends = []
    for took in (0.0, 0.3):
        numbers = [asked(web, who, f"{took}") for who in (ada, ben)]
        begun = time.monotonic()
        with slowed(took):
            worked(curator, 2)
        assert time.monotonic() - begun >= 1.2
        first, second = (curator.store.jobs.find(one).updated for one in numbers)
        ends.append((second - first).total_seconds())
    assert ends == pytest.approx([0.6, 0.6], abs=0.4)


# The audit


def ends_of(pretended: Pretended, took: Iterable[float], *times: float) -> list[int]:
    """When jobs that take so long are seen to have ended, in hundredths of a second."""
    found = []
    for seconds in took:
        clock = JobClock(JobTimes(times), pretended.now)
        clock.start()
        pretended.now += seconds
        try:
            clock.before_release()
        except LastTimePassed:
            clock.before_end()
        found.append(round(100 * clock.elapsed))
    return found


@pytest.mark.parametrize(("off", "least", "most"), [(False, 0.0, 0.001), (True, 0.01, math.log(2))])
def test_an_audit_of_ends_finds_nothing_but_where_the_clock_is_off(
    pretended: Pretended, monkeypatch: pytest.MonkeyPatch, off: bool, least: float, most: float
) -> None:
    """Two worlds, in one of which questions take 50 ms longer. What the audit proves is false with
    probability 5 % at most; with the clock it is below the target of 10⁻³ nats, without it above ten times
    that. The planted failure is a clock that lets every answer out when it is done."""
    if off:
        monkeypatch.setattr(JobTimes, "after", lambda self, elapsed, share=1.0: elapsed)
    draws = np.random.default_rng(17).gamma(4.0, 0.02, size=(2, 2_000))
    worlds = (ends_of(pretended, took, 0.5, 30.0) for took in (draws[0], draws[1] + 0.05))
    assert least <= audit_samples(*worlds, seed=0).information.lower <= most


def test_what_late_answers_tell_is_found_and_is_no_more_than_the_bound(pretended: Pretended) -> None:
    """A fifth of the answers of one world are late, and half of these never come."""
    draws = np.random.default_rng(18).choice([0.1, 0.7, 40.0], p=[0.8, 0.1, 0.1], size=2_000)
    found = audit_samples(
        ends_of(pretended, [0.1] * 2_000, 0.5, 30.0), ends_of(pretended, draws, 0.5, 30.0), seed=0
    )
    assert late_nats(3, 0.2) / 3 < found.information.lower <= late_nats(3, 0.2)
