"""A ledger's certificate: hashes, sums, ε and caps computed again; no chain that was touched is proved."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from mpmath import mpf

import leakcap_verify as verify
from certificate_mutants import alternatives, changed, mutants, said, verdict
from certified_chains import (
    AT_MOST,
    BOTH,
    COUNT,
    EXPONENTIAL,
    GRID,
    NARROW,
    NORMAL,
    RESPONSE,
    SAMPLED,
    SUM,
    Rows,
    asked,
    certificate,
    divergence,
    epsilon,
    epsilon_of_coins,
    exact,
    holds,
    json_of,
    ledger,
    of,
    relinked,
    rows_of,
    written,
)
from certified_chains import ORDERS as CHAIN_ORDERS
from leakcap.accounting import PrivacyLoss
from leakcap.errors import InvalidParameter, LedgerError
from leakcap.ledger import Caps, Charge, Group, Ledger, Limits, PlannedDescent, Slot, SlotPlan, Spend
from leakcap.ledger.amending import Proposed
from leakcap.ledger.chain import text_hash
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.measured import event_epsilon, guarantee, priced_by_checker
from leakcap.ledger.values import event_text
from leakcap.mechanism import Gaussian

CAPS: dict[str, tuple[Caps, Sequence[Charge]]] = {
    "ε added up": (Caps(0.9, nats_person=0.05, queries=3), [asked(0.1), of(COUNT, 0.1), of(BOTH, 0.4)]),
    "all together": (Caps(2.5, 1e-6), [of(COUNT, 0.1)] * 12 + [of(NORMAL)] * 2),
    "one order": (Caps(1.3, 1e-6, order=14), [of(GRID)] * 9),
    "with a δ of their own": (Caps(2.0, 1e-6, delta_of_answers=3e-7), [asked(0.2, delta=1e-7)] * 3),
    "ρ": (Caps(rho=0.02), [of(GRID), of(COUNT, 0.1)]),
    "other noise": (
        Caps(2.5, 1e-6),
        [of(SAMPLED), of(RESPONSE, 0.441833), of(EXPONENTIAL, 0.1), of(AT_MOST, 0.3)],
    ),
    "each analyst": (Caps(1.0, each_analyst=Limits(0.2)), [asked(0.1, name) for name in ("a", "b", "a")]),
    "a group": (
        Caps(1.0, groups={"ward": Group(0.3, members=("a", "b"))}),
        [asked(0.1, name) for name in ("a", "b", "c", "a")],
    ),
    "each month": (Caps(1.0, each_period=Limits(0.3), period="month"), [asked(0.1)] * 3),
    "each week": (Caps(1.0, each_period=Limits(0.3), period="week"), [asked(0.1)] * 3),
}
FOUND = {name: certificate(*given) for name, given in CAPS.items()}


@pytest.mark.parametrize("name", CAPS)
def test_a_ledger_is_proved_and_its_claim_is_true(name: str) -> None:
    found = FOUND[name]
    assert (found["kind"], found["problem"]["accounts"], verdict(found)) == ("filter", "all", "proved")
    truth, upper = epsilon(found), exact(found["claim"]["upper"])
    assert truth <= upper <= truth * (1 + mpf("1e-9")) + mpf("3e-12")
    below = changed(found, ("claim", "upper"), (float(truth) * (1 - 1e-6)).hex())
    assert verdict(below) == "not proved"


def claims_too_much(found: dict[str, Any]) -> bool:
    """Of a certificate that was changed and is proved: whether its claim, or its chain, is not true."""
    low, high = (
        exact(found["claim"][end]) if found["claim"][end] != "inf" else mpf("inf")
        for end in ("lower", "upper")
    )
    delta = sum((Fraction(row["delta"], 10**12) for row in rows_of(found)), Fraction(0))
    small = exact(found["problem"]["delta_of_answers"]) < mpf(delta.numerator) / delta.denominator
    return low > 0 or high < epsilon(found) or not holds(found) or small


def test_no_mutant_that_claims_too_much_is_proved() -> None:
    """Some of the fields and digits of two ledgers; `benchmarks/verify.py` takes all."""
    for name in ("ε added up", "with a δ of their own"):
        every = list(mutants(FOUND[name], tuple(verify.KINDS)))
        some = random.Random(18).sample(every, 250)
        proved = [one for one in some if verdict(one) == "proved"]
        assert len(proved) < len(some)
        assert [one for one in proved if claims_too_much(one)] == []


CLAIM = ("claim", "upper")


def test_the_mutants_are_held_against_the_truth() -> None:
    """Planted: a checker that believes the claim, and one that does not look at the chain."""
    found = FOUND["ε added up"]
    assert claims_too_much(changed(found, CLAIM, "1/10"))
    assert claims_too_much(changed(found, ("problem", "head"), "0" * 64))


def lowered(rows: Rows, column: str, place: int = 2) -> None:
    """A tenth less in one amount, or at all orders."""
    row = rows[place]
    if column == "curve":
        row["curve"] = ",".join(str(int(t) * 9 // 10) for t in row["curve"].split(","))
    else:
        row[column] = row[column] * 9 // 10


TOUCHED: dict[str, Callable[[Rows], Any]] = {
    "a row dropped": lambda rows: rows.pop(2),
    "the last row dropped": lambda rows: rows.pop(),
    "two rows swapped": lambda rows: rows.insert(1, rows.pop(2)),
    "a row twice": lambda rows: rows.append(rows[-1]),
    "a tick less": lambda rows: rows[2].update(epsilon=rows[2]["epsilon"] - 1),
    "a cap raised": lambda rows: rows[0].update(
        shown=rows[0]["shown"].replace("900000000000", "990000000000")
    ),
    "another rest": lambda rows: rows[1].update(rest="0" * 64),
    "another day": lambda rows: rows[1].update(day="2020-01-01"),
    "another analyst": lambda rows: rows[1].update(shown="0" * 32),
}


@pytest.mark.parametrize("name", TOUCHED)
def test_a_chain_that_was_linked_anew_has_another_head(name: str) -> None:
    """Whoever has the source can hash all rows again, and meets a head that was published before."""
    found = FOUND["ε added up"]
    other = relinked(found, TOUCHED[name])
    assert other["problem"]["head"] != found["problem"]["head"]
    published = changed(other, ("problem", "head"), found["problem"]["head"])
    assert said(published) == "`head` is not the last row's hash"
    unlinked = changed(found, ("witness", "rows"), [json.dumps(row) for row in rows_of(other)])
    assert verdict(unlinked) not in ("proved", "refuted", "not proved")


def test_the_head_of_another_ledger_is_refused() -> None:
    other = certificate(*CAPS["ε added up"])
    assert "head" in str(said(changed(other, ("problem", "head"), FOUND["ε added up"]["problem"]["head"])))


@pytest.mark.parametrize("column", ["epsilon", "curve", "rho"])
def test_a_charge_below_its_event_is_not_proved(column: str) -> None:
    """Though all hashes are good: in `filter-as-charged` it is what stands there."""
    found = relinked(FOUND["ε added up"], lambda rows: lowered(rows, column))
    told = said(found)
    assert isinstance(told, verify.Verdict)
    assert told.verdict == "not proved"
    assert f"row 3: `{column}` may be less than its event's" in told.claim
    as_charged = found | {"kind": "filter-as-charged", "formula": verify.FORMULAS["filter-as-charged"]}
    assert verdict(as_charged) == "proved"


PASSED: dict[str, tuple[str, Callable[[Rows], Any], str]] = {
    "ε": ("ε added up", lambda rows: rows.append(rows[3]), "`epsilon` of everything"),
    "queries": ("ε added up", lambda rows: rows.append(rows[1]), "`queries` of everything"),
    "nats": ("ε added up", lambda rows: rows[1].update(nats_person=2 * 10**10), "`nats_person` of every"),
    "no bound": ("ε added up", lambda rows: rows[1].update(nats_person=None), "`nats_person` of everything"),
    "a δ": ("ε added up", lambda rows: rows[1].update(delta=1), "`delta` of everything"),
    "all together": ("all together", lambda rows: rows.extend([rows[1]] * 20), "`epsilon` of everything"),
    "one order": ("one order", lambda rows: rows.extend([rows[1]] * 9), "`epsilon` of everything"),
    "their own δ": (
        "with a δ of their own", lambda rows: rows.append(rows[1]), "`delta` of everything",
    ),
    "ρ": ("ρ", lambda rows: rows.extend([rows[1]] * 9), "`rho` of everything"),
    "an analyst": ("each analyst", lambda rows: rows.append(rows[1]), "`epsilon` of analyst "),
    "a group": ("a group", lambda rows: rows.append(rows[1]), "`epsilon` of group "),
    "a month": ("each month", lambda rows: rows.append(rows[1]), "`epsilon` of period 20"),
    "a week": ("each week", lambda rows: rows.append(rows[1]), "`epsilon` of period 20"),
}  # fmt: skip


@pytest.mark.parametrize("name", PASSED)
def test_a_passed_cap_refutes_by_its_row_and_name(name: str) -> None:
    base, change, cap = PASSED[name]
    found = relinked(FOUND[base], change)
    as_charged = found | {"kind": "filter-as-charged", "formula": verify.FORMULAS["filter-as-charged"]}
    as_charged["claim"] = {"lower": "0", "upper": "inf", "unit": "nats"}
    told = said(as_charged)
    assert isinstance(told, verify.Verdict)
    assert told.verdict == "refuted"
    assert f"passes the cap {cap}" in told.claim


def test_caps_to_the_brim_are_proved() -> None:
    """Nine tenths under a cap of nine, which is a cap that a tick more would pass."""
    found = certificate(Caps(0.9), [asked(0.1)] * 9)
    assert verdict(found) == "proved"
    assert verdict(relinked(found, lambda rows: rows[9].update(epsilon=100_000_000_001))) == "refuted"


POLICY = json.dumps(
    {"dataset": "d", "unit": {"id": "p"}, "neighbours": "add-remove-one", "caps": {}, "columns": {}}
    | {"tables": {}},
    sort_keys=True, separators=(",", ":"),
)  # fmt: skip
OTHER = POLICY.replace('"columns":{}', '"columns":{"x":{}}')


def amended() -> dict[str, Any]:
    with Ledger.open("sqlite://", dataset="d", policy=text_hash(POLICY), text=POLICY, caps=Caps(0.9)) as book:
        book.reserve([asked(0.4)])
        after = book.amend(Proposed(OTHER, Caps(0.2), "less"))
        return json_of(after.certificate(1e-6))


def test_an_amendment_carries_over_what_was_spent() -> None:
    """A cap below it is none that a spend passed; one that carries less over is refused."""
    found = amended()
    assert (found["problem"]["accounts"], verdict(found)) == ("everything", "proved")
    # Under another relation what was spent may count double: no event shows that.
    assert found["kind"] == "filter-as-charged"
    assert float.fromhex(found["claim"]["upper"]) >= 0.4
    assert "carries over less" in str(said(relinked(found, lambda rows: lowered(rows, "epsilon"))))
    spent = relinked(found, lambda rows: rows.append(rows[1]))
    told = said(spent)
    assert isinstance(told, verify.Verdict)
    assert (told.verdict, "row 4 passes the cap `epsilon`" in told.claim) == ("refuted", True)
    assert "not shown" in str(said(changed(found, ("problem", "accounts"), "all")))


def test_what_the_checker_cannot_price_is_as_charged() -> None:
    """Sampled Laplace noise, and a plan of Gaussian noise: the charges stand, and the kind says so."""
    with ledger(Caps(5.0, 1e-6), [of(NARROW)]) as book:
        sampled = json_of(book.certificate())
    planned = of_a_plan(Slot("monthly", 12, rho=0.002), [])
    for found, why in (
        (sampled, "no certificate"),
        (planned, "row 2: `epsilon` may be less"),
    ):
        assert (found["kind"], verdict(found)) == ("filter-as-charged", "proved")
        told = said(found | {"kind": "filter", "formula": verify.FORMULAS["filter"]})
        assert (why if isinstance(told, verify.Verdict) else "no certificate") == why
        assert isinstance(told, str) or (told.verdict == "not proved" and why in told.claim)


def of_a_plan(slot: Slot, charges: Sequence[Charge], delta: float = 1e-6) -> dict[str, Any]:
    """The certificate of a ledger that paid for one slot, and of answers from it."""
    return of_plan([slot], [replace(charge, slot=slot.name) for charge in charges], delta)


def of_plan(slots: Sequence[Slot], charges: Sequence[Charge], delta: float = 1e-6) -> dict[str, Any]:
    with ledger(Caps(50.0, 1e-5, delta_of_answers=1e-5), []) as book:
        book.plan(SlotPlan("year", slots, delta=delta))
        for charge in charges:
            book.reserve([charge])
        return json_of(book.certificate())


FINE = '{"name":"DiscreteLaplaceDpEvent","noise_parameter":"1/10000","sensitivity":1000}'
PLANS = {
    "any answers": lambda: of_a_plan(Slot("monthly", 12, epsilon=0.2), [asked(0.2), of(COUNT, 0.1)]),
    "any answers, without a δ": lambda: of_a_plan(Slot("monthly", 12, epsilon=0.2), [asked(0.2)], 0.0),
    "Laplace noise": lambda: of_a_plan(Slot("daily", 1000, epsilon=0.1, noise="laplace"), [of(FINE, 0.1)]),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_of_one_kind_of_answer_is_priced(name: str) -> None:
    """Composed; an answer that its slot does not cover is not proved, nor is one answer too many."""
    found = PLANS[name]()
    assert (found["kind"], verdict(found)) == ("filter", "proved")
    assert claimed(found) >= epsilon_of_plan(rows_of(found)[1]) * (1 - mpf("1e-12"))
    for less in (1 - 1e-6, 1 - 1e-4):
        assert verdict(relinked(found, lambda rows: cheaper(rows[1], less))) == "not proved"  # noqa: B023
    more = '{"delta":"0","epsilon":"201/1000","name":"EpsilonDeltaDpEvent"}'
    dear = of(more, 0.201).spend.ticks(None)
    row = {"epsilon": dear.epsilon, "curve": ",".join(map(str, dear.curve)), "event": more, "rho": dear.rho}
    told = said(relinked(found, lambda rows: rows[2].update(row)))
    assert isinstance(told, verify.Verdict)
    assert (told.verdict, "row 3 may be more than its slot has" in told.claim) == ("not proved", True)
    used = len(rows_of(found)) - 2
    room = json.loads(rows_of(found)[1]["event"])["count"] - used
    if room < 100:
        full = relinked(found, lambda rows: rows.extend([rows[2]] * room))
        assert verdict(full) == "proved"
        assert "no plan had" in str(said(relinked(full, lambda rows: rows.append(rows[2]))))


def descent(noise: str, rate: str, count: int) -> str:
    one = {"name": "GaussianDpEvent", "noise_multiplier": noise}
    sample = {"name": "PoissonSampledDpEvent", "sampling_probability": rate, "event": one}
    return event_text({"name": "SelfComposedDpEvent", "event": sample, "count": count})


def dearer(event: str, epsilon: float = math.inf) -> Callable[[Rows], None]:
    """The last row's answer in another's place, which is charged what it tells."""
    ticks = of(event, epsilon).spend.ticks(None)
    curve = ",".join("" if one is None else str(one) for one in ticks.curve)
    return lambda rows: rows[-1].update(epsilon=ticks.epsilon, curve=curve, rho=ticks.rho, event=event)


def is_too_much(found: dict[str, Any], change: Callable[[Rows], None]) -> bool:
    told = said(relinked(found, change))
    assert isinstance(told, verify.Verdict)
    return told.verdict == "not proved" and "may be more than its slot has" in told.claim


def test_a_plan_of_descents_is_priced() -> None:
    """What is quieter, rarer and shorter comes from a slot; by a little louder, more often or longer not."""
    slot = Slot("trainings", 3, descent=PlannedDescent(2.0, "1/10", 8))
    found = of_a_plan(slot, [of(descent("2", "1/10", 8)), of(descent("3", "1/20", 4))])
    assert (found["kind"], verdict(found)) == ("filter", "proved")
    assert verdict(relinked(found, dearer(descent("2", "1/10", 8)))) == "proved"
    for more in (("1999/1000", "1/10", 8), ("2", "101/1000", 8), ("2", "1/10", 9)):
        assert is_too_much(found, dearer(descent(*more)))
    assert is_too_much(found, dearer(NORMAL))
    # Of one whose loss somebody joining has where others have that of somebody leaving no kernel makes it.
    turned = json.dumps({"event": json.loads(descent("3", "1/20", 4)), "name": "ReversedDpEvent"})
    assert is_too_much(found, lambda rows: rows[-1].update(event=turned))
    truth = PrivacyLoss.of_mechanism(Gaussian(2.0)).sampled(0.1) ** 24
    assert Fraction(rows_of(found)[1]["epsilon"], 10**12) >= truth.epsilon_both(1e-6).lower
    assert verdict(relinked(found, lambda rows: cheaper(rows[1], 1 - 1e-3))) == "not proved"


def test_each_answer_is_counted_on_a_slot_of_its_own() -> None:
    slots = [Slot("small", 2, epsilon=0.1), Slot("large", 1, epsilon=0.3),
             Slot("training", 1, descent=PlannedDescent(2.0, "1/10", 100))]  # fmt: skip
    answers = [("large", asked(0.3)), ("training", of(descent("2", "1/10", 100))), ("small", asked(0.1))]
    found = of_plan(slots, [replace(charge, slot=name) for name, charge in answers])
    assert (found["kind"], verdict(found)) == ("filter", "proved")
    assert verdict(relinked(found, lambda rows: rows.extend([rows[4]]))) == "proved"
    assert is_too_much(found, lambda rows: rows.extend([rows[2]]))
    assert is_too_much(found, lambda rows: rows.extend([rows[3]]))


def claimed(found: dict[str, Any]) -> mpf:
    return exact(found["claim"]["upper"])


def cheaper(row: dict[str, Any], share: float) -> None:
    row["epsilon"] = int(row["epsilon"] * share)


def epsilon_of_plan(row: dict[str, Any]) -> mpf:
    """The ε of so many coins at the row's δ, by mpmath; of Laplace noise the sum of half of all, at least."""
    event = json.loads(row["event"])
    count, delta = event["count"], mpf(row["delta"]) / mpf(10) ** 12
    if event["event"]["name"] == "LaplaceDpEvent":
        return mpf(0)
    one = exact(event["event"]["epsilon"])
    return epsilon_of_coins(count, one, delta)


