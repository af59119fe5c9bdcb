"""A policy after another: nothing that was spent is forgotten, nobody slips between, and what cannot be
carried over is refused."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pytest

from leakcap.errors import BudgetExceeded, InvalidParameter, LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Limits, Proposed, Spend, amending
from leakcap.ledger.continuing import ChargeTerms, counts_now
from leakcap.ledger.events import amend_row
from leakcap.ledger.policies import keep_text
from leakcap.ledger.rules import rules_of
from leakcap.ledger.schema import EVENT
from leakcap.ledger.state import replace_state
from leakcap.ledger.sums import Regime
from leakcap.ledger.ticks import NOTHING, Ticks
from leakcap.ledger.verification import proven_sums

FIRST: dict[str, Any] = {
    "dataset": "ward",
    "unit": {"id": "person", "max_rows": 2},
    "neighbours": "add-remove-one",
    "max_rows": 100,
    "columns": {"age": {"bounds": [0.0, 120.0]}},
    "tables": {
        "people": {"id": "person", "public": False, "columns": {"sex": {"keys": ["f", "m"]}}},
        "zip": {"id": None, "public": True, "key": "z", "on": "z", "columns": {"town": {"keys": ["a"]}}},
    },
    "caps": {"epsilon": 1.0},
}
CAPS = Caps(epsilon=1.0)


def proposed(caps: Caps = CAPS, reason: str = "agreed", /, **changes: Any) -> Proposed:
    return Proposed(json.dumps(FIRST | changes, sort_keys=True), caps, reason, "steward")


def owner(wanted: Proposed) -> dict[str, Any]:
    return {"dataset": "ward", "policy": wanted.policy, "caps": wanted.caps, "text": wanted.text}


def first(url: str, caps: Caps = CAPS, /, **changes: Any) -> Ledger:
    return Ledger.open(url, **owner(proposed(caps, **changes)))


def charge(epsilon: float = 0.25, analyst: str = "ng", text: str = "count", **spend: float) -> Charge:
    return Charge("n", text, Spend(epsilon, **spend), analyst)


WIDER: dict[str, Any] = {"columns": {"age": {"bounds": [0.0, 150.0]}}}
MORE: dict[str, Any] = {"columns": FIRST["columns"] | {"sex": {"keys": ["f", "m"]}}}


def test_what_was_spent_counts_against_the_new_caps(url: str) -> None:
    with first(url) as old:
        old.reserve([charge(nats_person=0.02, nats_table=3.0)])
        planned = old.propose(proposed(Caps(epsilon=0.5), **WIDER))
        assert [balance.left for balance in (planned.before[0], planned.after[0])] == [0.75, 0.25]
        assert old.amendments() == []  # a preview
        new = old.amend(proposed(Caps(epsilon=0.5, nats_person=1.0, nats_table=9.0), **WIDER))
        assert [(b.spent, b.left) for b in new.balances()] == [
            (0.25, 0.25),
            (0, None),
            (0.02, 0.98),
            (3.0, 6.0),
        ]
        with pytest.raises(BudgetExceeded, match=r"0\.25 left of 0\.5, 0\.5 asked"):
            new.reserve([charge(0.5)])
        new.reserve([charge(0.25, nats_table=1.0)])
        assert new.verify().rows == 4
        assert [entry.spend.epsilon for entry in new.entries()] == [0.25, 0.25]
        (made,) = new.amendments()
        assert (made.by, made.reason) == ("steward", "agreed")
        assert [change.text for change in made.changes] == [
            "`columns.age` changed from bounds [0.0, 120.0] to bounds [0.0, 150.0]"
        ]


def test_a_cap_below_what_is_spent_leaves_nothing() -> None:
    with first("sqlite://") as old:
        old.reserve([charge(0.75)])
        new = old.amend(proposed(Caps(epsilon=0.5), caps={"epsilon": 0.5}))
        assert (new.balances()[0].spent, new.balances()[0].left) == (0.75, 0.0)
        with pytest.raises(BudgetExceeded, match=r"0 left of 0\.5, 0\.000001 asked"):
            new.reserve([charge(1e-6)])
        assert [change.text for change in new.amendments()[0].changes] == [
            "`caps.epsilon` lowered from 1 to 0.5"
        ]


def test_a_currency_without_a_bound_so_far_leaves_nothing_under_a_cap() -> None:
    with first("sqlite://") as old:
        old.reserve([charge()])  # nobody said what it tells about the table
        new = old.amend(proposed(Caps(epsilon=1.0, nats_table=9.0), **MORE))
        with pytest.raises(BudgetExceeded, match=r"`nats_table` cap .*: nothing left of 9"):
            new.reserve([charge(nats_table=0.1)])


def test_accounts_of_analysts_and_periods_are_made_from_all_spends(url: str) -> None:
    each = Caps(
        epsilon=1.0, each_analyst=Limits(epsilon=0.5), each_period=Limits(epsilon=0.6), period="month"
    )
    with first(url) as old:
        old.reserve([charge(0.25), charge(0.125, "li")])
        new = old.amend(proposed(each, **WIDER))
        spent = {(a.scope, a.name): a.balances[0].spent for a in new.accounts() if a.scope != "month"}
        assert spent == {("everything", ""): 0.375, ("analyst", "li"): 0.125, ("analyst", "ng"): 0.25}
        assert new.accounts()[-1].balances[0].spent == 0.375
        with pytest.raises(BudgetExceeded, match=r"analyst `ng` .* 0\.25 left of 0\.5"):
            new.reserve([charge(0.375)])
        again = new.amend(proposed(Caps(epsilon=1.0), **MORE))
        assert len(again.accounts()) == 1
        again.verify()


def test_whoever_comes_with_the_old_policy_is_told(url: str) -> None:
    with first(url) as old:
        (entry,) = old.reserve([charge()])
        old.amend(proposed(Caps(epsilon=9.0), **WIDER)).reserve([charge(2.0)])
        for spending in (
            lambda: old.reserve([charge()]),
            lambda: old.check([charge()]),
            lambda: old.recall([charge()], data="monday"),
            lambda: old.require_owner(dataset="ward", policy=proposed().policy, caps=CAPS),
            lambda: first(url),
        ):
            with pytest.raises(LedgerError, match=r"was amended at 20..-..-..T.* governs now") as refusal:
                spending()
            assert "\n" not in str(refusal.value)
        old.mark_released([entry.id])  # was paid for under the policy that governed then
        with pytest.raises(LedgerError, match="was made for another policy"):
            first(url, **MORE)
        assert old.totals().entries == 2


REFUSED = [
    ({"dataset": "other"}, "`dataset` may not change from `ward` to `other`"),
    ({"unit": "row"}, "`unit` may not change from `person` to row"),
    ({"unit": {"id": "case", "max_rows": 2}}, "`unit` may not change from `person` to `case`"),
    (
        {"tables": {"People": {"id": None, "public": True, "key": "k", "on": "k", "columns": {}}}},
        "`tables.People` may not change whose it is, from the people of `person` to nobody",
    ),
    ({"tables": {"people": {"id": "doctor", "columns": {}}}}, "`tables.people` may not change whose"),
    (
        {"tables": {"zip": {"id": "person", "columns": {}}}},
        "`tables.zip` may not .* from nobody to the people",
    ),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_refused_by_name(changes: dict[str, Any], message: str) -> None:
    with first("sqlite://") as old:
        old.reserve([charge()])
        for attempt in (old.propose, old.amend):
            with pytest.raises(LedgerError, match=message):
                attempt(proposed(Caps(epsilon=2.0), **changes))
        old.reserve([charge()])  # the old policy governs still
        assert old.verify().rows == 3


def test_rows_do_not_become_people_nor_public_numbers_secrets() -> None:
    with first("sqlite://", unit="row", neighbours="replace-one", rows=9) as old:
        with pytest.raises(LedgerError, match="`unit` may not change from row to `person`"):
            old.amend(proposed())
        with pytest.raises(LedgerError, match="`neighbours` may not change from replace-one"):
            old.amend(proposed(unit="row"))


def test_no_detour_leads_to_what_is_refused() -> None:
    """A public table is taken away, and comes back as people's."""
    with first("sqlite://") as old:
        without = old.amend(proposed(tables={"people": FIRST["tables"]["people"]}))
        mine = {"people": FIRST["tables"]["people"], "zip": {"id": "person", "columns": {}}}
        with pytest.raises(LedgerError, match=r"`tables\.zip` may not change whose"):
            without.amend(proposed(tables=mine))


