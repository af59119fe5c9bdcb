"""Payments that share their transactions come to what they come to one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from leakcap.errors import BudgetExceeded, DataError, LedgerError, RequestReused
from leakcap.ledger import Caps, Charge, Entry, Group, Ledger, Limits, Paid, Request, Spend
from leakcap.ledger import requesting as ledger_requesting
from leakcap.ledger.paying import Payment, answer_once, paying
from leakcap.ledger.paying_together import Alone, pay_together
from ledger.conftest import POLICY
from ledger.killed import EVERY, killed
from ledger.test_amend import WIDER, first, owner, proposed

Computing = Callable[[Sequence[Entry]], list[tuple[str, list[list[int]]]]]


def question(name: str, epsilon: float = 0.1, analyst: str = "ann") -> Charge:
    return Charge(name, name, Spend(epsilon=epsilon), analyst)


def key(name: str, analyst: str = "ann") -> Request:
    return Request.of(analyst, name, name)


def drawn(places: Sequence[int], paid_before: bool) -> Computing:
    return lambda entries: [(entry.query, [[entry.id]]) for entry in entries]


def failing(places: Sequence[int], paid_before: bool) -> Computing:
    def compute(entries: Sequence[Entry]) -> list[tuple[str, list[list[int]]]]:
        raise DataError("The file is gone.")

    return compute


def payment(
    ledger: Ledger, *charges: Charge, named: str = "", prepare: Any = drawn, fresh: bool = False
) -> Payment[list[Paid[str]]]:
    analyst = charges[0].analyst
    request = key(named or charges[0].query, analyst)
    return paying(ledger, charges, prepare, data="t", analyst=analyst, fresh=fresh, request=request)


def together(ledger: Ledger, *payments: Payment[list[Paid[str]]]) -> list[Any]:
    return pay_together(ledger, payments, before_record=lambda: None)


def opened(url: str, caps: Caps) -> Ledger:
    return Ledger.open(url, dataset="d", policy=POLICY, caps=caps)


def values(paid: list[Paid[str]]) -> list[Any]:
    return [one.answer.values for one in paid]


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    with opened(f"sqlite:///{tmp_path / 'one.db'}", Caps(epsilon=1.0)) as ledger:
        yield ledger


def test_each_is_paid_for_and_found_again_under_its_key(url: str) -> None:
    with opened(url, Caps(epsilon=0.9)) as ledger:
        asked = [question(name) for name in ("sick", "old", "tall")]
        found = together(ledger, *(payment(ledger, one) for one in asked))
        assert [values(one) for one in found] == [[[[1]]], [[[2]]], [[[3]]]]
        assert ledger.totals().epsilon == 0.3
        assert [one.state for one in ledger.entries()] == ["released"] * 3
        again = [
            answer_once(ledger, [one], failing, data="t", analyst="ann", request=key(one.query))
            for one in asked
        ]
        assert [values(one) for one in again] == [values(one) for one in found]
        assert ledger.totals().epsilon == 0.3
        assert ledger.verify().rows == 1 + 3 * (1 + 1 + 1) + 3


def test_many_share_three_transactions(book: Ledger) -> None:
    begun = []
    event.listen(book._database._engine, "begin", begun.append)
    together(book, *(payment(book, question(f"q{i}", 0.01)) for i in range(8)))
    assert len(begun) == 3
    answer_once(book, [question("q8", 0.01)], drawn, data="t", analyst="ann", request=key("q8"))
    assert len(begun) == 6


@pytest.mark.parametrize("known", [False, True])
def test_many_are_looked_for_and_written_at_once(book: Ledger, known: bool) -> None:
    """Sixteen new questions take as many statements as four; of known ones each takes three to be read."""
    asked = [question(f"q{i}", 0.01) for i in range(20)]
    together(book, payment(book, question("first", 0.01)))  # the table is known
    if known:
        together(book, *(payment(book, one) for one in asked))
    statements: list[int] = []
    for group in (asked[:4], asked[4:]):
        told: list[str] = []
        note = lambda _, __, text, *___: told.append(text)  # noqa: B023, E731
        event.listen(book._database._engine, "before_cursor_execute", note)
        found = together(book, *(payment(book, one, named=f"{one.query}{known}") for one in group))
        event.remove(book._database._engine, "before_cursor_execute", note)
        assert all(one[0].answer.entry for one in found)
        statements.append(len(told))
    assert statements[1] - statements[0] == (3 * 12 if known else 0)
    book.verify()


def test_rows_that_are_kept_are_found_by_whatever_is_asked_next(url: str) -> None:
    with opened(url, Caps(epsilon=1.0)) as ledger:
        with ledger.one_transaction(writes=True):
            ledger.reserve([question("sick")], data="t", request=key("sick"))
            assert [(one.query, one.state) for one in ledger.entries()] == [("sick", "reserved")]
            asked = ledger.request(key("sick").key)
            assert asked is not None
            assert asked.entries == (1,)
            ledger.mark_released([1], answers={1: [[5]]})
            (found,) = ledger.recall([question("sick")], data="t")
            assert found is not None
            assert found.values == [[5]]
            with pytest.raises(LedgerError, match="was released before"):
                ledger.mark_released([1])
            ledger.mark_repeated([1], analyst="ann")
        assert ledger.verify().rows == 5


def test_rows_that_are_kept_are_lost_with_their_transaction(url: str) -> None:
    with opened(url, Caps(epsilon=1.0)) as ledger:

        def failing_late() -> None:
            with ledger.one_transaction(writes=True):
                ledger.reserve([question("sick")], data="t", request=key("sick"))
                raise DataError("The file is gone.")

        with pytest.raises(DataError):
            failing_late()
        assert not ledger.entries()
        assert ledger.request(key("sick").key) is None
        ledger.reserve([question("sick")], data="t", request=key("sick"))
        assert ledger.verify().rows == 3


@pytest.mark.parametrize("then", ["nothing", "reads", "spends"])
def test_what_could_not_be_written_is_not_committed_whoever_catches_the_error(url: str, then: str) -> None:
    """The disk is full when rows that were kept are written, at a question that only reads."""
    with opened(url, Caps(epsilon=1.0)) as ledger:
        ledger.reserve([question("sick")], data="t")
        full = [True]

        def fail(_: Any, __: Any, text: str, *___: Any) -> None:
            if full[0] and text.startswith("INSERT INTO leakcap_event"):
                full[0] = False
                raise OSError("No space left on device")

        def go_on() -> None:
            with ledger.one_transaction(writes=True):
                ledger.reserve([question("old")], data="t", request=key("old"))
                with pytest.raises((OSError, LedgerError)):
                    ledger.entries()
                if then == "reads":
                    ledger.entries()
                if then == "spends":
                    ledger.reserve([question("tall")], data="t")

        event.listen(ledger._database._engine, "before_cursor_execute", fail)
        with pytest.raises(LedgerError, match="All of it is undone"):
            go_on()
        event.remove(ledger._database._engine, "before_cursor_execute", fail)
        assert [one.query for one in ledger.entries()] == ["sick"]
        ledger.reserve([question("old")], data="t", request=key("old"))
    with opened(url, Caps(epsilon=1.0)) as ledger:
        assert ledger.verify().rows == 4


def test_a_transaction_within_another_is_refused(book: Ledger) -> None:
    def nested() -> None:
        with book.one_transaction(writes=True):
            book.reserve([question("sick")])
            with book.one_transaction(writes=True):
                pass

    with pytest.raises(LedgerError, match="is under way here"):
        nested()
    assert book.totals().epsilon == 0.0


def test_what_was_computed_is_not_kept_beside_a_failure(book: Ledger) -> None:
    """The error's frames would hold it until after the answers were held back."""
    (error,) = together(book, payment(book, question("sick"), prepare=failing))
    assert isinstance(error, DataError)
    assert error.__traceback__ is None
    assert error.__context__ is None


