"""What an owner writes under `[caps]`, and what the ledger then holds."""

from __future__ import annotations

import math
from typing import Any

import pytest

from leakcap.errors import BudgetExceeded, InvalidPolicy
from leakcap.ledger import Caps, Charge, Ledger, Limits, Spend
from leakcap.policy.caps import coin_flip_epsilon
from leakcap.release import PrivateTable, load_policy
from leakcap.release.planning.price import price_of
from release.world import planned, policy_of
from release.world import table as rows_table

REPLACE = {"neighbours": "replace-one", "rows": 10}
EVERYTHING: dict[str, Any] = {
    "epsilon": 1.0,
    "nats_level": 0.5,
    "alpha": 2.0,
    "rho": 0.4,
    "queries": 20,
    "each_analyst": {"epsilon": 0.5},
    "analysts": {"Dr. Ng": {"epsilon": 0.75, "nats_per_person": 0.1}},
    "each_period": {"length": "month", "epsilon": 0.25},
}


def test_every_cap_reaches_the_ledger() -> None:
    assert policy_of(caps=EVERYTHING).caps.ledger_caps() == Caps(
        epsilon=1.0,
        nats_level=0.5,
        rho=0.4,
        alpha=2.0,
        queries=20,
        each_analyst=Limits(epsilon=0.5),
        analysts={"Dr. Ng": Limits(epsilon=0.75, nats_person=0.1)},
        each_period=Limits(epsilon=0.25),
        period="month",
    )


@pytest.mark.parametrize(
    ("analyst", "fits", "named"),
    [("", 2, "month"), ("Dr. Ng", 2, "month")],
)
def test_all_of_them_hold_at_once(analyst: str, fits: int, named: str) -> None:
    rows = rows_table([{"id": 1, "x": 1.0}])
    table = PrivateTable(rows, policy=policy_of(caps=EVERYTHING), ledger="sqlite://", analyst=analyst)
    for _ in range(fits):
        table.count(epsilon=0.125, fresh=True)
    with pytest.raises(BudgetExceeded, match=f"cap of {named}"):
        table.count(epsilon=0.125, fresh=True)
    assert table.ledger.accounts()[-1].balances[0].left == 0.0


def test_a_level_cap_charges_the_divergence_between_two_contents() -> None:
    """(1/(α−1)) ln cosh((α−½)ε)/cosh(ε/2), the same number written in another way."""
    for relation, steps in ((REPLACE, 1), ({}, 2)):
        price = price_of(
            planned(policy_of(caps={**EVERYTHING, "alpha": 3.0}, **relation), statistic="count", by=("d",))
        )
        e = steps * price.epsilon
        expected = math.log(math.cosh(2.5 * e) / math.cosh(e / 2)) / 2
        assert price.nats_level == pytest.approx(expected, rel=1e-12)
        assert price.nats_level >= expected * (1 - 1e-15)
    assert price_of(planned(policy_of(), statistic="count")).nats_level == math.inf