def test_other_words_that_are_refused(file: Path) -> None:
    url = f"sqlite:///{file}"
    with first(url) as old, pytest.raises(LedgerError, match=r"governs ledger .* already"):
        old.amend(proposed())
    for reason in ("", " ", "a\nb", "a\x1b[2J", "x" * 1001):
        with pytest.raises(InvalidParameter, match="in one line"):
            proposed(CAPS, reason)
    with Ledger.read(url) as book, pytest.raises(LedgerError, match="opened for reading"):
        book.amend(proposed(**WIDER))


def test_a_ledger_that_keeps_only_a_fingerprint_asks_for_the_text(file: Path) -> None:
    url = f"sqlite:///{file}"
    mine = proposed()
    with Ledger.open(url, **owner(mine) | {"text": ""}) as old:
        with pytest.raises(LedgerError, match=r"keeps only the fingerprint .* `--from old\.toml`"):
            old.amend(proposed(**WIDER))
        new = proposed(**WIDER)
        wrong = Proposed(new.text, new.caps, new.reason, before=proposed(**MORE).text)
        with pytest.raises(LedgerError, match="is not the one that governs"):
            old.amend(wrong)
        old.amend(Proposed(new.text, new.caps, new.reason, before=mine.text)).verify()
    with pytest.raises(InvalidParameter, match="be the JSON of which"):
        Ledger.open(url, **owner(mine) | {"text": new.text})