@pytest.mark.parametrize(
    ("names", "versions"), [("tt", [1, 1, 1, 1]), ("tu", [1, 1, 2, 1]), ("ut", [1, 2, 1, 2])]
)
def test_versions_of_tables_are_those_of_one_after_the_other(
    url: str, names: str, versions: list[int]
) -> None:
    """Also where the first of a new table is refused."""
    with opened(url, Caps(epsilon=1.0)) as ledger:
        ledger.reserve([question("before")], data="t")
        with ledger.one_transaction(writes=True):
            with pytest.raises(BudgetExceeded):
                ledger.reserve([question("dear", 9.0)], data=names[1])
            for name in (*names, names[0]):
                ledger.reserve([question("sick")], data=name)
        assert [one.data_version for one in ledger.entries()] == versions


def test_what_plainly_does_not_fit_is_refused_before_it_is_prepared(url: str) -> None:
    """Nobody waits for a turn to spend for it; alone, too. What fits when it is looked at is held against the
    caps once more where it is spent."""
    prepared: list[Sequence[int]] = []

    def noted(places: Sequence[int], paid_before: bool) -> Computing:
        prepared.append(places)
        return drawn(places, paid_before)

    with opened(url, Caps(epsilon=0.5)) as ledger:
        asked = [question("dear", 0.6), question("one", 0.3), question("two", 0.3)]
        found = together(ledger, *(payment(ledger, one, prepare=noted) for one in asked))
        assert [isinstance(one, BudgetExceeded) for one in found] == [True, False, True]
        assert len(prepared) == 2
        with pytest.raises(BudgetExceeded):
            answer_once(ledger, asked[:1], noted, data="t", analyst="ann", request=key("alone"))
        assert len(prepared) == 2
        assert ledger.verify().rows == 1 + 3


