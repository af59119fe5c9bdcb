"""The one way to pay: what the ledger knows is repeated; the rest is committed, computed and recorded.

Statistics, SQL, batches, models and the explorer all come through `answer_once`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from leakcap.errors import LeakcapError, LedgerError, after_commit
from leakcap.ledger.told import Answer
from leakcap.ledger.values import Charge, Entry

if TYPE_CHECKING:
    from leakcap.ledger.ledger import Ledger

__all__ = ["Paid", "answer_once"]

T = TypeVar("T")
Compute: TypeAlias = Callable[[Sequence[Entry]], Sequence[tuple[T, Any]]]


@dataclass(frozen=True)
class Paid(Generic[T]):
    """An answer as the ledger has it, and what was computed for it now; None where it was repeated."""

    answer: Answer
    computed: T | None


def answer_once(
    ledger: Ledger,
    charges: Sequence[Charge],
    prepare: Callable[[Sequence[int]], Compute[T]],
    *,
    data: str = "",
    analyst: str = "",
    fresh: bool = False,
) -> list[Paid[T]]:
    """For each charge its answer: recalled for free, or checked, committed, computed and recorded.

    `prepare` is told the places of the charges that have to be paid. It does whatever may still be refused,
    before anything is spent, and returns what computes their answers from their entries: for each what the
    caller wants, and the released values as the ledger remembers them. Charges of one text and price are
    paid once. `data` names the state of the table; without a name nothing is remembered. `fresh` pays for
    all. Raises with nothing spent `BudgetExceeded`, and `LedgerError` where a recorded answer was replaced or
    withdrawn; what fails after the commit stays spent, and says so.

    >>> from leakcap.ledger import Caps, Charge, Ledger, Spend
    >>> with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=Caps(1.0)) as ledger:
    ...     sick = Charge("sick", "count", Spend(epsilon=0.5))
    ...     for _ in range(3):
    ...         paid, = answer_once(ledger, [sick], lambda places: lambda entries: [(9, [[9]])], data="t")
    ...     paid.answer.values, paid.computed, ledger.balances()[0].left
    ([[9]], None, 0.5)
    """
    recalls: list[Answer | None] = [None] * len(charges)
    first = list(range(len(charges)))
    if not fresh:
        recalls = ledger.recall(charges, data=data) if data else recalls
        _require_valid(charges, recalls)
        first = _first_alike(charges)
    places = [i for i, recall in enumerate(recalls) if recall is None and first[i] == i]
    paid = dict(zip(places, _paid(ledger, charges, places, prepare, data), strict=True))
    known = {i: recall for i, recall in enumerate(recalls) if recall is not None}
    known |= {i: paid[first[i]].answer for i in range(len(charges)) if i not in known and i not in paid}
    told = {answer.entry: charges[i] for i, answer in known.items()}
    ledger.mark_repeated([answer.entry for answer in known.values()], analyst=analyst, asked=told)
    return [paid[i] if i in paid else Paid(known[i], None) for i in range(len(charges))]


def _paid(
    ledger: Ledger,
    charges: Sequence[Charge],
    places: Sequence[int],
    prepare: Callable[[Sequence[int]], Compute[T]],
    data: str,
) -> list[Paid[T]]:
    if not places:
        return []
    compute = prepare(places)
    entries = ledger.reserve([charges[place] for place in places], data=data)
    try:
        computed = compute(entries)
        values = {entry.id: value for entry, (_, value) in zip(entries, computed, strict=True)}
        # Until here nobody has seen an answer: what cannot be recorded does not leave.
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
