"""What the ledger says, as the page shows it: public facts, spends, statements; never a value of the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from leakcap.errors import InvalidQuery, LedgerError
from leakcap.ledger import Account, Answer, Entry, Ledger
from leakcap.ledger.details import STREAM
from leakcap.ledger.people import SCOPE
from leakcap.release import Policy, exposure_so_far, load_policy
from leakcap.release.results.exposure import exposure_of_entry
from leakcap.release.results.recorded import parsed_answer
from leakcap.report.words.promises import assumptions, not_counted, protects
from leakcap.report.words.publication import cap_name, may_come
from leakcap.report.words.wording import at_least, most_digits, sum_text
from leakcap.statement import Reading, Statement, statement_of
from leakcap.web.figures import Figure
from leakcap.web.releasing.over_time import over_time
from leakcap.web.serving.settings import Settings

__all__ = [
    "LedgerView",
    "RememberedAnswer",
    "ShownRow",
    "answer_of",
    "entry_statement",
    "has_rows",
    "layout_of",
    "ledger_view",
    "policy_of",
    "remembered_rows",
    "require_this_policy",
    "revised_of",
    "shown_entry",
]

_LAYOUTS = {("tables", "cells"): "tables", ("tables", "among"): "chosen tables", ("levels", "cells"): "tree"}
_MOST_ENTRIES = 200
_MOST_NUMBERS = 200
_MOST_ANSWERS = 40


@dataclass(frozen=True)
class LedgerView:
    """A policy, its accounts, its latest entries and what all of them tell together."""

    policy: Policy
    protects: str
    not_counted: str
    assumptions: list[str]
    accounts: list[dict[str, object]]
    entries: list[Entry]
    answers: dict[int, RememberedAnswer]
    layouts: dict[int, str]
    revised: dict[int, str]
    earlier: int
    lines: tuple[Reading, ...]
    caveat: str
    figures: list[Figure]
    note: str


def policy_of(settings: Settings) -> Policy:
    """The policy that the explorer was started with."""
    if settings.policy is None:
        raise InvalidQuery("Start `leakcap serve` with --policy and --ledger, or with a query file.")
    return load_policy(settings.policy)


def ledger_view(settings: Settings) -> LedgerView:
    """Read policy and ledger afresh; a ledger that is not there yet is an empty one."""
    policy = policy_of(settings)
    read = _read(settings)
    accounts, entries = read.accounts, read.entries
    left = [(b.name, b.left) for account in accounts[:1] for b in account.balances]
    told = statement_of(exposure_so_far(entries, policy)) if entries else None
    return LedgerView(
        policy,
        protects(policy, exact_totals=told is not None and told.exposure.exact_totals),
        not_counted(policy),
        assumptions(policy),
        [_account(a) for a in accounts],
        entries[-_MOST_ENTRIES:],
        _answers(settings, entries[-_MOST_ANSWERS:]),
        {one.id: _layout(one, _mine(settings, one, read.separate)) for one in entries[-_MOST_ENTRIES:]},
        read.revised,
        max(0, len(entries) - _MOST_ENTRIES),
        () if told is None else _that_may_come(told, left),
        "" if told is None else told.caveat,
        [over_time(policy, entries, read.epsilon, accounts[0].balances[0].cap)] if entries else [],
        read.note,
    )


def _that_may_come(whole: Statement, left: list[tuple[str, float | None]]) -> tuple[Reading, ...]:
    """What everything tells; what more of the same would tell only where the caps allow it."""
    return tuple(line for line in whole.lines if line.key != "more" or may_come(whole, left))


def shown_entry(settings: Settings, number: int) -> Entry | None:
    """One entry; None where there is no such entry."""
    return next((one for one in _read(settings).entries if one.id == number), None)


def entry_statement(settings: Settings, entry: Entry) -> Statement:
    """What an entry alone tells."""
    return statement_of(exposure_of_entry(entry, policy_of(settings)))


def answer_of(settings: Settings, entry: Entry) -> RememberedAnswer:
    """What was released under an entry, as the ledger remembers it; nothing where it does not.

    Where analysts have caps of their own an answer is shown only to the one who paid for it: to the others it
    would be an answer off their account.
    """
    return _answers(settings, [entry]).get(entry.id, RememberedAnswer())


def _answers(settings: Settings, entries: list[Entry]) -> dict[int, RememberedAnswer]:
    """What is remembered, and may be shown, by entry."""
    if settings.ledger is None or not entries:
        return {}
    with Ledger.read(settings.ledger) as book:
        separate = _separate(book, policy_of(settings))
        mine = [entry.id for entry in entries if has_rows(entry) and _mine(settings, entry, separate)]
        found = {id_: answer for id_ in mine if (answer := book.answer(id_)) is not None}
    return {id_: remembered_rows(answer) for id_, answer in found.items()}


def has_rows(entry: Entry) -> bool:
    """Whether an entry's answer is rows of numbers; fits and tables look like them and are none."""
    # Fits have no cells: their coefficients may look like a number with its interval.
    return "cells" in entry.details and not _layout(entry, True)