def test_a_charge_with_a_delta_is_held_against_its_composition() -> None:
    """A descent's ε at a δ, along a line for each direction; a millionth less is not proved."""
    steps = f'{{"count":1000,"event":{SAMPLED.replace("25/2", "11/10")},"name":"SelfComposedDpEvent"}}'
    epsilon = event_epsilon(steps, Fraction(1, 10**6))
    charge = of(steps, epsilon, delta=1e-6)
    with ledger(Caps(9.0, 1e-5, delta_of_answers=1e-5), [charge]) as book:
        found = json_of(book.certificate(1e-6))
    assert (found["kind"], list(found["witness"]["lines"]), verdict(found)) == ("filter", ["2"], "proved")
    truth = PrivacyLoss.of_mechanism(Gaussian(1.1)).sampled(0.01) ** 1000
    assert epsilon >= truth.epsilon_both(1e-6).lower
    told = said(relinked(found, lambda rows: cheaper(rows[1], 1 - 1e-3)))
    assert isinstance(told, verify.Verdict)
    assert (told.verdict, "`epsilon` may be less" in told.claim) == ("not proved", True)
    for column, share in (("rho", 1 - 1e-6), ("delta", 0.9)):
        told = said(relinked(found, lambda rows: rows[1].update({column: int(rows[1][column] * share)})))  # noqa: B023
        assert isinstance(told, verify.Verdict)
        assert (told.verdict, "may be less than its event's" in told.claim) == ("not proved", True)
    both = found["witness"]["lines"]["2"]
    for lines in ({}, {"2": []}, {"2": both[:1]}, {"3": both}, {"2": [{**one, "side": 0} for one in both]}):
        assert verdict(changed(found, ("witness", "lines"), lines)) in ("not proved", "refused")


