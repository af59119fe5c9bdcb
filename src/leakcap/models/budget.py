"""What a model pays: prices in every currency, and a reservation that comes before any noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from leakcap.errors import DataError, InvalidParameter, InvalidPolicy, InvalidQuery, require
from leakcap.ledger import Charge, Edition, Entry, Ledger, Request, Spend, answer_once
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.implied import implied_person, renyi_of_pure, tight_mutual_information
from leakcap.ledger.ticks import countable
from leakcap.ledger.values import event_text
from leakcap.models.values import Floats
from leakcap.numeric import up
from leakcap.release import Policy, PrivateTable, load_policy
from leakcap.release.engine import Engine
from leakcap.release.engine.beforehand import wrong_number
from leakcap.release.planning.statements import units_statement
from leakcap.release.table import open_ledger
from leakcap.sampling.rational import printed

__all__ = [
    "FitAccount",
    "FitAnswer",
    "approximate_spend",
    "asked_of",
    "check_epsilon",
    "gaussian_spend",
    "pure_spend",
]


def pure_spend(epsilon: float, policy: Policy, *, nats_table: float = math.inf) -> Spend:
    """The spend of an ε-DP fit: two contents of one person are ε apart, or 2ε under add/remove-one.

    >>> from leakcap.release import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "replace-one", "rows": 9,
    ...     "caps": {"epsilon": 1.0}, "columns": {"x": {"bounds": [0.0, 1.0]}}})
    >>> round(pure_spend(1.0, policy).nats_person, 6)
    0.123302
    """
    replace = policy.neighbours == "replace-one"
    contents = epsilon if replace else 2 * epsilon
    if replace and policy.units is not None:
        nats_table = min(nats_table, tight_mutual_information(up(policy.units * epsilon)))
    alpha = policy.caps.alpha
    return _spend(
        epsilon,
        0.0,
        min(tight_mutual_information(contents), implied_person(epsilon, 0.0)),
        nats_table,
        math.inf if alpha is None else renyi_of_pure(contents, alpha),
    )


def gaussian_spend(
    epsilon: float,
    delta: float,
    rho: float,
    policy: Policy,
    *,
    nats_table: float = math.inf,
    exact: bool = False,
) -> Spend:
    """The spend of ρ-zCDP kept as (ε, δ); with `exact` it is Gaussian noise, whose μ²/2 is ρ, of which (ε, δ)
    is less than all that ρ allows. About one person it is ρ nats, the divergence from any one content's
    answer; at level α αρ, and 4αρ between two contents that are two steps apart; n²ρ about a table of n. Its
    curve is αρ.

    Source: Bun & Steinke 2016, definition 1.1 and proposition 1.9; Cuff & Yu 2016, lemma 1.
    """
    replace = policy.neighbours == "replace-one"
    if replace and policy.units is not None:
        nats_table = min(nats_table, up(policy.units**2 * rho, 4))
    alpha = policy.caps.alpha
    level = math.inf if alpha is None else up((1 if replace else 4) * alpha * rho, 4)
    curve = tuple(up(order * rho) for order in ORDERS)
    event: dict[str, Any] = {"name": "ZCDpEvent", "rho": Fraction(repr(float(rho)))}
    if exact:
        # 1/μ, rounded down to fifteen decimals.
        noise = Fraction(math.isqrt(math.floor(10**30 / (2 * Fraction(rho)))), 10**15)
        event = {"name": "GaussianDpEvent", "noise_multiplier": noise}
    return _spend(epsilon, delta, rho, nats_table, level, curve, event_text(event))


def _spend(
    epsilon: float,
    delta: float,
    person: float,
    table: float,
    level: float,
    curve: tuple[float, ...] | None = None,
    event: str = "",
) -> Spend:
    person, table, level = map(countable, (person, table, level))
    return Spend(epsilon, delta, person, table, level, curve=curve, event=event)


def approximate_spend(epsilon: float, delta: float) -> Spend:
    """The spend of an (ε, δ)-DP fit of which no more is known: no bound in nats follows for any alphabet."""
    return Spend(epsilon=epsilon, delta=delta, nats_person=math.inf, nats_table=math.inf, nats_level=math.inf)


def asked_of(epsilon: float | None, delta: float) -> str:
    """ε, where it is given, and δ as the decimals that were given: what tells fits of one text apart.

    >>> asked_of(0.5, 1e-6)
    'ε 1/2, δ 1/1000000'
    """
    return f"{'' if epsilon is None else f'ε {printed(epsilon)}, '}δ {printed(delta)}"


def check_epsilon(epsilon: object, delta: object, owner: str) -> None:
    """Raise `InvalidParameter` unless 0 < ε < ∞ and 0 ≤ δ < 1."""
    good = isinstance(epsilon, int | float) and not isinstance(epsilon, bool) and 0 < epsilon < math.inf
    require(good, "epsilon", owner, "be positive and finite", epsilon)
    good = isinstance(delta, int | float) and not isinstance(delta, bool) and 0 <= delta < 1
    require(good, "delta", owner, "lie in [0, 1)", delta)


@dataclass(frozen=True)
class FitAnswer:
    """Released values of a fit, by which entry they were paid, and whether they were known already."""

    entry: int
    values: Floats
    repeated: bool


@dataclass(frozen=True)
class FitAccount:
    """A policy with its ledger, open for one fit."""

    policy: Policy
    ledger: Ledger
    analyst: str = ""
    slot: str = ""
    edition: Edition | None = None
    source: str = ""
    same_as: int | None = None
    request: Request | None = None
    engine: Engine | None = None

    @property
    def replace(self) -> bool:
        """Whether neighbours differ in the contents of one unit, rather than in its presence."""
        return self.policy.neighbours == "replace-one"

    @classmethod
    @contextmanager
    def opened(
        cls,
        policy: Policy | str | Path | Mapping[str, Any] | None,
        ledger: Ledger | str | Path | None,
        analyst: str,
        owner: str,
        slot: str = "",
    ) -> Iterator[FitAccount]:
        """The account of a model; a ledger given by its URL is closed again."""
        require(policy is not None, "policy", owner, "be given: it says who is protected", policy)
        require(ledger is not None, "ledger", owner, "be given: it holds the caps", ledger)
        assert policy is not None
        assert ledger is not None
        checked = load_policy(policy)
        if isinstance(ledger, Ledger):
            yield cls(checked, open_ledger(ledger, checked), analyst, slot)
            return
        if str(ledger) == "sqlite://" or ":memory:" in str(ledger):
            raise InvalidParameter(
                f"`ledger` of `{owner}` must outlive a fit: each would open an empty one in memory. Give "
                "a file, or a `Ledger` that is open."
            )
        with open_ledger(ledger, checked) as held:
            yield cls(checked, held, analyst, slot)

    @classmethod
    def of_table(cls, table: PrivateTable, analyst: str, slot: str = "") -> FitAccount:
        """A table's policy and ledger, which count instead of the model's."""
        same = None if table.same_as is None else table.same_as.number
        own = (table.edition, table.named, same)
        account = cls(table.policy, table.ledger, analyst or table.analyst, slot, *own, engine=table.engine)
        account.check_policy()
        return account

    def check_policy(self) -> None:
        """Refuse a policy that was changed after its ledger was opened."""
        if self.ledger.policy != self.policy.fingerprint():
            raise InvalidPolicy("The ledger was made for another policy. Open the table anew.")

    def check_rows(self, rows: int) -> None:
        """Refuse arrays that are not the table of the policy. Under replace-one the number is public."""
        if self.policy.id_column is not None:
            raise DataError(
                "Arrays have no id: under a policy whose unit is a person use `fit_table`, which bounds the "
                "rows of each, or a policy whose unit is the row. Nothing was spent."
            )
        if self.replace and rows != self.policy.rows:
            raise DataError(
                "The arrays do not have as many rows as `rows` of the policy says. Correct the policy, or "
                "choose add-remove-one neighbours if the number is not public. Nothing was spent."
            )

    def check_units(self) -> None:
        """Refuse a table of another size than the public one. Under add/remove-one it is never looked at, and
        of arrays `check_rows` has seen to it."""
        if self.engine is None or not self.replace:
            return
        ((counted,),) = self.engine.run(self.engine.write(units_statement(self.policy))).rows()
        if counted != self.policy.rows:
            raise DataError(wrong_number(self.policy))

    def answered(
        self,
        fit: Charge,
        draw: Callable[[Entry], Floats],
        *,
        data: str = "",
        fresh: bool = False,
    ) -> FitAnswer:
        """What the ledger remembers of this very fit, for free; or else reserve, draw, record.

        `data` names the state of the table; without a name nothing is remembered. What fails after the
        reservation stays spent. Where the account has a `request` all of this happens once.
        """

        def prepare(
            _: Sequence[int], paid_before: bool
        ) -> Callable[[Sequence[Entry]], list[tuple[Floats, Any]]]:
            # What is known is repeated without a look at the rows: this is reached by what is computed alone.
            if self.engine is not None and self.replace and not paid_before:
                self.ledger.check([fit])  # a refusal should not wait for the count
            self.check_units()

            def compute(entries: Sequence[Entry]) -> list[tuple[Floats, Any]]:
                values = np.atleast_2d(draw(entries[0]))
                return [(values, values.tolist())]

            return compute

        (paid,) = answer_once(
            self.ledger, [fit], prepare, data=data, analyst=self.analyst, fresh=fresh, request=self.request
        )
        if paid.computed is None:
            known = np.array(paid.answer.values, dtype=np.float64)
            return FitAnswer(paid.answer.entry, known, repeated=True)
        return FitAnswer(paid.answer.entry, paid.computed, repeated=False)

    def release(self, entry: int, values: Floats) -> None:
        """Record a fit's released values, and that they leave."""
        self.ledger.mark_released([entry], answers={entry: np.atleast_2d(values).tolist()})

    def charge(
        self, query: str, text: str, spend: Spend, details: Mapping[str, str | float | int], *, asked: str
    ) -> Charge:
        """A fit's price, with what every fit tells the ledger; `asked` is its ε and δ, see `asked_of`.

        Raises `InvalidQuery` for a δ that no cap holds: no `delta` in `caps` is leave for none, in a model as
        in a query. From a slot it was paid for with the owner's plan.
        """
        if spend.delta > 0.0 and self.policy.caps.delta is None and not self.slot:
            raise InvalidQuery(
                f"A {query} with these parameters needs a δ, and the policy has no `delta` in its `caps`. "
                "Only the owner can allow one. Nothing was spent."
            )
        facts = {"neighbours": self.policy.neighbours, "unit": self.policy.id_column or "row", **details}
        return Charge(
            query,
            text,
            spend,
            self.analyst,
            facts,
            asked,
            slot=self.slot,
            edition=self.edition,
            source=self.source,
            same_as=self.same_as,
        )
