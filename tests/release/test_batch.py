"""Shared budgets: exactly additive, solved before anything is spent, and optimal where that is said."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leakcap.errors import BudgetExceeded, InvalidQuery
from leakcap.release import PrivateTable, Question, load_policy
from leakcap.release.asking.budget import OBJECTIVES, divided
from leakcap.release.asking.templates import QueryTemplate
from leakcap.release.planning.plan import plan_query
from leakcap.release.statistics import statistics
from release.world import COLUMNS, policy_of, table

COUNT: dict[str, Any] = {"name": "n", "statistic": "count"}
SUM: dict[str, Any] = {"name": "s", "statistic": "sum", "column": "x"}
POSITIVE = st.floats(min_value=1e-2, max_value=1e2)


def opened(**changes: Any) -> PrivateTable:
    rows = [{"x": float(i), "y": 5.0, "d": "abc"[i % 3], "k": 1 + i % 2, "f": i % 2 == 0} for i in range(30)]
    return PrivateTable(table(rows), policy=policy_of(**changes), ledger="sqlite://")


def spent(private: PrivateTable) -> float:
    return private.budget()[0].spent


def test_a_question_costs_nothing_until_it_is_released() -> None:
    private = opened()
    question = private.where("f").by("d").mean("x")
    assert question.preview(epsilon=1.0).price.epsilon == 1.0
    assert len(question.dry_run(epsilon=1.0).rows) == 3
    assert spent(private) == 0.0
    released = question.release(epsilon=1.0)
    assert spent(private) == 1.0
    # One path: the one-line form asks the same, so that the ledger repeats the answer.
    again = private.mean("x", where="f", by="d", epsilon=1.0)
    assert again.repeated
    assert again.rows == released.rows


def test_questions_compose() -> None:
    private = opened()
    question = private.all.where("f").by("d").count().where("k = 1").by("k").named("mine")
    query = question.at(0.5)
    assert (query.where, query.by, query.name) == ("(f) AND (k = 1)", ("d", "k"), "mine")
    # An OR in one condition does not swallow another one.
    text = private.where("k = 1 OR f").where("x > 3").count().at(1.0).where
    assert text == "(k = 1 OR f) AND (x > 3)"


@pytest.mark.parametrize(
    "text", ["k = 1) OR (f", "f; DROP TABLE t", "COUNT(*) > 5", "nobody = 1", "", "f --"]
)
def test_each_condition_stands_alone(text: str) -> None:
    with pytest.raises(InvalidQuery):
        opened().where("f").where(text)


def test_groups_are_not_chosen_by_what_they_count() -> None:
    with pytest.raises(InvalidQuery, match="`having` is not supported: which groups are left out"):
        opened().by("d").count().having("count > 5")


@pytest.mark.parametrize("statistic", sorted(statistics()))
def test_every_statistic_can_be_asked_lazily(statistic: str) -> None:
    columns = {**policy_of().columns}
    assert columns
    selection = opened().all
    fields: dict[str, Any] = {"quantiles": [0.5]} if statistic == "quantiles" else {}
    assert isinstance(selection.ask(statistic, "x", **fields), Question)


@given(
    st.lists(POSITIVE, min_size=1, max_size=6),
    st.floats(min_value=1e-2, max_value=1e4),
    st.sampled_from(OBJECTIVES),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_shares_never_exceed_the_budget(weights: list[float], epsilon: float, objective: Any) -> None:
    policy = policy_of()
    templates = [QueryTemplate([COUNT, SUM][i % 2], weight=weight) for i, weight in enumerate(weights)]
    queries = divided(templates, policy, epsilon=epsilon, objective=objective)
    total = sum(Decimal(repr(query.epsilon)) for query in queries)
    assert total <= Decimal(repr(epsilon))
    assert total > Decimal(repr(epsilon)) * (1 - Decimal("1e-9")) - len(weights) * Decimal("1e-12")


@given(
    st.integers(min_value=1, max_value=9),
    st.one_of(st.floats(min_value=1e-28, max_value=0.4999), st.sampled_from([1e-6, 1e-9, 1e-12, 0.3])),
)
def test_delta_is_shared_to_fifteen_digits_however_many_ticks_it_has(takers: int, delta: float) -> None:
    """A share of 1e-6 is a number of 24 digits in ticks: to count it down to a double's own would not end."""
    policy = policy_of(
        caps={"epsilon": 100.0, "delta": 0.5}, columns=COLUMNS | {"w": {"keys": "private", "type": "text"}}
    )
    templates = [QueryTemplate({**COUNT, "by": "w"})] * takers
    found = {query.delta for query in divided(templates, policy, epsilon=1.0, delta=delta)}
    # A second route: decimals, rounded down to a tick and then to fifteen digits.
    with localcontext(Context(prec=60, rounding=ROUND_FLOOR)):
        tick = (Decimal(repr(delta)) / takers).quantize(Decimal("1e-30"))
    assert [Decimal(repr(one)) for one in found] == [Context(prec=15, rounding=ROUND_FLOOR).plus(tick)]


