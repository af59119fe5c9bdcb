"""What the ledger says, as the page shows it: public facts, spends, statements; never a value of the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from leakcap.errors import InvalidQuery, LedgerError
from leakcap.ledger import Account, Answer, Entry, Ledger
from leakcap.ledger.details import STREAM
from leakcap.ledger.odometer import odometer as odometer_of
from leakcap.ledger.people import SCOPE
from leakcap.ledger.ticks import NOTHING, total, units
from leakcap.release import Policy, exposure_so_far, load_policy
from leakcap.release.results.exposure import delta_said
from leakcap.release.results.recorded import parsed_answer
from leakcap.report.words.promises import assumptions, not_counted, protects
from leakcap.report.words.publication import cap_name, may_come
from leakcap.report.words.wording import at_least, most_digits, sum_text
from leakcap.statement import Reading, statement_of
from leakcap.web.figures import Figure, chart, lines
from leakcap.web.serving.settings import Settings

__all__ = [
    "LedgerView",
    "ShownRow",
    "answer_of",
    "entry_lines",
    "layout_of",
    "ledger_view",
    "policy_of",
    "require_this_policy",
]

_LAYOUTS = {"tables": "tables", "levels": "tree"}
_MOST_POINTS = 400
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
    earlier: int
    lines: tuple[Reading, ...]
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
    accounts, entries, note = _read(settings)
    left = [(b.name, b.left) for account in accounts[:1] for b in account.balances]
    odometer = _together(policy, entries, left) if entries else ()
    return LedgerView(
        policy,
        protects(policy),
        not_counted(policy),
        assumptions(policy),
        [_account(a) for a in accounts],
        entries[-_MOST_ENTRIES:],
        _answers(settings, policy, entries[-_MOST_ANSWERS:]),
        {entry.id: layout_of(settings, entry) for entry in entries[-_MOST_ENTRIES:]},
        max(0, len(entries) - _MOST_ENTRIES),
        odometer,
        [_over_time(policy, entries)] if entries else [],
        note,
    )


def _together(
    policy: Policy, entries: list[Entry], left: list[tuple[str, float | None]]
) -> tuple[Reading, ...]:
    """What everything tells; what more of the same would tell only where the caps allow it."""
    whole = statement_of(exposure_so_far(entries, policy))
    return tuple(line for line in whole.lines if line.key != "more" or may_come(whole, left))


def entry_lines(settings: Settings, number: int) -> tuple[Entry, tuple[Reading, ...]] | None:
    """One entry with the statement of what it alone tells; None where there is no such entry."""
    policy = policy_of(settings)
    entries = _read(settings)[1]
    found = next((e for e in entries if e.id == number), None)
    if found is None:
        return None
    return found, statement_of(exposure_so_far([found], policy)).lines


def answer_of(settings: Settings, entry: Entry) -> RememberedAnswer:
    """What was released under an entry, as the ledger remembers it; nothing where it does not.

    Where analysts have caps of their own an answer is shown only to the one who paid for it: to the others it
    would be an answer off their account.
    """
    return _answers(settings, policy_of(settings), [entry]).get(entry.id, RememberedAnswer())


def _answers(settings: Settings, policy: Policy, entries: list[Entry]) -> dict[int, RememberedAnswer]:
    """What is remembered, and may be shown, by entry."""
    separate = _separate(policy)
    mine = [
        entry.id
        for entry in entries
        # Fits have no cells: their coefficients may look like a number with its interval.
        if "cells" in entry.details
        and not layout_of(settings, entry)
        and (not separate or entry.analyst == settings.analyst)
    ]
    if settings.ledger is None or not mine:
        return {}
    with Ledger.read(settings.ledger) as book:
        found = {id_: answer for id_ in mine if (answer := book.answer(id_)) is not None}
    return {id_: _rows(answer) for id_, answer in found.items()}


def _rows(answer: Answer) -> RememberedAnswer:
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


def _read(settings: Settings) -> tuple[list[Account], list[Entry], str]:
    url = settings.ledger
    if url is None:
        return [], [], "No ledger was named: start with --ledger to see what was spent."
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        return (
            [],
            [],
            (
                "Nothing was released yet: the first release makes the ledger. What other ledgers tell about "
                "the same people is not counted in it."
            ),
        )
    with Ledger.read(url) as book:
        require_this_policy(book, policy_of(settings))
        return book.accounts(), book.entries(), ""


def require_this_policy(book: Ledger, policy: Policy) -> None:
    """Raise `LedgerError` unless the policy governs the ledger."""
    if book.policy_of(policy.dataset) != policy.fingerprint():
        raise LedgerError("The ledger was made for another policy than the one shown here.")


def layout_of(settings: Settings, entry: Entry) -> str:
    """What an entry is to be drawn as: tables, a tree or a running count; empty for all else, and where it is
    another analyst's and analysts have caps of their own."""
    if _separate(policy_of(settings)) and entry.analyst != settings.analyst:
        return ""
    if STREAM in entry.details:
        return "running count"
    return next((words for name, words in _LAYOUTS.items() if {name, "cells"} <= entry.details.keys()), "")


