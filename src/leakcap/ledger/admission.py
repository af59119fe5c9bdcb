"""Several data sets about the same people, which pay from one ledger under one set of caps.

*Why their spends add up.* Under add-remove-one neighbours a person is removed from all of the data sets at
once. An answer from one of them is ε-DP for that person's rows in it, and does not change where the person
has none: so it is ε-DP for the person in all of them together, and answers from whichever data set, each
asked after having seen the others, add up as those from one do. Under replace-one this fails: who is in one
data set and not in another cannot be replaced without a change in how many there are, which was taken as
public. And where a row is the unit, rows of two tables are not one unit.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime

from leakcap.errors import LedgerError
from leakcap.ledger.amending import Proposed
from leakcap.ledger.database import connect
from leakcap.ledger.events import mark_row, stamp
from leakcap.ledger.policies import keep_text, texts_of_all
from leakcap.ledger.rules import rules_of
from leakcap.ledger.schema import require_version
from leakcap.ledger.state import append, load_state
from leakcap.ledger.verification import proven_sums

__all__ = ["admit_dataset"]


def admit_dataset(
    url: str,
    proposed: Proposed,
    *,
    preview: bool = False,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> str:
    """Let another data set about the same people pay from this ledger, and return its name.

    `proposed` is its policy. Where the data set was admitted before, the policy takes the place of its
    earlier one. Raises `LedgerError` where its people are not, or cannot be shown to be, those of the ledger:
    both units need the same `id` column and add-remove-one neighbours; and where its caps are not the
    ledger's. That the ids are of the same people is the owner's word. With `preview` nothing is written.
    """
    connect(url, read_only=True).close()  # names a file that is not there, rather than making one
    with closing(connect(url)) as database, database.writing() as connection:
        require_version(connection, database.label)
        load_state(connection, database.label, lock=True)
        state, sums = proven_sums(connection, database.label)
        database.require_no_lost_log(state.head)
        if rules_of(proposed.caps).text != state.rules.text:
            raise LedgerError(
                f"The policy has other caps than the ledger `{database.label}`, and all that pay from it "
                "share one set. Write the ledger's `[caps]` into the policy."
            )
        dataset = str(json.loads(proposed.text)["dataset"])
        texts = texts_of_all(connection) | {proposed.policy: proposed.text}
        if sums.admitted.get(dataset, [""])[-1] == proposed.policy:
            raise LedgerError(f"The data set `{dataset}` pays from ledger `{database.label}` already.")
        sums.admit(dataset, proposed.policy, texts)
        if preview:
            return dataset
        keep_text(connection, proposed.policy, proposed.text)
        told = {"dataset": dataset, "policy": proposed.policy, "reason": proposed.reason}
        time = stamp(clock, state.time, database.label)
        append(connection, state, [mark_row(state, "admit", time, told, by=proposed.by)])
        return dataset