def test_an_answer_is_repeated_only_where_its_query_means_the_same() -> None:
    with first("sqlite://") as old:

        def recalled(book: Ledger) -> bool:
            return book.recall([charge()], data="monday") != [None]

        (entry,) = old.reserve([charge()], data="monday")
        old.mark_released([entry.id], answers={entry.id: [[1, 0, 2]]})
        richer = old.amend(proposed(Caps(epsilon=2.0), caps={"epsilon": 2.0}))
        assert recalled(richer)
        more = richer.amend(proposed(Caps(epsilon=2.0), **MORE))
        assert recalled(more)
        wider = more.amend(proposed(Caps(epsilon=2.0), **WIDER))
        assert not recalled(wider)
        (entry,) = wider.reserve([charge()], data="monday")
        wider.mark_released([entry.id], answers={entry.id: [[3, 0, 4]]})
        assert recalled(wider)
        other = wider.amend(proposed(Caps(epsilon=2.0), unit={"id": "person", "max_rows": 3}))
        assert not recalled(other)
        each = other.amend(proposed(Caps(epsilon=2.0, each_analyst=Limits(epsilon=2.0))))
        assert not recalled(each)  # would be off ng's account, or on another's
        back = each.amend(proposed(Caps(epsilon=3.0), caps={"epsilon": 3.0}))
        assert back.recall([charge()], data="monday")[0].values == [[1, 0, 2]]  # type: ignore[union-attr]
        level = back.amend(proposed(Caps(epsilon=3.0, alpha=2.0), caps={"epsilon": 3.0, "alpha": 2.0}))
        assert not recalled(level)  # has another price
        level.verify()


def test_add_remove_one_becomes_replace_one_at_two_steps(url: str) -> None:
    with first(url, Caps(nats_person=9.0)) as old:
        old.reserve([charge(0.25, delta=1e-3, nats_person=0.02), charge(0.125)])
        new = old.amend(proposed(Caps(epsilon=1.0), neighbours="replace-one", max_rows=None, rows=9))
        told = new.totals()
        with localcontext() as context:
            context.prec = 40
            exact = (1 + Decimal("0.25").exp()) * Decimal("0.001")
        assert told.epsilon == 0.75
        assert 0 <= Decimal(repr(told.delta)) - exact <= Decimal("1e-12")
        assert [entry.spend.epsilon for entry in new.entries()] == [0.5, 0.25]
        assert sum(entry.spend.delta for entry in new.entries()) == told.delta
        assert "every ε" in new.amendments()[0].carried.lower()
        new.reserve([charge(0.25)])
        assert new.totals().epsilon == 1.0
        new.verify()


@pytest.mark.parametrize(
    ("spend", "then", "now", "level"),
    [
        (Ticks(10**11, 0, 0, 0, 7), 2.0, 2.0, 7),
        (Ticks(10**11, 5, 0, 0, 7), 3.0, 2.0, 7),
        (Ticks(10**11, 0, 0, 0, 7), 2.0, 3.0, 6 * 10**10),  # 2·3·0.1²
        (Ticks(10**12, 0, 0, 0, None), None, 4.0, 2 * 10**12),  # 2ε, below 2·4·1²
        (Ticks(10**11, 1, 0, 0, 7), 2.0, 3.0, None),
        (Ticks(10**11, 0, 0, 0, 7), 2.0, None, None),
    ],
)
def test_levels(spend: Ticks, then: float | None, now: float | None, level: int | None) -> None:
    assert (
        counts_now(spend, ChargeTerms("replace-one", then), ChargeTerms("replace-one", now)).nats_level
        == level
    )


