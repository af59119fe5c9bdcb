"""Which entries answer a question: those that paid for the same, in whatever state the data was."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest

from leakcap.ledger import Ledger
from leakcap.release import PrivateTable, amend, load_policy
from leakcap.running import RunningQuestion, release_running
from leakcap.running.release import charge_of_running
from leakcap.tables import TablesQuestion, release_tables
from leakcap.tables.charge import charge_of_tables
from leakcap.tables.release import remembered_tables

POLICY = """dataset = "people"
neighbours = "add-remove-one"
caps = { epsilon = 9.0, delta = 1e-6 }
[columns]
sex = { keys = ["f", "m"] }
age = { keys = ["old", "young"] }
day = { dates = ["2026-01-01", "2026-12-31"] }
month = { from = "day", truncate = "month" }
"""
SEXES = TablesQuestion(columns=("sex", "age"), ways=2, rho=0.01)
CSV = "sex,age,day\n" + "f,old,2026-01-05\nm,young,2026-02-07\n" * 40


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "people.csv").write_text(CSV)
    return tmp_path


def opened(place: Path, **more: str) -> PrivateTable:
    url = f"sqlite:///{place / 'spent.db'}"
    return PrivateTable(place / "people.csv", policy=place / "policy.toml", ledger=url, **more)


def answering(place: Path, question: TablesQuestion) -> tuple[int, ...]:
    policy = load_policy(place / "policy.toml")
    with Ledger.read(f"sqlite:///{place / 'spent.db'}") as book:
        return book.entries_answering(charge_of_tables(question.planned(policy)), dataset="people")


def test_the_same_question_of_every_state_of_the_data_and_no_other(place: Path) -> None:
    with opened(place) as table:
        first = release_tables(table, SEXES)
        release_tables(table, SEXES, fresh=True)
        release_tables(table, SEXES.model_copy(update={"rho": 0.02}))
        release_tables(table, SEXES.model_copy(update={"where": "sex = 'f'"}))
    (place / "people.csv").write_text(CSV + "f,young,2026-03-01\n")
    with opened(place) as table:
        release_tables(table, SEXES)
    assert answering(place, SEXES) == (1, 2, 5)
    assert answering(place, SEXES.model_copy(update={"name": "another"})) == (1, 2, 5)
    assert answering(place, SEXES.model_copy(update={"rho": 0.02})) == (3,)
    assert answering(place, SEXES.model_copy(update={"rho": 0.03})) == ()
    with Ledger.read(f"sqlite:///{place / 'spent.db'}") as book:
        planned = SEXES.planned(load_policy(place / "policy.toml"))
        again = remembered_tables(book, planned)
    assert list(again) == [1, 2, 5]
    for columns in (("sex", "age"), ("sex",), ()):
        assert (again[1].table(*columns).values == first.table(*columns).values).all()
    assert (again[2].table().values != again[5].table().values).any() or again[2].integers != again[
        5
    ].integers


def test_what_meant_something_else_is_another_question(place: Path) -> None:
    """Under the amended policy `m` comes first: in its order the old numbers would stand at other keys."""
    with opened(place) as table:
        release_tables(table, SEXES)
    (place / "policy.toml").write_text(POLICY.replace('["f", "m"]', '["m", "f"]'))
    amend(place / "policy.toml", f"sqlite:///{place / 'spent.db'}", reason="order", by="ada")
    kept = answering(place, SEXES)
    (place / "policy.toml").write_text(POLICY.replace('["f", "m"]', '["m", "x"]'))
    amend(place / "policy.toml", f"sqlite:///{place / 'spent.db'}", reason="keys", by="ada")
    assert answering(place, SEXES) == ()
    # What would be told for free is what is found, and nothing else.
    with opened(place) as table:
        assert release_tables(table, SEXES).repeated is False
    assert answering(place, SEXES) == (2,)
    assert kept == ()


def test_analysts_with_accounts_of_their_own_are_found_all(place: Path) -> None:
    own = POLICY.replace("delta = 1e-6 }", "delta = 1e-6, each_analyst = { epsilon = 5.0, delta = 1e-6 } }")
    (place / "policy.toml").write_text(own)
    for analyst in ("ada", "bob"):
        with opened(place, analyst=analyst) as table:
            release_tables(table, SEXES)
    assert answering(place, SEXES) == (1, 2)
    (place / "policy.toml").write_text(POLICY)
    amend(place / "policy.toml", f"sqlite:///{place / 'spent.db'}", reason="one account", by="ada")
    assert answering(place, SEXES) == (1, 2)


def test_a_stream_and_data_without_a_name(place: Path) -> None:
    year = RunningQuestion(name="year", period="month", first="2026-01", steps=12, rho=0.01)
    with opened(place) as table:
        release_running(table, year, through="2026-02")
        planned = year.planned(table.policy)
        charge = charge_of_running(planned)
        assert table.ledger.entries_answering(charge, dataset="people") == (1,)
        longer = charge_of_running(year.model_copy(update={"steps": 11}).planned(table.policy))
        assert table.ledger.entries_answering(longer, dataset="people") == ()
        assert table.ledger.entries_answering(charge, dataset="others") == ()
    rows = pyarrow.table({"sex": ["f", "m"] * 20, "age": ["old"] * 40})
    policy = load_policy(place / "policy.toml")
    with PrivateTable(rows, policy=policy, ledger="sqlite://") as table:
        release_tables(table, SEXES)
        assert table.ledger.entries_answering(charge_of_tables(SEXES.planned(policy))) == (1,)
        assert table.ledger.entries_answering(charge_of_tables(SEXES.planned(policy)), dataset="people") == (
            1,
        )


def test_an_edited_row_is_refused(place: Path) -> None:
    import sqlite3

    from leakcap.errors import LedgerError

    with opened(place) as table:
        release_tables(table, SEXES)
    with sqlite3.connect(place / "spent.db") as raw:
        raw.execute("UPDATE leakcap_event SET analyst = 'eve' WHERE kind = 'reserve'")
    with pytest.raises(LedgerError, match="was edited"):
        answering(place, SEXES)