def test_more_lines_than_a_checker_takes_are_not_written() -> None:
    """65 charges that each need lines: they stand as they were charged."""
    steps = f'{{"count":1000,"event":{SAMPLED},"name":"SelfComposedDpEvent"}}'
    charge = of(steps, event_epsilon(steps, Fraction(1, 10**6)), delta=1e-6)
    with ledger(Caps(500.0, 1e-3, delta_of_answers=9e-4), [charge] * 65) as book:
        found = json_of(book.certificate(1e-6))
    assert (found["kind"], found["witness"]["lines"], verdict(found)) == ("filter-as-charged", {}, "proved")
    assert "64 rows" in str(said(changed(found, ("witness", "lines"), {str(k): [] for k in range(65)})))


PRICED = {
    "randomised response": RESPONSE, "sampled": SAMPLED, "Laplace": EXPONENTIAL, "bounded": AT_MOST,
    "a count": COUNT, "a sum": SUM, "several": BOTH, "Gaussian": NORMAL,
    "pure": '{"delta":"0","epsilon":"3/2","name":"EpsilonDeltaDpEvent"}',
}  # fmt: skip


@pytest.mark.parametrize("name", PRICED)
@pytest.mark.parametrize("order", [1.0, 1.25, 3.5, 20.0])
def test_a_price_is_the_divergence_by_its_definition(name: str, order: float) -> None:
    event = PRICED[name]
    if not priced_by_checker(json.loads(event), order):
        assert order == 1.0
        return
    truth = divergence(json.loads(event), mpf(order))
    problem = {"event": json.loads(event), "order": str(Fraction(str(order)))}
    claim = {"lower": "0", "upper": "0", "unit": "nats"}
    found = {
        "schema": verify.SCHEMA, "kind": "price", "evidence": "proved", "claim": claim, "problem": problem,
        "witness": {}, "formula": verify.FORMULAS["price"], "source": "",
    }  # fmt: skip
    for share, expected in ((1 + 1e-9, "proved"), (1 - 1e-9, "not proved")):
        assert verdict(changed(found, CLAIM, (float(truth) * share).hex())) == expected