def test_a_refusal_names_the_version_whose_answers_are_known(url: str) -> None:
    """Within a transaction that others share, too, where another table has just become known."""
    with opened(url, Caps(epsilon=1.0)) as ledger:
        for name in ("t", "u"):
            (entry,) = ledger.reserve([question("sick")], data=name)
            ledger.mark_released([entry.id], answers={entry.id: [[1]]})
        with ledger.one_transaction(writes=True):
            assert ledger.version_asked([question("sick")], data="t") == 2
            assert ledger.version_asked([question("sick")], data="u") == 1
            assert ledger.version_asked([question("sick")], data="v") == 2
            ledger.reserve([question("old")], data="w")
            ledger.mark_released([3], answers={3: [[1]]})
            assert ledger.version_asked([question("old")], data="v") == 3


def test_what_was_given_up_meanwhile_does_not_leave(tmp_path: Path) -> None:
    """Its owner acknowledges the entry as lost while it is computed; the other one leaves."""
    url = f"sqlite:///{tmp_path / 'one.db'}"

    def given_up(places: Sequence[int], paid_before: bool) -> Computing:
        def compute(entries: Sequence[Entry]) -> list[tuple[str, list[list[int]]]]:
            with opened(url, Caps(epsilon=1.0)) as other:
                other.acknowledge([entries[0].id])
            return [("", [[88]])]

        return compute

    with opened(url, Caps(epsilon=1.0)) as ledger:
        asked = [payment(ledger, question("sick"), prepare=given_up), payment(ledger, question("old"))]
        first, second = together(ledger, *asked)
        assert [one.state for one in ledger.entries()] == ["acknowledged", "reserved"]
        # The whole stage left no trace: each is asked again alone, under its key.
        assert [type(first), type(second)] == [Alone, Alone]
        (again,) = answer_once(ledger, [question("old")], drawn, data="t", analyst="ann", request=key("old"))
        assert again.answer.values == [[2]]
        with pytest.raises(LedgerError, match="acknowledged as lost"):
            answer_once(ledger, [question("sick")], drawn, data="t", analyst="ann", request=key("sick"))
        assert ledger.totals().epsilon == 0.2