def test_a_share_below_a_tick_is_refused_by_its_name() -> None:
    policy = policy_of(
        caps={"epsilon": 100.0, "delta": 0.5}, columns=COLUMNS | {"w": {"keys": "private", "type": "text"}}
    )
    template = QueryTemplate({**COUNT, "by": "w"})
    with pytest.raises(InvalidQuery, match=r"`delta` is too small to be shared out\. Ask for more, or for"):
        divided([template, template], policy, epsilon=1.0, delta=1e-30)
    with pytest.raises(InvalidQuery, match=r"`epsilon` is too small to be shared out\."):
        divided([template, template], policy, epsilon=1e-12, delta=1e-6)


def test_the_batch_is_paid_at_once_or_not_at_all() -> None:
    private = opened(caps={"epsilon": 1.0})
    ask = private.by("d")
    with pytest.raises(BudgetExceeded):
        private.batch(epsilon=1.5).add(ask.count()).add(ask.sum("x")).release()
    assert spent(private) == 0.0
    batch = (
        private.batch(epsilon=1.0).add(ask.count(), weight=2).add(ask.sum("x"), weight=2).add(ask.mean("x"))
    )
    assert [one.price.epsilon for one in batch.preview()] == [0.4, 0.4, 0.2]
    assert spent(private) == 0.0
    assert [len(one.rows) for one in batch.release()] == [3, 3, 3]
    assert spent(private) == 1.0


def test_one_reading_of_the_table_for_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    private, seen = opened(), []
    run = type(private.engine).run

    def counted(self: Any, statement: Any) -> Any:
        seen.append(statement)
        return run(self, statement)

    monkeypatch.setattr(type(private.engine), "run", counted)
    ask = private.by("d")
    private.batch(epsilon=1.0).add(ask.count()).add(ask.sum("x")).add(ask.mean("y")).release()
    assert len(seen) == 1


@pytest.mark.parametrize("error", [1.0, 3.0, 30.0, 100.0])
def test_a_count_gets_the_least_epsilon_for_its_error(error: float) -> None:
    # P(|Z| > a) = 2 s^(a+1)/(1+s), s = e^-ε, from theory: the least ε has this equal to 5 %.
    epsilon = divided([QueryTemplate(COUNT, error=error)], policy_of())[0].epsilon

    def beyond(e: float) -> float:
        return 2 * math.exp(-e * (error + 1)) / (1 + math.exp(-e))

    assert beyond(epsilon) <= 0.05 < beyond(epsilon * (1 - 2e-5))


