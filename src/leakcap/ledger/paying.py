"""The one way to pay: what the ledger knows is repeated; the rest is committed, computed and recorded.

Statistics, SQL, batches, models and the explorer all come through `answer_once`. `paying` is the same in
stages, so that a service can take several payments through each stage together (`paying_together`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from leakcap.errors import LeakcapError, LedgerError, after_commit
from leakcap.ledger.requests import AnsweredEntry, Asked, Foreseen, Request
from leakcap.ledger.told import Answer
from leakcap.ledger.values import Charge, Entry

if TYPE_CHECKING:
    from leakcap.ledger.ledger import Ledger

__all__ = ["Next", "Paid", "Payment", "Stage", "answer_once", "pay_alone", "paying", "unpaid_places"]

T = TypeVar("T")
Compute: TypeAlias = Callable[[Sequence[Entry]], Sequence[tuple[T, Any]]]
Prepare: TypeAlias = Callable[[Sequence[int], bool], Compute[T]]


class Stage(IntEnum):
    """What a payment does next, in this order; in each stage but two it asks the ledger."""

    LOOK = 0
    """Looks for what is known."""
    SPEND = 1
    """Commits the spend."""
    COMPUTE = 2
    """Reads the data and draws noise."""
    RECORD = 3
    """Records that the answers leave."""
    TELL = 4
    """Makes of them what is told."""


@dataclass(frozen=True)
class Next:
    """The stage that comes next, and what a payment will look for in the ledger there."""

    stage: Stage
    foreseen: Foreseen | None = None


Payment: TypeAlias = Generator[Next, None, T]
"""A payment under way: before each stage it says which one comes next; in the end it returns its answers."""


@dataclass(frozen=True)
class Paid(Generic[T]):
    """An answer as the ledger has it, and what was computed for it now; None where it was repeated."""

    answer: Answer
    computed: T | None


def answer_once(
    ledger: Ledger,
    charges: Sequence[Charge],
    prepare: Prepare[T],
    *,
    data: str = "",
    analyst: str = "",
    fresh: bool = False,
    request: Request | None = None,
) -> list[Paid[T]]:
    """For each charge its answer: recalled for free, or checked, committed, computed and recorded.

    `prepare` is told the places of the charges whose answers have to be computed, and whether a request has
    paid for them before. It does whatever may still be refused, before anything is spent, and returns what
    computes their answers from their entries: for each what the caller wants, and the released values as the
    ledger remembers them. Charges of one text and price are paid once. `data` names the state of the table;
    without a name nothing is remembered. `fresh` pays for all. Raises with nothing spent `BudgetExceeded`,
    and `LedgerError` where a recorded answer was replaced or withdrawn; what fails after the commit stays
    spent, and says so.

    With a `request` all of this happens once: whoever asks again under its key gets the answers that left,
    `fresh` ones too, for nothing. What was paid for and has not left, because a process died, is computed
    again for the same entries; of several processes that do so at once the answer of one leaves, and all
    return it. Raises `RequestReused` where the key stands for something else.

    >>> from leakcap.ledger import Caps, Charge, Ledger, Spend
    >>> with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=Caps(1.0)) as ledger:
    ...     sick = Charge("sick", "count", Spend(epsilon=0.5))
    ...     def prepare(places, paid_before):
    ...         return lambda entries: [(9, [[9]])]
    ...     for _ in range(3):
    ...         found, = answer_once(ledger, [sick], prepare, data="t")
    ...     found.answer.values, found.computed, ledger.balances()[0].left
    ([[9]], None, 0.5)
    """
    return pay_alone(
        paying(ledger, charges, prepare, data=data, analyst=analyst, fresh=fresh, request=request)
    )


def pay_alone(payment: Payment[T]) -> T:
    """What a payment returns that goes through its stages by itself, each in a transaction of its own."""
    while True:
        try:
            next(payment)
        except StopIteration as ended:
            found: T = ended.value
            return found


def paying(
    ledger: Ledger,
    charges: Sequence[Charge],
    prepare: Prepare[T],
    *,
    data: str = "",
    analyst: str = "",
    fresh: bool = False,
    request: Request | None = None,
) -> Payment[list[Paid[T]]]:
    """`answer_once` in stages."""
    first = list(range(len(charges))) if fresh else _first_alike(charges)
    asked = None if request is None else Asked(request, tuple(charges), first=first)
    recalls: list[Answer | None] = [None] * len(charges)
    remembered = bool(data) and not fresh
    yield Next(Stage.LOOK, Foreseen(asked, data if remembered else ""))
    if asked is not None:
        before, known_answers = ledger.asked_before(asked, data=data, recall=remembered, to_pay=True)
        if before is not None:
            left = yield from _left(ledger, before, prepare)
            return (yield from _repeated(ledger, charges, left, analyst))
        recalls = known_answers if remembered else recalls
    elif remembered:
        recalls = ledger.recall(charges, data=data)
    if not fresh:
        _require_valid(charges, recalls)
    places = [i for i, recall in enumerate(recalls) if recall is None and first[i] == i]
    known = {i: recall for i, recall in enumerate(recalls) if recall is not None}
    if asked is not None:
        asked = replace(asked, recalled=known)
        left = yield from _requested(ledger, asked, prepare, data)
        return (yield from _repeated(ledger, charges, left, analyst))
    bought = yield from _paid(ledger, charges, places, prepare, data)
    paid = dict(zip(places, bought, strict=True))
    known |= {i: paid[first[i]].answer for i in range(len(charges)) if i not in known and i not in paid}
    told = [paid[i] if i in paid else Paid(known[i], None) for i in range(len(charges))]
    return (yield from _repeated(ledger, charges, told, analyst))


def unpaid_places(
    ledger: Ledger,
    charges: Sequence[Charge],
    *,
    data: str = "",
    fresh: bool = False,
    request: Request | None = None,
) -> list[int]:
    """The places of the charges that `answer_once` would pay for just now. Spends nothing; raises as that
    does but for `BudgetExceeded`.

    >>> from leakcap.ledger import Caps, Charge, Ledger, Spend
    >>> with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=Caps(1.0)) as ledger:
    ...     unpaid_places(ledger, [Charge("sick", "count", Spend(epsilon=0.5))] * 2)
    [0]
    """
    recalls: list[Answer | None] = [None] * len(charges)
    remembered = bool(data) and not fresh
    if request is not None:
        before, known = ledger.asked_before(Asked(request, tuple(charges)), data=data, recall=remembered)
        if before is not None:
            return []
        recalls = known if remembered else recalls
    elif remembered:
        recalls = ledger.recall(charges, data=data)
    first = list(range(len(charges))) if fresh else _first_alike(charges)
    return [i for i, recall in enumerate(recalls) if recall is None and first[i] == i]


def _repeated(
    ledger: Ledger, charges: Sequence[Charge], paid: list[Paid[T]], analyst: str
) -> Payment[list[Paid[T]]]:
    """The answers, after it was recorded of those that left before that they leave once more."""
    again = {i: one.answer.entry for i, one in enumerate(paid) if one.computed is None}
    told = {entry: charges[i] for i, entry in again.items()}
    if again:
        yield Next(Stage.RECORD, Foreseen(repeated=list(again.values())))
    ledger.mark_repeated(list(again.values()), analyst=analyst, asked=told)
    return paid


def _requested(ledger: Ledger, asked: Asked, prepare: Prepare[T], data: str) -> Payment[list[Paid[T]]]:
    """A request's answers: what has to be paid is committed together with its key."""
    places = asked.paid_places
    compute = prepare(places, False) if places else None
    yield Next(Stage.SPEND, Foreseen(asked))
    found, new = ledger.reserve_request(asked, data=data)
    if not new:
        # Another process was faster.
        return (yield from _left(ledger, found, prepare))
    return (yield from _left(ledger, found, prepare if compute is None else lambda *_: compute, new=True))


