"""Several data sets about the same people: one ledger, one set of caps, each answer its data set's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from leakcap.errors import BudgetExceeded, InvalidQuery, LedgerError
from leakcap.ledger import Edition, Ledger, export, move, revising
from leakcap.ledger.chain import row_hash
from leakcap.ledger.policies import texts_of_all
from leakcap.ledger.schema import EVENT
from leakcap.ledger.state import seed_of
from leakcap.ledger.verification import _Seen
from leakcap.release import PrivateTable, admit, amend

WARD: dict[str, Any] = {
    "dataset": "ward",
    "unit": {"id": "person", "max_rows": 2},
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 1.0},
    "columns": {"age": {"bounds": [0.0, 120.0]}},
}
VISITS = WARD | {"dataset": "visits", "unit": {"id": "person", "max_rows": 5}}
WARD_ROWS = pyarrow.table({"person": [1, 2, 3], "age": [30.0, 40.0, 50.0]})
VISIT_ROWS = pyarrow.table({"person": [1, 1, 2, 9], "age": [30.0, 31.0, 40.0, 70.0]})


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'people.db'}"


def table(policy: Mapping[str, Any], ledger: str) -> PrivateTable:
    rows = WARD_ROWS if policy["dataset"] == "ward" else VISIT_ROWS
    return PrivateTable(rows, policy=policy, ledger=ledger, version="2026-03")


def ask(policy: Mapping[str, Any], ledger: str, epsilon: float = 0.3, **options: Any) -> Any:
    asked = table(policy, ledger)
    with asked.ledger:
        return asked.count(epsilon=epsilon, **options)


def test_all_data_sets_pay_from_one_budget(ledger: str) -> None:
    ask(WARD, ledger)
    with pytest.raises(LedgerError, match="leakcap ledger admit"):
        ask(VISITS, ledger)
    assert admit(VISITS, ledger, reason="the same patients") == "visits"
    ask(VISITS, ledger, 0.5)
    with pytest.raises(BudgetExceeded):
        ask(WARD, ledger, 0.25, fresh=True)
    with pytest.raises(BudgetExceeded):
        ask(VISITS, ledger, 0.25, fresh=True)
    with Ledger.read(ledger) as book:
        book.verify()
        assert [(one.dataset, one.entries, one.epsilon) for one in book.datasets()] == [
            ("ward", 1, "0.3"),
            ("visits", 1, "0.5"),
        ]
        assert (book.balances()[0].left, [entry.dataset for entry in book.entries()]) == (0.2, ["", "visits"])
        told = json.loads(export(book.entries(), "json"))
        assert [row["details"].get("dataset") for row in told] == [None, "visits"]


def test_the_same_question_is_recalled_in_its_own_data_set_only(ledger: str) -> None:
    ask(WARD, ledger, 0.1)
    admit(VISITS, ledger, reason="the same patients")
    for policy, spends in ((VISITS, 2), (WARD, 2), (VISITS, 2)):
        ask(policy, ledger, 0.1)
        with Ledger.read(ledger) as book:
            assert len(book.entries()) == spends


BEDS = {"beds": {"bounds": [0.0, 9.0]}}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a row": ({"unit": "row"}, "the unit of `visits` is a row"),
    "another id": ({"unit": {"id": "patient", "max_rows": 5}}, "`person` and `patient`"),
    "replace-one": ({"neighbours": "replace-one", "rows": 3}, "replace-one"),
    "other caps": ({"caps": {"epsilon": 2.0}}, "other caps"),
    "one more cap": ({"caps": {"epsilon": 1.0, "queries": 9}}, "other caps"),
    "one name": ({"dataset": "Ward"}, "they have one name"),
    "a public table": (
        {"tables": {"ward": {"public": True, "on": "place", "key": "place", "columns": BEDS}},
         "columns": {"age": {"bounds": [0.0, 120.0]}, "place": {"keys": ["a"]}}},
        "is public, and `ward` is about people",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_data_sets_that_may_not_share_are_refused(ledger: str, name: str) -> None:
    change, said = REFUSED[name]
    ask(WARD, ledger)
    with pytest.raises(LedgerError, match=said):
        admit(VISITS | change, ledger, reason="the same patients")
    with Ledger.read(ledger) as book:
        assert [one.dataset for one in book.datasets()] == ["ward"]


@pytest.mark.parametrize("change", [{"unit": "row"}, {"neighbours": "replace-one", "rows": 3}])
def test_a_ledger_without_ids_or_with_replace_one_admits_none(ledger: str, change: dict[str, Any]) -> None:
    ward = WARD | change
    with PrivateTable(WARD_ROWS, policy=ward, ledger=ledger).ledger:
        pass
    with pytest.raises(LedgerError, match="cannot pay from one ledger"):
        admit(VISITS, ledger, reason="the same patients")


def test_people_with_caps_of_their_own_share_no_ledger(ledger: str) -> None:
    own = {"caps": {"epsilon": 1.0, "each_person": [0.5]}}
    unit = {"id": "person", "max_rows": 2, "caps": "own"}
    table(WARD | own | {"unit": unit}, ledger).ledger.close()
    with pytest.raises(LedgerError, match="each_person"):
        admit(VISITS | own | {"unit": unit}, ledger, reason="the same patients")


def test_another_policy_of_an_admitted_data_set_continues_it(ledger: str) -> None:
    ask(WARD, ledger, 0.1)
    admit(VISITS, ledger, reason="the same patients")
    old = table(VISITS, ledger)
    ask(VISITS, ledger, 0.1)
    wider = VISITS | {"columns": VISITS["columns"] | {"sex": {"keys": ["f", "m"]}}}
    with pytest.raises(LedgerError, match="another policy of data set `visits`"):
        table(wider, ledger)
    with pytest.raises(LedgerError, match="already"):
        admit(VISITS, ledger, reason="again")
    admit(wider, ledger, reason="a column more")
    with pytest.raises(LedgerError, match="another policy of data set `visits`"):
        old.count(epsilon=0.1)
    old.ledger.close()
    ask(wider, ledger, 0.1)  # only a column was added: the answer of before is repeated
    with Ledger.read(ledger) as book:
        book.verify()
        assert len(book.entries()) == 2
    with pytest.raises(LedgerError, match="unit"):
        admit(wider | {"unit": "row"}, ledger, reason="rows")


def test_an_amendment_of_the_first_keeps_what_the_others_need(ledger: str) -> None:
    ask(WARD, ledger, 0.1)
    admit(VISITS, ledger, reason="the same patients")
    with pytest.raises(LedgerError, match="replace-one"):
        amend(WARD | {"neighbours": "replace-one", "rows": 3}, ledger, reason="counts are public")
    more = {"caps": {"epsilon": 2.0}}
    amend(WARD | more, ledger, reason="agreed")
    with pytest.raises(LedgerError, match="other caps"):
        table(VISITS, ledger)
    admit(VISITS | more, ledger, reason="agreed")
    ask(VISITS | more, ledger, 1.5)
    with Ledger.read(ledger) as book:
        book.verify()
        assert book.balances()[0].left == 0.4


def test_they_move_together(ledger: str, tmp_path: Path) -> None:
    ask(WARD, ledger, 0.1)
    admit(VISITS, ledger, reason="the same patients")
    ask(VISITS, ledger, 0.1)
    target = f"sqlite:///{tmp_path / 'new.db'}"
    move(ledger, target)
    ask(VISITS, target, 0.1)
    with Ledger.read(target) as book:
        book.verify()
        assert len(book.entries()) == 2


def test_a_planted_spend_of_a_data_set_that_was_not_admitted_is_found(ledger: str) -> None:
    """From the first admission on: before it, a detail of this name was a caller's own."""
    ask(WARD, ledger, 0.1)
    admit(VISITS, ledger, reason="the same patients")
    ask(VISITS, ledger, 0.1)
    with Ledger.read(ledger) as book, book._database.reading() as connection:
        rows = [dict(row) for row in connection.execute(EVENT.select().order_by(EVENT.c.seq)).mappings()]
        seen = _Seen("planted", texts_of_all(connection), seed_of(connection))
    *before, paid, _ = rows
    assert (paid["kind"], json.loads(paid["details"])["dataset"]) == ("reserve", "visits")
    paid["details"] = json.dumps({**json.loads(paid["details"]), "dataset": "beds"})
    paid["hash"] = row_hash(paid)
    for row in before:
        seen.add(row)
    with pytest.raises(LedgerError, match="was not admitted"):
        seen.add(paid)