def test_wanted_errors_come_first_and_weights_share_the_rest() -> None:
    templates = [
        QueryTemplate(COUNT, error=30.0),
        QueryTemplate(SUM, weight=3.0),
        QueryTemplate({**SUM, "column": "y"}),
    ]
    first, second, third = divided(templates, policy_of(), epsilon=0.5)
    assert plan_query(first, policy_of()).errors[0] <= 30
    rest = Decimal("0.5") - Decimal(repr(first.epsilon))
    assert Decimal(repr(second.epsilon)) + Decimal(repr(third.epsilon)) <= rest
    assert second.epsilon == pytest.approx(3 * third.epsilon, rel=1e-9)


@pytest.mark.parametrize("weights", [[1.0, 1.0], [3.0, 0.5]])
def test_the_least_total_error_is_the_least(weights: list[float]) -> None:
    policy = policy_of()
    templates = [QueryTemplate(COUNT, weight=weights[0]), QueryTemplate(SUM, weight=weights[1])]
    best = [query.epsilon for query in divided(templates, policy, epsilon=1.0, objective="least total error")]

    # A count moves by 1 and the sum by 10: variances 2(Δ/ε)².
    def cost(first: float) -> float:
        return weights[0] * 2 / first**2 + weights[1] * 200 / (1 - first) ** 2

    grid = [i / 1000 for i in range(1, 1000)]
    assert cost(best[0]) <= min(map(cost, grid)) * (1 + 1e-9)
    equal = [query.epsilon for query in divided(templates, policy, epsilon=1.0, objective="equal errors")]
    assert weights[0] / equal[0] == pytest.approx(weights[1] * 10 / equal[1], rel=1e-3)


@pytest.mark.parametrize(
    ("templates", "options", "message"),
    [
        ([], {"epsilon": 1.0}, "at least one query"),
        ([QueryTemplate(COUNT)], {}, "weights share it out"),
        ([QueryTemplate(COUNT)], {"epsilon": 0.0}, "`epsilon` must be a positive"),
        ([QueryTemplate(COUNT)], {"epsilon": float("nan")}, "`epsilon` must be a positive"),
        ([QueryTemplate(COUNT)], {"epsilon": 1.0, "objective": "luck"}, "divided for one of"),
        ([QueryTemplate(COUNT, error=3.0)], {"epsilon": 0.1}, "cannot stay within 3.0"),
        ([QueryTemplate(COUNT, error=30.0)] * 2, {"epsilon": 0.15}, "need ε = 0.19"),
        (
            [QueryTemplate(COUNT), QueryTemplate(SUM, weight=1e-300)],
            {"epsilon": 1.0},
            "too small to be shared",
        ),
        ([QueryTemplate({**SUM, "column": "nobody"}, error=1.0)], {}, "not a column of the policy"),
    ],
)
def test_what_can_not_be_solved_is_refused(
    templates: list[QueryTemplate], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidQuery, match=message):
        divided(templates, policy_of(), **options)


@pytest.mark.parametrize(
    "claim", [{"weight": 0.0}, {"weight": -1.0}, {"weight": True}, {"error": float("inf")}]
)
def test_claims_are_positive_numbers(claim: dict[str, Any]) -> None:
    with pytest.raises(InvalidQuery, match="must be a positive finite number"):
        QueryTemplate(COUNT, **claim)
    with pytest.raises(InvalidQuery, match="not both"):
        QueryTemplate(COUNT, weight=1.0, error=1.0)


def test_delta_goes_to_what_has_private_keys() -> None:
    policy = load_policy(
        {
            "dataset": "t",
            "neighbours": "add-remove-one",
            "caps": {"epsilon": 9.0, "delta": 1e-3},
            "columns": {"c": {"keys": "private"}},
        }
    )
    templates = [
        QueryTemplate(COUNT),
        QueryTemplate({**COUNT, "by": "c"}),
        QueryTemplate({**COUNT, "by": ("c",), "name": "m"}),
    ]
    (refused,) = divided([QueryTemplate(COUNT)], policy, epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidQuery, match="only groups with private keys"):
        plan_query(refused, policy)
    assert [q.delta for q in divided(templates, policy, epsilon=3.0, delta=1e-6)] == [None, 5e-7, 5e-7]