def _left(
    ledger: Ledger,
    found: Sequence[AnsweredEntry],
    prepare: Prepare[T],
    *,
    new: bool = False,
) -> Payment[list[Paid[T]]]:
    """The answers that left, and those of the entries that have none yet, computed now; an answer that
    another process recorded meanwhile stands in the place of the one computed here."""
    places: dict[int, int] = {}
    for place, one in enumerate(found):
        if one.answer is None:
            places.setdefault(one.entry.id, place)
    computed: dict[int, tuple[T, Any]] = {}
    stood = {one.answer.entry: one.answer for one in found if one.answer is not None}
    if places:
        yield Next(Stage.COMPUTE)
        try:
            compute = prepare(list(places.values()), True)
            entries = [found[place].entry for place in places.values()]
            made = zip(entries, compute(entries), strict=True)
            computed = {entry.id: one for entry, one in made}
            # Until here nobody has seen an answer: what cannot be recorded does not leave.
            values = {id_: answer for id_, (_, answer) in computed.items()}
            reserved = entries if new else ()
            yield Next(Stage.RECORD, Foreseen(entries=reserved))
            stood |= ledger.release_once(values, again=not new, reserved=reserved)
        except LeakcapError as error:
            raise after_commit(error) from None
    return _in_order(found, computed, stood)