def test_a_refusal_refuses_one_alone(url: str) -> None:
    """The second does not fit after the first, the third does, and the fourth does not any more."""
    with opened(url, Caps(epsilon=0.5)) as ledger:
        asked = [question(f"q{i}", epsilon) for i, epsilon in enumerate((0.3, 0.3, 0.2, 0.1))]
        first, second, third, fourth = together(ledger, *(payment(ledger, one) for one in asked))
        assert isinstance(second, BudgetExceeded)
        assert isinstance(fourth, BudgetExceeded)
        assert (second.left, second.asked) == (0.2, 0.3)
        assert [values(first), values(third)] == [[[[1]]], [[[2]]]]
        assert ledger.totals().epsilon == 0.5
        assert ledger.request(key("q1").key) is None
        assert ledger.verify().rows == 1 + 2 * 3


def test_accounts_of_analysts_and_groups_count_what_stands_before_in_the_transaction(url: str) -> None:
    caps = Caps(
        epsilon=9.0,
        each_analyst=Limits(epsilon=0.2),
        groups={"both": Group(members=("ann", "bo"), epsilon=0.3)},
    )
    with opened(url, caps) as ledger:
        asked = [question(f"q{i}", analyst=who) for i, who in enumerate(("ann", "ann", "ann", "bo", "bo"))]
        found = together(ledger, *(payment(ledger, one) for one in asked))
        assert [isinstance(one, BudgetExceeded) for one in found] == [False, False, True, False, True]
        assert (found[2].analyst, found[4].group) == ("ann", "both")
        assert ledger.verify().rows == 1 + 3 * 3


def test_what_was_known_is_repeated_and_a_key_that_was_used_otherwise_is_refused(book: Ledger) -> None:
    answer_once(book, [question("sick")], drawn, data="t", analyst="ann", request=key("sick"))
    found = together(
        book,
        payment(book, question("sick"), prepare=failing),  # under its key
        payment(book, question("sick"), named="other", prepare=failing),  # recalled
        payment(book, question("old"), named="sick"),
        payment(book, question("old")),
    )
    assert [values(found[0]), values(found[1]), values(found[3])] == [[[[1]]], [[[1]]], [[[2]]]]
    assert isinstance(found[2], RequestReused)
    assert book.totals().epsilon == 0.2
    assert book.verify().rows == 1 + 3 + (1 + 1 + 1) + 3


def test_what_fails_after_the_spend_stays_spent_and_the_others_are_answered(book: Ledger) -> None:
    found = together(
        book,
        payment(book, question("sick")),
        payment(book, question("old"), prepare=failing),
        payment(book, question("tall")),
    )
    assert isinstance(found[1], DataError)
    assert found[1].committed
    assert [values(found[0]), values(found[2])] == [[[[1]]], [[[3]]]]
    assert book.totals().epsilon == pytest.approx(0.3)
    again = answer_once(book, [question("old")], drawn, data="t", analyst="ann", request=key("old"))
    assert (values(again), book.totals().epsilon) == ([[[2]]], pytest.approx(0.3))


