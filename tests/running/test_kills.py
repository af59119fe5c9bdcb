"""`kill -9` two hundred times while a stream is answered: paid once, and no step is answered twice."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from leakcap.ledger import Ledger
from leakcap.release import PrivateTable
from leakcap.running import RunningQuestion, release_running
from leakcap.running.reading import running_counts, running_statement
from ledger.killed import EVERY, killed
from running.streams import day, policy_of, table_of, visits

QUESTION = RunningQuestion(name="visits", period="date", first=day(0), steps=60, rho=1e-11)
ROWS = table_of(visits(400, days=60))


@pytest.mark.slow
def test_two_hundred_kills_pay_once_and_reuse_no_noise(tmp_path: Path) -> None:
    place, chance, deaths = tmp_path / "l.db", random.Random(8), 0
    published, recorded = tmp_path / "published", list[int]()
    published.touch()
    PrivateTable(ROWS, policy=policy_of(), ledger=place).close()

    def ask(through: int) -> None:
        with PrivateTable(ROWS, policy=policy_of(), ledger=place) as table:
            found = release_running(table, QUESTION, through=day(through))
        line = " ".join(str(one) for (one,) in found.integers) + "\n"
        with published.open("a") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    while deaths < 200:
        through = min(len(recorded) + chance.randrange(2), QUESTION.steps - 1)
        deaths += killed(lambda: ask(through), chance.randrange(60), of=EVERY)  # noqa: B023
        with Ledger.read(f"sqlite:///{place}") as ledger:
            ledger.verify()
            entries = ledger.entries()
            assert len(entries) <= 1
            steps = ledger.steps(entries[0].id) if entries else {}
        now = [int(steps[step].values[0][0]) for step in range(len(steps))]
        assert now[: len(recorded)] == recorded
        recorded = now
    with Ledger.read(f"sqlite:///{place}") as ledger:
        assert ledger.totals().entries == 1
    lines = [[int(one) for one in line.split()] for line in published.read_text().splitlines()]
    assert lines
    assert all(line == recorded[: len(line)] for line in lines)
    planned, size = QUESTION.planned(policy_of()), len(recorded)
    with PrivateTable(ROWS, policy=policy_of(), ledger=place) as table:
        statement = running_statement(planned, table.engine, size)
        ((*counts,),) = running_counts(planned, statement, size, table.engine).tolist()
    weights = planned.plan.factor.weights
    noise = [y - sum(weights[t - s] * counts[s] for s in range(t + 1)) for t, y in enumerate(recorded)]
    # Two of 60 draws over 10¹⁰ numbers meet by chance with a probability below 10⁻⁶.
    assert planned.plan.variance > 10**18
    assert len(set(noise)) == size