@pytest.mark.parametrize("name", PRICED)
def test_no_event_that_tells_more_than_its_charge_is_proved(name: str) -> None:
    """Digits of its text are changed while the charge stays: what is proved then has no larger divergence."""
    text = PRICED[name]
    pure = guarantee(text).epsilon
    with ledger(Caps(9.0, 1e-6), [of(text, float("inf") if pure is None else float(pure) + 1e-9)]) as book:
        found = json_of(book.certificate(1e-6))
    digits = [place for place, sign in enumerate(text) if sign.isdigit()]
    every = [
        text[:place] + other + text[place + 1 :]
        for place in digits
        for other in alternatives(text[place])
        if other.isdigit()
    ]
    few = 5 if name in ("sampled", "several", "bounded") else 16
    proved = 0
    for mutant in random.Random(18).sample(every, min(few, len(every))):
        other = relinked(found, lambda rows, mutant=mutant: rows[1].update(event=mutant))
        if verdict(other) == "proved":
            proved += 1
            curve = [int(t) for t in rows_of(other)[1]["curve"].split(",")]
            for order in ("2", "8"):
                truth = divergence(json.loads(mutant), exact(order))
                assert truth <= mpf(curve[CHAIN_ORDERS.index(order)]) / mpf(10) ** 12
    assert proved < few