class TestOdds:
    def policy(self, **changes: Any) -> Any:
        return policy_of(**{"caps": {"coin_flip": 0.6}, **changes})

    @pytest.mark.parametrize("success", [0.5 + 1e-9, 0.51, 0.6, 0.75, 0.99, 1 - 1e-9])
    def test_no_guess_is_better_and_hardly_any_budget_is_lost(self, success: float) -> None:
        epsilon = coin_flip_epsilon(success, contents_apart=1)
        reached = 1 / (1 + math.exp(-epsilon))
        assert reached <= success * (1 + 1e-15)
        assert reached == pytest.approx(success, abs=1e-12)

    def test_it_is_converted_and_kept_both_ways(self) -> None:
        caps = self.policy(**REPLACE).caps
        assert caps.epsilon == pytest.approx(math.log(1.5), abs=1e-12)
        assert caps.coin_flip == 0.6
        assert load_policy(self.policy(**REPLACE).model_dump()).caps == caps

    def test_two_contents_are_two_steps_apart_where_absence_counts(self) -> None:
        assert self.policy().caps.epsilon == pytest.approx(math.log(1.5) / 2, abs=1e-12)

    def test_the_statement_never_says_more_than_the_cap(self) -> None:
        """All of the budget spent on the worst query: the coin-flip line is the odds that the owner set."""
        from leakcap.release import exposure_so_far
        from leakcap.statement import statement_of

        for relation in (REPLACE, {}):
            policy = self.policy(**relation)
            data = rows_table([{"id": n, "d": "a"} for n in range(10)])
            table = PrivateTable(data, policy=policy, ledger="sqlite://")
            table.count(epsilon=policy.caps.epsilon, where="d = 'a'")
            statement = statement_of(exposure_so_far(table.ledger.entries(), policy))
            # Under add/remove a count between two contents is half as far apart as the cap has to allow.
            least = 0.599 if relation else 1 / (1 + math.exp(-policy.caps.epsilon)) - 1e-3
            assert least < statement["coin_flip"].upper <= 0.6 + 1e-12

    @pytest.mark.parametrize("value", [0.5, 1.0, 0.4, -1.0, math.nan, "0.6", True])
    def test_odds_that_are_none(self, value: object) -> None:
        with pytest.raises(InvalidPolicy, match=r"`caps.coin_flip`"):
            policy_of(caps={"coin_flip": value})

    def test_epsilon_beside_it_must_agree(self) -> None:
        with pytest.raises(InvalidPolicy, match="give only one"):
            policy_of(caps={"coin_flip": 0.6, "epsilon": 1.0})

    @pytest.mark.parametrize("success", [0.51, 0.6, 0.75, 0.99])
    @pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-3, 0.015, 0.1, 0.3])
    @pytest.mark.parametrize("steps", [1, 2])
    def test_beside_a_delta_the_worst_pair_is_guessed_as_often_and_no_more(
        self, success: float, delta: float, steps: int
    ) -> None:
        """Two laws that are (ε′, δ′) apart and no better, from four outcomes: a guess is right (1 + TV)/2."""
        try:
            epsilon = coin_flip_epsilon(success, contents_apart=steps, delta=delta)
        except ValueError:
            apart = delta if steps == 1 else 2 * delta
            assert (1 + apart) / 2 >= success - 1e-12  # δ alone is as much
            return
        x, slack = math.exp(steps * epsilon), delta if steps == 1 else delta * (1 + math.exp(epsilon))
        told = [slack, (1 - slack) * x / (1 + x), (1 - slack) / (1 + x), 0.0]
        other = told[::-1]
        for a, b in ((told, other), (other, told)):
            assert sum(max(p - x * q, 0.0) for p, q in zip(a, b, strict=True)) <= slack + 1e-12
        guessed = sum(max(p, q) for p, q in zip(told, other, strict=True)) / 2
        assert guessed == pytest.approx(success, abs=1e-11)

    def test_a_delta_takes_its_part_of_the_odds(self) -> None:
        alone, beside = (policy_of(caps={"coin_flip": 0.6, "delta": d}).caps for d in (0.0, 1e-3))
        assert beside.delta == 1e-3
        assert 0.9 * alone.epsilon < beside.epsilon < alone.epsilon
        assert load_policy(policy_of(caps={"coin_flip": 0.6, "delta": 1e-3}).model_dump()).caps == beside

    def test_a_delta_that_is_all_of_it_is_refused(self) -> None:
        for delta in (0.3, 0.2):
            with pytest.raises(InvalidPolicy, match=r"`delta` = 0\.[23] alone lets a guess succeed as often"):
                policy_of(caps={"coin_flip": 0.6, "delta": delta})

    @pytest.mark.parametrize("delta", [math.nan, -1e-9, 1.0, "0.1", True])
    def test_a_delta_that_is_none(self, delta: object) -> None:
        with pytest.raises(InvalidPolicy, match="delta"):
            policy_of(caps={"coin_flip": 0.6, "delta": delta})

    def test_without_a_word_about_delta_none_may_be_spent(self) -> None:
        for caps in ({"coin_flip": 0.6}, {"coin_flip": 0.6, "delta": 0.0}):
            policy = policy_of(caps=caps)
            assert policy.caps.ledger_caps().delta == 0.0
            with (
                Ledger.open(
                    "sqlite://", dataset="tests", policy=policy.fingerprint(), caps=policy.caps.ledger_caps()
                ) as ledger,
                pytest.raises(BudgetExceeded, match="`delta` cap"),
            ):
                ledger.reserve([Charge("q", "q", Spend(epsilon=0.1, delta=1e-9))])


@pytest.mark.parametrize(
    ("caps", "message"),
    [
        ({"nats_level": 0.5}, "`alpha`, the level of `nats_level`, is missing"),
        ({"each_analyst": {"nats_level": 0.5}}, "`alpha`"),
        ({"alpha": 1.0}, "`caps.alpha`"),
        ({"queries": 1.5}, "`caps.queries`"),
        ({"queries": -1}, "`caps.queries`"),
        ({"each_period": {"epsilon": 1.0}}, r"`caps.each_period.length` of `policy` is missing"),
        ({"each_period": {"length": "decade"}}, r"`caps.each_period.length`"),
        ({"each_analyst": {"epsilom": 1.0}}, "not a known field"),
        ({"analysts": {"ng": {"epsilon": 0.0}}}, "`caps.analysts.ng.epsilon`"),
        ({"analysts": {"ng": {"nats_table": 1.0}}}, "`max_rows` is required"),
    ],
)
def test_a_broken_rule_is_named(caps: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidPolicy, match=message):
        policy_of(caps={"epsilon": 1.0, **caps})


def test_a_cap_that_is_used_changes_the_fingerprint_and_one_that_is_not_does_not() -> None:
    plain = policy_of(caps={"epsilon": 1.0}).fingerprint()
    assert policy_of(caps={"epsilon": 1.0, "analysts": {}, "queries": None}).fingerprint() == plain
    seen = {plain}
    for name in ("nats_level", "rho", "queries", "each_analyst", "analysts", "each_period"):
        caps = {"epsilon": 1.0, name: EVERYTHING[name]} | ({"alpha": 2.0} if name == "nats_level" else {})
        seen.add(policy_of(caps=caps).fingerprint())
    assert policy_of(caps={"epsilon": 1.0, "queries": 0}).fingerprint() not in seen
    assert len(seen) == 7