def test_large_spends() -> None:
    both = ChargeTerms("add-remove-one", None), ChargeTerms("replace-one", None)
    assert counts_now(Ticks(41 * 10**12, 1, 0, 0), *both).delta == 10**12
    assert counts_now(Ticks(20 * 10**12, 10**11, 0, 0), *both).delta == 10**12
    with pytest.raises(LedgerError, match="too large to count twice"):
        counts_now(Ticks(600_000 * 10**12, 0, 0, 0), *both)


def forged(book: Ledger, wanted: Proposed, carried: Ticks) -> None:
    """What somebody with the database and the source code can do."""
    with book._database.writing() as connection:
        state = proven_sums(connection, book.url)[0]
        regime = Regime(wanted.policy, rules_of(wanted.caps))
        row = amend_row(state, state.time, regime, carried, by="x", reason="y")
        keep_text(connection, wanted.policy, wanted.text)
        connection.execute(EVENT.insert(), row)
        changes = {"policy": wanted.policy, "rules": regime.rules, "rows": row["seq"], "head": row["hash"]}
        after = replace(state, spent=carried._replace(queries=state.spent.queries), **changes)
        replace_state(connection, state, after)


def test_a_planted_amendment_that_forgets_is_found(url: str) -> None:
    with first(url) as old:
        old.reserve([charge()])
        forged(old, proposed(**WIDER), NOTHING)
        with pytest.raises(LedgerError, match=r"Row 3 .* does not carry over what was spent before it"):
            old.verify()


def test_a_planted_amendment_that_may_not_be_is_found() -> None:
    with first("sqlite://") as old:
        forged(old, proposed(unit="row"), NOTHING)
        with pytest.raises(LedgerError, match="`unit` may not change"):
            old.verify()


def test_an_edited_text_is_found(file: Path, sql: Callable[..., Any]) -> None:
    with first(f"sqlite:///{file}") as old:
        new = old.amend(proposed(**WIDER))
        sql("UPDATE leakcap_policy SET text = replace(text, 'person', 'nobody')")
        for look in (new.verify, new.amendments, new.entries):
            with pytest.raises(LedgerError, match="an edited one"):
                look()
        sql("DELETE FROM leakcap_policy")
        with pytest.raises(LedgerError, match="no text of policy"):
            new.verify()


def forked(work: Callable[[], int]) -> int:
    """The number of a process that does this, with an exit status of its own."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            status = work()
        finally:
            os._exit(status)
    return child


def status_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def nobody_slips_between(url: str) -> None:
    """Three spend while the policy is amended to a cap that they have passed by then."""
    large = Caps(epsilon=1000.0)

    def spend_until_told() -> int:
        count = 0
        try:
            with first(url, large) as mine:
                while count < 98:
                    mine.reserve([charge(0.01)])
                    count += 1
                    time.sleep(0.001)  # else one that has the file may be through before anybody has a turn
        except LedgerError as error:
            return count if "was amended at" in str(error) else 98
        return 98

    first(url, large).close()
    crowd = [forked(spend_until_told) for _ in range(3)]
    with first(url, large) as old:
        while old.totals().entries < 6:
            time.sleep(0.001)
        new = old.amend(proposed(Caps(epsilon=0.01), **WIDER))
        rows = new.head().rows
        told = [status_of(child) for child in crowd]
        assert max(told) < 98
        assert sum(told) == new.totals().entries >= 6
        assert new.verify().rows == rows == sum(told) + 2
        with pytest.raises(BudgetExceeded, match="0 left"):
            new.reserve([charge(0.01)])


def killed_in_the_middle(url: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    each = proposed(Caps(epsilon=2.0, each_analyst=Limits(epsilon=1.0)), **WIDER)

    def amend() -> int:
        monkeypatch.setattr(amending, where, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        with first(url) as mine:
            mine.amend(each)
        return 0

    with first(url) as old:
        old.reserve([charge()])
    assert status_of(forked(amend)) == -signal.SIGKILL
    with first(url) as old:
        assert old.verify().rows == 2
        assert old.amendments() == []
        old.reserve([charge()])
        old.amend(each).verify()


def test_nobody_slips_between(file: Path) -> None:
    nobody_slips_between(f"sqlite:///{file}")


@pytest.mark.parametrize("where", ["keep_text", "replace_state", "save_account"])
def test_killed_in_the_middle(file: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_in_the_middle(f"sqlite:///{file}", where, monkeypatch)


@pytest.mark.slow
def test_nobody_slips_between_on_a_server(database: str) -> None:
    nobody_slips_between(database)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["keep_text", "replace_state", "save_account"])
def test_killed_in_the_middle_on_a_server(database: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    killed_in_the_middle(database, where, monkeypatch)