def _in_order(
    found: Sequence[AnsweredEntry], computed: Mapping[int, tuple[T, Any]], stood: Mapping[int, Answer]
) -> list[Paid[T]]:
    """For each question of a request its answer, and at the first one what was computed for it here."""
    paid, seen = list[Paid[T]](), set[int]()
    for entry in (one.entry for one in found):
        if entry.id in stood:
            paid.append(Paid(stood[entry.id], None))
            continue
        made, values = computed[entry.id]
        answer = Answer(entry.id, values, entry.people_from)
        paid.append(Paid(answer, None if entry.id in seen else made))
        seen.add(entry.id)
    return paid


def _paid(
    ledger: Ledger,
    charges: Sequence[Charge],
    places: Sequence[int],
    prepare: Prepare[T],
    data: str,
) -> Payment[list[Paid[T]]]:
    if not places:
        return []
    compute = prepare(places, False)
    yield Next(Stage.SPEND)
    entries = ledger.reserve([charges[place] for place in places], data=data)
    yield Next(Stage.COMPUTE)
    try:
        computed = compute(entries)
        values = {entry.id: value for entry, (_, value) in zip(entries, computed, strict=True)}
        # Until here nobody has seen an answer: what cannot be recorded does not leave.
        yield Next(Stage.RECORD)
        ledger.mark_released(list(values), answers=values)
    except LeakcapError as error:
        raise after_commit(error) from None
    return [
        Paid(Answer(entry.id, values[entry.id], entry.people_from), found)
        for entry, (found, _) in zip(entries, computed, strict=True)
    ]


def _require_valid(charges: Sequence[Charge], recalls: Sequence[Answer | None]) -> None:
    """No answer is repeated as valid that was replaced or withdrawn."""
    for charge, recall in zip(charges, recalls, strict=True):
        if recall is not None and recall.revised:
            raise LedgerError(
                f"The recorded answer to `{charge.query}`, entry {recall.entry}, was {recall.revised} "
                "Nothing was spent. For a new answer, which is paid for: `--fresh`, in Python `fresh=True`."
            )


def _first_alike(charges: Sequence[Charge]) -> list[int]:
    """For each charge the place of the first one that asks the same."""
    places: dict[tuple[str, str], int] = {}
    return [places.setdefault((charge.text, charge.asked), i) for i, charge in enumerate(charges)]