def _separate(policy: Policy) -> bool:
    """Whether analysts have caps of their own."""
    return policy.caps.each_analyst is not None or bool(policy.caps.analysts)


def _account(account: Account) -> dict[str, object]:
    title = {
        "everything": "Everything ever released",
        "analyst": f"Analyst {account.name}",
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


def _over_time(policy: Policy, entries: list[Entry]) -> Figure:
    so_far, rows, every = NOTHING, [], math.ceil(len(entries) / _MOST_POINTS)
    slack = delta_said(policy)
    for number, entry in enumerate(entries, start=1):
        so_far = total([so_far, entry.spend.ticks(None)])
        if number % every == 0 or number == len(entries):
            # Where an answer has no ε of its own, what all of them tell together, by their curves.
            spent = odometer_of(so_far, slack).epsilon if so_far.epsilon is None else units(so_far.epsilon)
            when = f"{entry.time:%Y-%m-%d %H:%M}"
            row = {"n": number, "epsilon": spent, "which": "spent", "query": entry.query, "time": when}
            rows.append(row)
    rows.insert(0, {"n": 0, "epsilon": 0.0, "which": "spent", "query": "", "time": ""})
    cap = policy.caps.epsilon
    ends = (0, len(entries)) if cap is not None else ()
    rows += [{"n": n, "epsilon": cap, "which": "cap", "query": "", "time": ""} for n in ends]
    spec = chart(
        200,
        data={"values": rows},
        mark={"type": "line", "interpolate": "step-after", "strokeWidth": 2.5, "point": {"size": 45}},
        encoding={
            "x": {
                "field": "n",
                "type": "quantitative",
                "title": "releases, in order",
                "axis": {"tickMinStep": 1, "format": "d"},
            },
            "y": {"field": "epsilon", "type": "quantitative", "title": "ε spent", "axis": {"format": "~g"}},
            "color": lines(["spent", "cap"], ["@accent", "@warm"]),
            "tooltip": [
                {"field": "query", "type": "nominal"},
                {"field": "time", "type": "nominal", "title": "UTC"},
                {"field": "epsilon", "type": "quantitative", "format": ".6g", "title": "ε so far"},
            ],
        },
    )
    first, last = entries[0].time, entries[-1].time
    when = f"{first:%-d %B %Y}" if first.date() == last.date() else f"{first:%-d %B %Y} to {last:%-d %B %Y}"
    many = "one release" if len(entries) == 1 else f"{len(entries):,} releases"
    text = (
        f"{many}, {when} (UTC): ε = {sum_text(spent)} spent{'' if cap is None else f' of {at_least(cap)}'}."
    )
    return Figure("spent", "The budget over time", text, text, spec)