def test_what_fails_after_a_row_was_written_undoes_all_and_all_can_be_asked_alone(
    book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = ledger_requesting.log_charged
    rows = []

    def fails_once(entries: Sequence[Entry]) -> None:
        rows.append(len(entries))
        if len(rows) == 2:
            raise LedgerError("The disk is full.")
        written(entries)

    monkeypatch.setattr(ledger_requesting, "log_charged", fails_once)
    found = together(book, *(payment(book, question(f"q{i}")) for i in range(3)))
    assert all(isinstance(one, Alone) for one in found)
    assert (book.totals().epsilon, book.verify().rows) == (0.0, 1)
    for i in range(3):
        answer_once(book, [question(f"q{i}")], drawn, data="t", analyst="ann", request=key(f"q{i}"))
    assert book.totals().epsilon == pytest.approx(0.3)


def test_a_commit_that_fails_leaves_nobody_an_answer(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the last stage, too: payments that had ended by then have not."""
    commits = []

    def fails_at_the_third(connection: Any) -> None:
        commits.append(connection)
        if len(commits) == 3:
            raise LedgerError("The connection was lost.")

    event.listen(book._database._engine, "commit", fails_at_the_third)
    found = together(book, *(payment(book, question(f"q{i}")) for i in range(2)))
    event.remove(book._database._engine, "commit", fails_at_the_third)
    assert all(isinstance(one, Alone) for one in found)
    assert [one.state for one in book.entries()] == ["reserved"] * 2
    for i in range(2):
        answer_once(book, [question(f"q{i}")], drawn, data="t", analyst="ann", request=key(f"q{i}"))
    assert book.totals().epsilon == pytest.approx(0.2)
    assert [one.state for one in book.entries()] == ["released"] * 2


def test_of_two_processes_that_answer_one_key_the_first_one_s_answer_leaves(
    book: Ledger, tmp_path: Path
) -> None:
    """Another process finds the spend, and answers before this one has recorded its own."""

    def overtaken(places: Sequence[int], paid_before: bool) -> Computing:
        def compute(entries: Sequence[Entry]) -> list[tuple[str, list[list[int]]]]:
            with opened(f"sqlite:///{tmp_path / 'one.db'}", Caps(epsilon=1.0)) as other:
                theirs = lambda *_: lambda entries: [("", [[77]])]  # noqa: E731
                answer_once(other, [question("sick")], theirs, data="t", analyst="ann", request=key("sick"))
            return [("", [[88]])]

        return compute

    first, second = together(
        book, payment(book, question("sick"), prepare=overtaken), payment(book, question("old"))
    )
    assert (values(first), values(second)) == ([[[77]]], [[[2]]])
    assert book.answer(1).values == [[77]]  # type: ignore[union-attr]


def test_nothing_is_written_in_a_transaction_that_reads(book: Ledger) -> None:
    with book.one_transaction(writes=False), pytest.raises(LedgerError, match="nothing is written"):
        book.reserve([question("sick")])
    assert book.totals().epsilon == 0.0


def test_nobody_else_sees_what_is_not_committed(url: str) -> None:
    """Whoever opened it sees it; another thread of theirs waits for its turn."""
    seen: list[float] = []
    with opened(url, Caps(epsilon=1.0)) as ledger, opened(url, Caps(epsilon=1.0)) as other:
        with ledger.one_transaction(writes=True):
            ledger.reserve([question("sick")])
            assert ledger.totals().epsilon == 0.1
            assert other.totals().epsilon == 0.0
            thread = Thread(target=lambda: seen.append(ledger.totals().epsilon))
            thread.start()
            assert not seen
        thread.join()
        assert (seen, other.totals().epsilon) == ([0.1], 0.1)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    prices=st.lists(st.integers(1, 9), min_size=1, max_size=8),
    people=st.lists(st.sampled_from(["ann", "bo"]), min_size=8, max_size=8),
    split=st.integers(0, 8),
)
def test_together_they_come_to_what_they_come_to_one_after_the_other(
    prices: list[int], people: list[str], split: int
) -> None:
    """Any prices and askers, in two groups: the same answers, refusals and sums. Which cap a refusal names,
    and what is left of it, may be of before those beside it."""
    caps = Caps(epsilon=2.0, each_analyst=Limits(epsilon=1.5))
    asked = [
        question(f"q{i}", price / 10, who) for i, (price, who) in enumerate(zip(prices, people, strict=False))
    ]
    with opened("sqlite://", caps) as one, opened("sqlite://", caps) as other:
        alone: list[Any] = []
        for i, charge in enumerate(asked):
            try:
                alone.append(
                    values(
                        answer_once(
                            one,
                            [charge],
                            drawn,
                            data="t",
                            analyst=charge.analyst,
                            fresh=True,
                            request=key(f"k{i}", charge.analyst),
                        )
                    )
                )
            except BudgetExceeded:
                alone.append("refused")
        payments = [payment(other, c, named=f"k{i}", fresh=True) for i, c in enumerate(asked)]
        found = [
            "refused" if isinstance(each, BudgetExceeded) else values(each)
            for group in (payments[:split], payments[split:])
            for each in together(other, *group)
        ]
        assert found == alone
        assert other.totals() == one.totals()
        other.verify()


def test_racing_groups_reach_a_cap_and_never_pass_it(url: str) -> None:
    """Four processes, five groups of six each, where 50 of 120 fit."""
    with opened(url, Caps(epsilon=5.0)):
        pass
    children = []
    for process in range(4):
        child = os.fork()
        if not child:
            code = 1
            try:
                with opened(url, Caps(epsilon=5.0)) as ledger:
                    for group in range(5):
                        asked = [question(f"{process}-{group}-{i}") for i in range(6)]
                        found = together(ledger, *(payment(ledger, one) for one in asked))
                        assert not any(isinstance(one, Alone) for one in found)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    with opened(url, Caps(epsilon=5.0)) as ledger:
        assert ledger.totals().epsilon == 5.0
        assert len(ledger.entries()) == 50
        assert all(one.state == "released" for one in ledger.entries())
        ledger.verify()


def test_what_is_remembered_under_a_policy_is_that_of_the_policy_that_paid(url: str) -> None:
    """Whoever was refused under another policy, and pays once theirs governs again."""
    asked = Charge("q", "q", Spend(0.01), "ann")
    group = lambda ledger, name: together(ledger, payment(ledger, asked, named=name))  # noqa: E731
    with first(url) as mine, first(url) as other:
        other.reserve([question("before", 0.01)])
        wider = other.amend(proposed(**WIDER))
        assert isinstance(group(mine, "early")[0], Alone)  # and alone it is refused
        wider.amend(proposed())
        assert values(group(mine, "late")[0]) == [[[2]]]
    with Ledger.open(url, **owner(proposed())) as again:
        (found,) = again.recall([asked], data="t")
        assert found is not None
        with again.amend(proposed(**WIDER)) as wider:
            assert wider.recall([asked], data="t") == [None]


def test_what_was_paid_for_is_recorded_under_another_policy_too(url: str) -> None:
    """The owner amends while a group is computed."""

    def amended(places: Sequence[int], paid_before: bool) -> Computing:
        def compute(entries: Sequence[Entry]) -> list[tuple[str, list[list[int]]]]:
            with first(url) as other:
                other.amend(proposed(**WIDER))
            return [("", [[88]])]

        return compute

    with first(url) as mine:
        found = together(
            mine, payment(mine, question("sick"), prepare=amended), payment(mine, question("old"))
        )
        assert [values(one) for one in found] == [[[[88]]], [[[2]]]]
        mine.verify()


@pytest.mark.slow
def test_every_kill_before_a_statement_of_a_group_pays_once(url: str, tmp_path: Path) -> None:
    """`kill -9` before each of its statements, and rows that are kept; then each is asked again alone."""
    out = tmp_path / "out"

    def random(places: Sequence[int], paid_before: bool) -> Computing:
        return lambda entries: [("", [[int.from_bytes(os.urandom(5))]]) for _ in entries]

    with opened(url, Caps(epsilon=99.0)) as ledger:
        for step in range(100):
            asked = [question(f"q{place} {step}") for place in range(3)]

            def group(asked: Sequence[Charge] = asked) -> None:
                found = together(ledger, *(payment(ledger, one, prepare=random) for one in asked))
                out.write_text(repr([values(one) for one in found]))

            out.unlink(missing_ok=True)
            died = killed(group, step, of=EVERY)
            again = [
                values(answer_once(ledger, [one], random, data="t", analyst="ann", request=key(one.query)))
                for one in asked
            ]
            assert ledger.totals().entries == 3 * (step + 1)
            assert all(one.state == "released" for one in ledger.entries())
            assert not out.exists() or out.read_text() == repr(again)
            if not died:
                break
        assert step >= 12
        assert out.exists()
        ledger.verify()