def test_answers_about_one_data_set_replace_none_about_another(ledger: str) -> None:
    ask(WARD, ledger, 0.1)
    admit(VISITS, ledger, reason="the same patients")
    ask(VISITS, ledger, 0.1)
    with Ledger.resume(ledger) as book:
        head = book.head()
        with pytest.raises(LedgerError, match=r"Entry 2 is about data set `visits`, entry 1 .* own data set"):
            book.revise({1: 2}, reason="a mix-up")
        assert book.head() == head


def test_a_planted_revision_across_data_sets_does_not_verify(
    ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(WARD, ledger, 0.1)
    admit(VISITS, ledger, reason="the same patients")
    ask(VISITS, ledger, 0.1)
    monkeypatch.setattr(revising, "_require_pair", lambda *_: None)
    with Ledger.resume(ledger) as book:
        book.revise({1: 2}, reason="a mix-up")
        with pytest.raises(LedgerError, match="about another data set"):
            book.verify()


def test_same_as_goes_by_the_reference_periods_of_its_own_data_set(ledger: str) -> None:
    march, april = (Edition("Stays", f"2026-0{month}", "1.0") for month in (3, 4))

    def published(policy: Mapping[str, Any], **options: Any) -> None:
        rows = WARD_ROWS if policy["dataset"] == "ward" else VISIT_ROWS
        asked = PrivateTable(rows, policy=policy, ledger=ledger, **options)
        with asked.ledger:
            asked.count(epsilon=0.1)

    published(WARD, version="the same name", edition=march)
    admit(VISITS, ledger, reason="the same patients")
    published(VISITS, version="the same name", edition=april)
    for policy, own, other in ((WARD, march, april), (VISITS, april, march)):
        published(policy, same_as=1, edition=own)
        with pytest.raises(InvalidQuery, match=f"was published for {own.period}, .* is for {other.period}"):
            published(policy, same_as=1, edition=other)
        with pytest.raises(InvalidQuery, match=f"was published for {own.period}, .* is for none"):
            published(policy, same_as=1)
    with Ledger.read(ledger) as book:
        assert len(book.entries()) == 2


def test_a_version_of_another_data_set_is_not_this_ones(ledger: str) -> None:
    """The numbers are the ledger's; what the owner says is the same is the same table."""
    with PrivateTable(WARD_ROWS, policy=WARD, ledger=ledger, version="march") as ward:
        ward.count(epsilon=0.1)
    admit(VISITS, ledger, reason="the same patients")
    with PrivateTable(VISIT_ROWS, policy=VISITS, ledger=ledger, version="april") as visits:
        with pytest.raises(LedgerError, match="knows no version 1 of the table of data set `visits`"):
            PrivateTable(VISIT_ROWS, policy=VISITS, ledger=visits.ledger, same_as=1)
        visits.count(epsilon=0.1)
        again = PrivateTable(VISIT_ROWS, policy=VISITS, ledger=visits.ledger, same_as=2)
        assert again.count(epsilon=0.1).repeated
        assert again.state() == visits.state()
    with PrivateTable(WARD_ROWS, policy=WARD, ledger=ledger, same_as=1) as ward:
        assert ward.count(epsilon=0.1).repeated
        with pytest.raises(LedgerError, match=r"knows no version 2 of the table\. "):
            PrivateTable(WARD_ROWS, policy=WARD, ledger=ward.ledger, same_as=2)