def remembered_rows(answer: Answer) -> RememberedAnswer:
    """The first numbers of an answer, each with its interval; none where it is not rows of numbers."""
    known = parsed_answer(answer.values)
    if known is None:
        return RememberedAnswer()
    size = len(known.values)
    keys = list(zip(*known.keys, strict=True)) if known.keys else [()] * size
    numbers = zip(known.values, known.lower, known.upper, strict=True)
    places = enumerate(islice(zip(keys, numbers, strict=True), _MOST_NUMBERS), start=1)
    rows = tuple(ShownRow(", ".join(map(str, key)) or f"{place}", *three) for place, (key, three) in places)
    return RememberedAnswer(
        size, rows, most_digits([n for row in rows for n in (row.value, row.low, row.high)])
    )


@dataclass(frozen=True)
class RememberedAnswer:
    """What the ledger remembers of an entry: how many numbers, those that a page shows, and to how many
    digits after the point at most."""

    count: int = 0
    rows: tuple[ShownRow, ...] = ()
    places: int | None = None

    @property
    def alone(self) -> ShownRow | None:
        """The one number of an answer that is one."""
        return self.rows[0] if self.count == 1 and self.rows[0].group == "1" else None


@dataclass(frozen=True)
class ShownRow:
    """One number of an answer, with its interval; `group` is its key, or its place among the keys."""

    group: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class _ReadLedger:
    """What a ledger says: its accounts, its entries, what was spent of ε after each, what became of those
    that were replaced or withdrawn, and whether analysts have caps of their own."""

    accounts: list[Account] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    epsilon: list[float] = field(default_factory=list)
    revised: dict[int, str] = field(default_factory=dict)
    separate: bool = True
    note: str = ""


def _read(settings: Settings) -> _ReadLedger:
    url = settings.ledger
    if url is None:
        return _ReadLedger(note="No ledger was named: start with --ledger to see what was spent.")
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        return _ReadLedger(
            note="Nothing was released yet: the first release makes the ledger. What other ledgers tell "
            "about the same people is not counted in it."
        )
    with Ledger.read(url) as book:
        policy = policy_of(settings)
        require_this_policy(book, policy)
        revised = {one.entry: one.became for one in book.revisions()}
        separate = _separate(book, policy)
        return _ReadLedger(book.accounts(), book.entries(), book.epsilon_over_time(), revised, separate)


def revised_of(settings: Settings, entry: Entry) -> str:
    """What became of an entry's answer where it was replaced or withdrawn; empty where it is valid."""
    return _read(settings).revised.get(entry.id, "")


def require_this_policy(book: Ledger, policy: Policy) -> None:
    """Raise `LedgerError` unless the policy governs the ledger."""
    if book.policy_of(policy.dataset) != policy.fingerprint():
        raise LedgerError("The ledger was made for another policy than the one shown here.")


def layout_of(settings: Settings, entry: Entry) -> str:
    """What an entry is to be drawn as: tables, chosen ones, a tree or a running count; empty for all else,
    and where it is another analyst's and analysts have caps of their own."""
    return _layout(entry, _mine(settings, entry, _read(settings).separate))


def _layout(entry: Entry, mine: bool) -> str:
    if not mine:
        return ""
    if STREAM in entry.details and "series" in entry.details:
        return "running count"
    return next((words for names, words in _LAYOUTS.items() if entry.details.keys() >= set(names)), "")


def _mine(settings: Settings, entry: Entry, separate: bool) -> bool:
    """Whether an answer may be shown to the analyst at hand."""
    return not separate or entry.analyst == settings.analyst


def _separate(book: Ledger, policy: Policy) -> bool:
    """Whether analysts have caps of their own. The ledger's caps hold, and may have changed since an admitted
    data set's policy was written."""
    caps = policy.caps
    return book.by_analyst or caps.each_analyst is not None or bool(caps.analysts) or bool(caps.groups)


def _account(account: Account) -> dict[str, object]:
    title = {
        "everything": "Everything ever released",
        "analyst": f"Analyst {account.name}",
        "group": f"The analysts of group {account.name} together",
        SCOPE: f"People with a cap of {account.name}",
    }
    rows = [
        {
            "name": cap_name(b.name, b.unit),
            "cap": "not capped" if b.cap is None else at_least(b.cap),
            "spent": sum_text(b.spent),
            "left": "" if b.left is None else at_least(b.left),
            "share": None if not b.cap else min(1.0, b.spent / b.cap),
        }
        for b in account.balances
    ]
    return {"title": title.get(account.scope, f"This {account.scope}, {account.name}"), "rows": rows}