def test_a_spend_has_a_certificate_at_each_order() -> None:
    """ε by itself, a curve where there is no ε; one that no checker prices is stated."""
    spend = of(BOTH, 0.4).spend
    for order in (*ORDERS, float("inf")):
        assert verdict(json_of(spend.certificate(order))) == "proved"
    assert spend.certificate()["problem"]["order"] == "inf"
    assert of(NORMAL).spend.certificate()["problem"]["order"] == "2"
    assert spend.certificate(2.6)["kind"] == of(NARROW).spend.certificate()["kind"] == "stated"
    # Their Kullback–Leibler divergence the checker does not compute.
    for event in (SAMPLED, RESPONSE):
        assert verdict(json_of(of(event).spend.certificate(2.0))) == "proved"
        assert of(event).spend.certificate(1.0)["kind"] == "stated"
    less = Spend(0.3, curve=spend.curve, event=BOTH).certificate()
    assert verdict(json_of(less)) == "not proved"


def test_nothing_is_shown_of_questions_answers_and_names() -> None:
    """Two like charges have other digests, unsalted guesses meet none, and no two ledgers share names."""
    seen = []
    for _ in range(2):
        with ledger(Caps(0.9, analysts={"Dr. Ng": Limits(0.5)}), []) as book:
            for _ in range(2):
                (entry,) = book.reserve([asked(0.1, "Dr. Ng")], data="file 7")
                book.mark_released([entry.id], answers={entry.id: [[4711_4711_4711_4711]]})
            found = json_of(book.certificate())
            with book._database.reading() as connection:
                kept = [
                    dict(row) for row in connection.exec_driver_sql("SELECT * FROM leakcap_event").mappings()
                ]
        text = json.dumps(found)
        assert not any(
            word in text for word in ("Dr. Ng", "count where ill", "4711471147114711", "file 7", book.url)
        )
        rows = rows_of(found)
        assert len({row["rest"] for row in rows}) == len(rows) == 5
        for row, shown in zip(kept, rows, strict=True):
            rest = {
                name: row[name]
                for name in row
                if name not in shown and name not in ("hash", "format", "salt")
            }
            guess = hashlib.sha256(
                json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
            ).hexdigest()
            salted = {**rest, "salt": row["salt"]}
            opened = hashlib.sha256(
                json.dumps(salted, sort_keys=True, separators=(",", ":")).encode()
            ).hexdigest()
            assert guess != shown["rest"] == opened
        assert rows[1]["shown"] == rows[3]["shown"]
        seen.append(rows[1]["shown"])
    assert seen[0] != seen[1]


