"""Balances and the odometer's reading leave with their certificate, of the chain as it was read."""

from __future__ import annotations

import pickle
import random
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from mpmath import mp, mpf

import leakcap_verify as verify
from certificate_mutants import changed, mutants, said, verdict
from certified_chains import (
    ADAPTIVE,
    COUNT,
    GRID,
    NORMAL,
    ORDERS,
    RESPONSE,
    asked,
    exact,
    holds,
    json_of,
    ledger,
    of,
    relinked,
    rows_of,
)
from leakcap.errors import LedgerError
from leakcap.ledger import Balance, Caps, Group, Ledger, Limits, OdometerReading, Slot, SlotPlan
from leakcap.ledger.unbegun import UnbegunLedger

CAPS = Caps(
    3.0, 1e-6, rho=1.0, queries=9, each_analyst=Limits(1.5, 1e-7), each_period=Limits(2.9, 1e-7),
    period="month", groups={"ward": Group(2.5, 1e-7, members=("ann", "bo"))},
)  # fmt: skip
CHARGES = [asked(0.1, "ann"), asked(0.2, "bo", delta=1e-8), of(COUNT, 0.1), asked(0.1, "ann")]
NAMES = ("epsilon", "delta", "nats_person", "nats_table", "nats_level", "rho")


def made() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Every balance of every account with its certificate, which is asked for after more was spent."""
    with ledger(CAPS, CHARGES) as book:
        found = [(account, one) for account in book.accounts() for one in account.balances]
        book.reserve([asked(0.3, "ann")])
        return {
            f"{account.scope} {account.name} {one.name}".replace("  ", " "): (
                account,
                json_of(one.certificate()),
            )
            for account, one in found
        }


MADE = made()


def truth(found: dict[str, Any]) -> mpf:
    """What the rows come to on the account of a problem in its currency, as it is held against its cap."""
    mp.dps = 40
    account, currency = found["problem"]["account"], found["problem"]["currency"]
    opened = verify.read(rows_of(found)[0]["shown"].encode())[0]["caps"]
    rows = [row for row in rows_of(found) if row["kind"] == "reserve" and on(account, row, opened)]
    if currency == "queries":
        return mpf(len(rows))
    amounts = [mp.inf if row[currency] is None else mpf(row[currency]) for row in rows]
    added = sum(amounts, mpf(0)) / mpf(10) ** 12
    kind, _, name = account.partition(" ")
    caps = {
        "everything": opened, "analyst": opened["each_analyst"], "period": opened["each_period"],
        "group": opened["groups"].get(name, {}),
    }[kind]  # fmt: skip
    if currency != "epsilon" or not caps.get("delta") or not rows:
        return added
    share = mpf(caps["delta"] - caps["delta"] // 2) / mpf(10) ** 12 / len(ADAPTIVE)
    curves = [[mpf(t) / mpf(10) ** 12 for t in row["curve"].split(",")] for row in rows]
    sums = [sum(column) for column in zip(*curves, strict=True)]

    def proved(order: str) -> mpf:
        a = exact(order)
        more = (mp.log(1 / share) + (a - 1) * mp.log(1 - 1 / a) - mp.log(a)) / (a - 1)
        return sums[ORDERS.index(order)] + max(more, mpf(0))

    return min(added, *map(proved, ADAPTIVE))


def on(account: str, row: dict[str, Any], caps: dict[str, Any]) -> bool:
    """Whether a row is charged on an account."""
    kind, _, name = account.partition(" ")
    members = caps["groups"].get(name, {}).get("members", ())
    return {
        "everything": True, "analyst": row["shown"] == name, "group": row["shown"] in members,
        "period": row["day"][:7] == name,
    }[kind]  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_a_balance_is_proved_of_the_chain_as_it_was_read(name: str) -> None:
    account, found = MADE[name]
    assert verdict(found) == "proved"
    nats = found["problem"]["currency"].startswith("nats")
    assert found["kind"] == ("balance-as-charged" if nats else "balance")
    assert len(rows_of(found)) == 1 + len(CHARGES)
    upper = mp.inf if found["claim"]["upper"] == "inf" else exact(found["claim"]["upper"])
    spent = {one.name: one.spent for one in account.balances}[found["problem"]["currency"]]
    assert truth(found) <= upper <= max(truth(found) * (1 + mpf("1e-9")), mpf("3e-12")) or upper == mp.inf
    assert mpf(spent) * (1 - mpf("1e-15")) <= upper
    if 0 < upper < mp.inf:
        less = changed(found, ("claim", "upper"), (float(upper) * (1 - 1e-6)).hex())
        assert verdict(less) == "not proved"


def too_much(found: dict[str, Any]) -> bool:
    """Of a certificate that was changed and is proved: whether its claim, or its chain, is not true."""
    high = mp.inf if found["claim"]["upper"] == "inf" else exact(found["claim"]["upper"])
    return exact(found["claim"]["lower"]) > 0 or high < truth(found) or not holds(found)


SOME = (
    "everything epsilon",
    "everything rho",
    "analyst ann epsilon",
    "group ward delta",
    "everything queries",
)


@pytest.mark.parametrize("name", SOME)
def test_no_mutant_that_claims_too_much_is_proved(name: str) -> None:
    every = list(mutants(MADE[name][1], tuple(verify.KINDS)))
    tried = [one for one in random.Random(18).sample(every, 120) if verdict(one) == "proved"]
    assert [one for one in tried if too_much(one)] == []


def test_no_account_is_made_up() -> None:
    """Of a name that rows do not show nothing would be spent, whatever was."""
    found = changed(MADE["everything epsilon"][1], ("claim", "upper"), "0")
    for account in ("Everything", "period 2026", "period 2026-W10", "group staff", "", "analyst"):
        assert verdict(changed(found, ("problem", "account"), account)) == "refused"
    other = changed(found, ("problem", "account"), f"analyst {'0' * 32}")
    assert verdict(other) == "proved"
    assert not any(row["shown"] == "0" * 32 for row in rows_of(other))


def test_a_currency_has_its_own_unit_and_no_other() -> None:
    found = MADE["everything rho"][1]
    for currency in NAMES:
        other = changed(found, ("problem", "currency"), currency)
        assert (verdict(other) == "refused") == (currency != "rho")
    nats = changed(changed(found, ("problem", "currency"), "nats_person"), ("claim", "unit"), "nats_person")
    told = said(nats)
    assert isinstance(told, verify.Verdict)
    assert (told.verdict, "as they were charged" in told.claim) == ("not proved", True)


def test_a_balance_passes_on_a_cap_that_was_passed() -> None:
    found = MADE["analyst ann epsilon"][1]
    passed = relinked(found, lambda rows: rows.extend([rows[1]] * 40))
    assert verdict(passed | {"claim": {"lower": "0", "upper": "inf", "unit": "epsilon"}}) == "refuted"


def test_the_reading_of_the_odometer_is_the_ledgers_certificate() -> None:
    with ledger(Caps(3.0, 1e-6), [of(NORMAL), of(GRID), of(RESPONSE, 0.45)]) as book:
        told, whole = book.odometer(1e-6), json_of(book.certificate(1e-6))
        book.reserve([asked(0.2)])
        found = json_of(told.certificate())
    assert found == whole
    assert (found["kind"], verdict(found)) == ("filter", "proved")
    assert found["claim"]["upper"] == told.epsilon.hex()


def test_what_no_chain_shows_is_stated() -> None:
    """A plan's balances, people's own caps, a period without a charge, accounts after an amendment."""
    assert OdometerReading(0.5, 1e-6).certificate()["kind"] == "stated"
    begun = UnbegunLedger("sqlite://", dataset="d", policy="ab", caps=Caps(1.0), plans=[])
    assert {one.certificate()["kind"] for one in begun.balances()} == {"stated"}
    caps = Caps(9.0, each_person=(1.0, 2.0))
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps) as book:
        kinds = {account.scope: account.balances[0].certificate()["kind"] for account in book.accounts()}
    assert kinds == {"everything": "balance", "people with a cap of": "stated"}
    caps = Caps(9.0, each_period=Limits(1.0), period="day")
    with Ledger.open("sqlite://", dataset="d", policy="ab12cd34", caps=caps) as book:
        (_, today) = book.accounts()
        assert today.balances[0].certificate()["kind"] == "stated"


def test_a_copy_in_another_process_is_stated() -> None:
    """Balances and readings go where they went before: into pickles, and into dictionaries."""
    with ledger(CAPS, CHARGES) as book:
        for told in (book.balances()[0], book.odometer(1e-6)):
            again = pickle.loads(pickle.dumps(told))
            assert again == told
            assert again.certificate()["kind"] == "stated"
            assert {name: value for name, value in asdict(told).items() if name != "proved"} == {
                name: value for name, value in asdict(again).items() if name != "proved"
            }


def test_a_reading_of_a_plan_and_of_a_ledger_that_was_edited(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    caps = Caps(9.0, 1e-5, delta_of_answers=1e-5)
    with Ledger.open(url, dataset="d", policy="ab12cd34", caps=caps) as book:
        book.plan(SlotPlan("year", [Slot("monthly", 12, epsilon=0.2)], delta=1e-6))
        told: Balance = book.balances()[0]
    found = json_of(told.certificate())
    assert (found["kind"], verdict(found)) == ("balance", "proved")
    assert Fraction(float.fromhex(found["claim"]["upper"])) >= Fraction(rows_of(found)[1]["epsilon"], 10**12)
    with Ledger.open(url, dataset="d", policy="ab12cd34", caps=caps) as book:
        with book._database.writing() as connection:
            connection.exec_driver_sql("UPDATE leakcap_event SET epsilon = 1 WHERE seq = 2")
        with pytest.raises(LedgerError, match=r"Row 2 .* was edited"):
            told.certificate()
