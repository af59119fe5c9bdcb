"""Running counts released: one charge for the horizon, each step once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from leakcap.errors import InvalidPolicy, InvalidQuery
from leakcap.ledger import Charge, Edition, Entry, Ledger, Spend, answer_steps
from leakcap.ledger.details import STREAM
from leakcap.ledger.measured import guarantee
from leakcap.ledger.paying_steps import recorded_steps
from leakcap.ledger.ticks import countable
from leakcap.ledger.values import event_text
from leakcap.numeric import float_up, up
from leakcap.release import Policy, PrivateTable
from leakcap.running.answer import ReleasedRunningCount
from leakcap.running.plan import RunningPlan, noisy_step
from leakcap.running.question import PlannedRunningCount, RunningQuestion
from leakcap.running.reading import check_running_columns, running_counts, running_statement
from leakcap.sampling import ByteSource, system_bytes

__all__ = [
    "charge_of_running",
    "release_running",
    "remembered_running",
    "require_through",
    "spend_of_running",
]

_DECIMALS = 10**18


def release_running(
    table: PrivateTable,
    question: RunningQuestion,
    *,
    through: str | None = None,
    source: ByteSource = system_bytes,
) -> ReleasedRunningCount:
    """The counts and running totals of all periods until `through`, for the one charge of the stream.

    Only who asks knows which period is complete: without `through` what was answered before is told, for
    free. Rows of all periods so far have to be in the table. Raises `InvalidQuery`, `DataError`,
    `LedgerError` or `BudgetExceeded` with nothing spent.

    >>> import datetime, pyarrow
    >>> days = [datetime.date(2026, 1 + i % 3, 1 + i % 28) for i in range(3000)]
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0, "delta": 1e-6},
    ...     "columns": {"day": {"dates": ["2026-01-01", "2026-12-31"]},
    ...         "month": {"from": "day", "truncate": "month"}}}
    >>> year = RunningQuestion(name="visits", period="month", first="2026-01", steps=12, rho=0.01)
    >>> with PrivateTable(pyarrow.table({"day": days}), policy=policy, ledger="sqlite://") as private:
    ...     march = release_running(private, year, through="2026-03")
    ...     again = release_running(private, year)
    >>> abs(march.total("2026-03").value - 3000) < 200, again.new, again.answered[-1]
    (True, 0, '2026-03')
    """
    ledger, engine = table.ledger, table.engine
    if ledger.policy != table.policy.fingerprint():
        raise InvalidPolicy(
            "The policy was changed after the table was opened under it. Open the table anew."
        )
    planned = question.planned(table.policy)
    wanted = 0 if through is None else planned.steps_until(through)
    charge = charge_of_running(planned, analyst=table.analyst, edition=table.edition, source=table.named)
    known = ledger.stream(charge)
    if known is None:
        require_through(planned, through)

    def prepare() -> Callable[[Entry], Callable[[int], list[int]]]:
        check_running_columns(planned, engine)
        # Written out before the commit, so that nothing after it can fail because of the question.
        statement = running_statement(planned, engine, wanted, ledger.seed)
        if planned.plan.replace:
            if known is None:
                ledger.check([charge])
            table.check_units()

        def read(entry: Entry) -> Callable[[int], list[int]]:
            plan = _paid_plan(planned, entry)
            counts = running_counts(planned, statement, wanted, engine)
            return lambda step: noisy_step(plan, counts[:, : step + 1], source)

        return read

    paid = answer_steps(ledger, charge, wanted, prepare, analyst=table.analyst)
    own = replace(planned, plan=_paid_plan(planned, paid.entry))
    return ReleasedRunningCount(own, tuple(map(tuple, paid.steps)), paid.entry.spend, paid.entry.id, paid.new)


def remembered_running(
    ledger: Ledger, planned: PlannedRunningCount, entry: int | None = None
) -> dict[int, ReleasedRunningCount]:
    """What a ledger remembers of a running count, by entry, oldest first; or of one `entry` alone. Touches no
    data."""
    charge, found = charge_of_running(planned), {}
    answering = ledger.entries_answering(charge, dataset=planned.policy.dataset)
    known = {number for number in answering if entry in (None, number)}
    for paid in (one for one in ledger.entries() if one.id in known):
        own = replace(planned, plan=_paid_plan(planned, paid))
        steps = tuple(map(tuple, recorded_steps(ledger, paid)))
        found[paid.id] = ReleasedRunningCount(own, steps, paid.spend, paid.id, 0)
    return found


def _paid_plan(planned: PlannedRunningCount, entry: Entry) -> RunningPlan:
    """The noise that was paid for: another processor may compute another last digit of an ε's ρ."""
    return replace(planned.plan, variance=Fraction(str(entry.details["variance"])))


def require_through(planned: PlannedRunningCount, through: str | None) -> None:
    """Raise `InvalidQuery` unless a stream that is new is asked until a period of its horizon."""
    if through is None:
        raise InvalidQuery(
            f"Nothing of stream `{planned.question.name}` was answered yet. Name the last period that is "
            "complete: `--through`, in Python `through`."
        )
    planned.steps_until(through)


def charge_of_running(
    planned: PlannedRunningCount, *, analyst: str = "", edition: Edition | None = None, source: str = ""
) -> Charge:
    """What the whole horizon costs, and what is told of it; `source` is what the data is called."""
    policy = planned.policy
    return Charge(
        planned.question.name,
        planned.text,
        spend_of_running(planned.plan, policy),
        analyst,
        {
            STREAM: len(planned.codes),
            "mechanism": "discrete Gaussian",
            "neighbours": policy.neighbours,
            "unit": policy.id_column or "row",
            "rows": planned.plan.rows,
            "series": len(planned.series),
            "variance": str(planned.plan.variance),
            "asked": planned.question.asked,
            **({"rows_stay": True} if planned.question.rows_stay else {}),
        },
        planned.question.asked,
        edition=edition,
        source=source,
    )


def spend_of_running(plan: RunningPlan, policy: Policy) -> Spend:
    """What the ledger is charged: ρ and its curve, and what is told about one unit and the table.

    About one unit it is half the squared distance from its absence; at level α αρ between two contents; about
    a table of n units n²ρ, where their number is public. All of it holds along every path of an adversary
    who chooses the rows to come after the answers so far. Source: Feldman & Zrnic 2021; Bun & Steinke 2016.
    """
    presence = RunningPlan(plan.factor, plan.variance, plan.rows, False).rho
    contents = RunningPlan(plan.factor, plan.variance, plan.rows, True).rho
    event = event_text({"name": "ZCDpEvent", "rho": Fraction(math.ceil(plan.rho * _DECIMALS), _DECIMALS)})
    found = guarantee(event)
    alpha = policy.caps.alpha
    whole = float_up(policy.units**2 * contents) if plan.replace and policy.units is not None else math.inf
    return Spend(
        epsilon=math.inf,
        delta=0.0,
        nats_person=countable(float_up(presence)),
        nats_table=countable(whole),
        nats_level=countable(math.inf if alpha is None else up(alpha * float_up(contents))),
        rho=countable(float_up(found.rho)),
        curve=found.curve,
        event=event,
    )