def test_what_a_certificate_cannot_be_made_of_is_refused() -> None:
    with ledger(Caps(), [asked(0.1)]) as book:
        for delta in (0.0, 1.0, float("nan"), 1e-13):
            with pytest.raises(InvalidParameter, match="`delta` of `odometer`"):
                book.certificate(delta)
        with book._database.writing() as connection:
            connection.exec_driver_sql("UPDATE leakcap_event SET epsilon = 1 WHERE seq = 2")
        with pytest.raises(LedgerError, match=r"Row 2 .* was edited"):
            book.certificate()


ROWS = ("witness", "rows")


def hostile() -> dict[str, dict[str, Any]]:
    found = FOUND["ε added up"]
    rows = found["witness"]["rows"]
    deep = '{"name":"SelfComposedDpEvent","count":2,"event":' * 400 + COUNT + "}" * 400
    return {
        "no rows": changed(found, ROWS, []),
        "rows of numbers": changed(found, ROWS, [1, 2]),
        "a row that is no JSON": changed(found, ROWS, [rows[0], rows[1][:50]]),
        "a row with NaN": changed(found, ROWS, [rows[0].replace(":0,", ":NaN,", 1)]),
        "a decimal": changed(found, ROWS, [rows[0].replace(":0,", ":0.5,", 1)]),
        "half a sign": changed(found, ROWS, ["\ud800"]),
        "a name twice": changed(found, ROWS, [rows[0][:-1] + ',"seq":1}']),
        "an event that is very deep": relinked(found, lambda rows: rows[1].update(event=deep)),
        "an event of nothing": relinked(found, lambda rows: rows[1].update(event='{"name":[]}')),
        "an event that divides by zero": relinked(
            found, lambda rows: rows[1].update(event='{"name":"GaussianDpEvent","noise_multiplier":"0"}')
        ),
        "a negative amount": relinked(found, lambda rows: rows[1].update(epsilon=-1)),
        "a short curve": relinked(found, lambda rows: rows[1].update(curve="1,2")),
        "caps that are none": relinked(found, lambda rows: rows[0].update(shown='{"caps":[]}')),
        "caps in words": relinked(found, lambda rows: rows[0].update(shown='{"caps":{"epsilon":"much"}}')),
        "another format": relinked(found, lambda rows: rows[1].update(format=5)),
        "a second beginning": relinked(found, lambda rows: rows[1].update(kind="open")),
        "a δ of nothing": changed(found, ("problem", "delta"), "0"),
        "accounts of some": changed(found, ("problem", "accounts"), "some"),
    }


HOSTILE = hostile()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_chains_are_refused(name: str) -> None:
    told = said(HOSTILE[name])
    assert isinstance(told, str) or told.verdict == "not proved", told
    assert len(told) < 200


def test_a_chain_of_sums_that_are_believed_would_be_seen() -> None:
    """Planted: a second route that adds no more than ε up misses what curves prove, and is told apart."""
    found = FOUND["all together"]
    sums = sum(Fraction(row["epsilon"] or 0, 10**12) for row in rows_of(found) if row["kind"] == "reserve")
    assert epsilon(found) > 0
    assert abs(epsilon(found) - mpf(sums.numerator) / sums.denominator) > 0.1
    assert written(found, rows_of(found))["problem"]["head"] == found["problem"]["head"]
