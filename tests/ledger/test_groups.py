"""Caps on what the members of a group were told together: no name, amendment or repeat gets round them."""

from __future__ import annotations

import json
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from command_line import leakcap
from leakcap.errors import BudgetExceeded, InvalidParameter, InvalidPolicy, LedgerError
from leakcap.ledger import (
    Caps,
    Charge,
    Group,
    Ledger,
    Limits,
    Proposed,
    Slot,
    SlotPlan,
    Spend,
    answer_once,
)
from leakcap.ledger.sums import RunningSums
from leakcap.policy import Policy
from leakcap.release import load_policy

WARD = Caps(epsilon=9.0, groups={"ward": Group(epsilon=0.3, members=("ann", "bo"))})


def memory(caps: Caps = WARD) -> Ledger:
    return Ledger.open("sqlite://", dataset="d", policy="0" * 8, caps=caps)


def asks(*analysts: str, epsilon: float = 0.1, **options: Any) -> list[Charge]:
    return [Charge("q", "count", Spend(epsilon=epsilon), analyst, **options) for analyst in analysts]


def spent(ledger: Ledger, scope: str = "group") -> dict[str, float]:
    return {one.name: one.balances[0].spent for one in ledger.accounts() if one.scope == scope}


def test_members_share_one_account_and_others_have_none_in_it() -> None:
    with memory() as ledger:
        ledger.reserve(asks("ann", "bo", "cy"))
        assert spent(ledger) == {"ward": 0.2}
        with pytest.raises(
            BudgetExceeded, match=r"`epsilon` cap of group `ward` .* 0\.1 left of 0\.3, 0\.2"
        ) as error:
            ledger.reserve(asks("bo", "ann"))
        assert (error.value.group, error.value.analyst, error.value.left) == ("ward", None, 0.1)
        assert [one.group for one in error.value.passed] == ["ward"]
        ledger.reserve(asks("cy", epsilon=5.0))
        ledger.reserve(asks("ann"))
        for who in ("ann", "bo"):
            with pytest.raises(BudgetExceeded, match="group `ward`"):
                ledger.check(asks(who))
        ledger.verify()


def test_every_cap_of_every_group_of_an_analyst_holds_and_all_are_named() -> None:
    caps = Caps(
        epsilon=9.0,
        each_analyst=Limits(epsilon=0.2),
        groups={
            "ward": Group(epsilon=0.3, members=("ann", "bo")),
            "office": Group(queries=1, members=("bo", "cy")),
        },
    )
    with memory(caps) as ledger:
        ledger.reserve(asks("bo"))
        with pytest.raises(BudgetExceeded) as error:
            ledger.reserve(asks("bo", epsilon=0.3))
        assert [(one.cap, one.group, one.analyst) for one in error.value.passed] == [
            ("queries", "office", None),
            ("epsilon", "ward", None),
            ("epsilon", None, "bo"),
        ]
        assert ledger.totals().entries == 1
        assert spent(ledger) == {"office": 0.1, "ward": 0.1}
        ledger.verify()


def test_names_are_compared_as_they_are_and_the_empty_one_is_one() -> None:
    composed, apart = (unicodedata.normalize(form, "André") for form in ("NFC", "NFD"))
    caps = Caps(9.0, groups={"g": Group(epsilon=0.2, members=(composed, ""))})
    with memory(caps) as ledger:
        ledger.reserve(asks(apart, "andré", f"{composed} ", "Andre"))
        assert spent(ledger) == {"g": 0.0}
        ledger.reserve(asks(composed, ""))
        assert spent(ledger) == {"g": 0.2}
        with pytest.raises(BudgetExceeded, match="group `g`"):
            ledger.reserve(asks(""))


def test_answers_from_a_slot_count_for_what_they_tell() -> None:
    caps = Caps(3.0, 1e-6, delta_of_answers=1e-6, groups={"g": Group(epsilon=0.3, members=("ann", "bo"))})
    with memory(caps) as ledger:
        ledger.plan(SlotPlan("year", [Slot("monthly", 12, epsilon=0.2)], delta=1e-6))
        assert spent(ledger) == {"g": 0.0}
        ledger.reserve(asks("ann", epsilon=0.2, slot="monthly"))
        assert spent(ledger) == {"g": 0.2}
        with pytest.raises(BudgetExceeded, match="group `g`"):
            ledger.reserve(asks("bo", epsilon=0.2, slot="monthly"))
        ledger.verify()


def test_nobody_is_told_for_free_what_another_account_paid_for() -> None:
    with memory() as ledger:

        def drawn(places: Any, paid_before: bool) -> Any:
            return lambda entries: [("", [[one.id]]) for one in entries]

        for who, entry in (("cy", 1), ("ann", 2), ("bo", 3), ("ann", 2), ("cy", 1)):
            (paid,) = answer_once(ledger, asks(who), drawn, data="t", analyst=who)
            assert paid.answer.entry == entry
        assert spent(ledger) == {"ward": 0.2}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("UPDATE leakcap_account SET epsilon = 0 WHERE scope = 'group'", "account of group `ward`"),
        ("DELETE FROM leakcap_account WHERE scope = 'group'", "account of group `ward`"),
    ],
)
def test_an_edited_account_is_found(opened: Any, sql: Any, change: str, why: str) -> None:
    ledger = opened(WARD)
    ledger.reserve(asks("ann"))
    sql(change)
    with pytest.raises(LedgerError, match=why):
        ledger.reserve(asks("bo"))
    with pytest.raises(LedgerError, match="do not add up"):
        ledger.verify()


@pytest.mark.parametrize(
    "wrong",
    [
        {"members": ()},
        {"members": "ann"},
        {"members": ("ann", "ann")},
        {"members": ("a\0",)},
        {"members": (1,)},
        {"members": ("ann",), "epsilon": None},
        {"members": ("ann",), "epsilon": -1.0},
    ],
)
def test_what_is_no_group(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="of `Group` must"):
        Group(**{"epsilon": 1.0, **wrong})
    fine = Group(epsilon=1.0, members=("ann",))
    for groups in ({"": fine}, {"g": Limits(epsilon=1.0)}, {f"g{i}": fine for i in range(101)}):
        with pytest.raises(InvalidParameter, match="`groups` of `Caps` must"):
            Caps(1.0, groups=groups)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="`alpha` of `Caps`"):
        Caps(1.0, groups={"g": Group(nats_level=1.0, members=("ann",))})


POLICY: dict[str, Any] = {
    "dataset": "d",
    "neighbours": "add-remove-one",
    "max_rows": 9,
    "columns": {"x": {"bounds": [0.0, 1.0]}},
    "caps": {"epsilon": 9.0},
}


def test_a_policy_names_groups_and_without_them_it_is_the_policy_it_was() -> None:
    plain = load_policy(POLICY)
    assert "groups" not in plain.text()
    ward = {"members": ["ann", "bo"], "nats_per_person": 0.2, "queries": 3}
    found = load_policy(POLICY | {"caps": {"epsilon": 9.0, "groups": {"ward": ward}}})
    assert found.caps.ledger_caps().groups == {
        "ward": Group(nats_person=0.2, queries=3, members=("ann", "bo"))
    }
    assert load_policy(json.loads(found.text())).fingerprint() == found.fingerprint() != plain.fingerprint()
    schema = json.dumps(Policy.model_json_schema())
    assert '"GroupCaps"' in schema
    assert '"members"' in schema


@pytest.mark.parametrize(
    ("ward", "why"),
    [
        ({"members": []}, "members"),
        ({"members": ["ann", "ann"]}, "`ann` twice"),
        ({"members": ["ann"], "epsilon": None}, "needs a cap"),
        ({"epsilon": 1.0}, "members"),
        ({"members": ["ann"], "nats_level": 1.0}, "alpha"),
        ({"members": ["ann"], "nats_table": 1.0, "alpha": 2.0}, "alpha"),
    ],
)
def test_a_policy_refuses_what_is_no_group(ward: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidPolicy, match=why):
        load_policy(POLICY | {"caps": {"epsilon": 9.0, "groups": {"ward": {"epsilon": 1.0, **ward}}}})


def proposed(number: int, groups: dict[str, tuple[str, ...]], most: float = 9.0) -> Proposed:
    text = json.dumps(POLICY | {"number": number, "unit": "row", "tables": {}}, sort_keys=True)
    caps = {name: Group(epsilon=most, members=members) for name, members in groups.items()}
    return Proposed(text, Caps(epsilon=99.0, groups=caps), "agreed", "steward")


def begun(url: str, groups: dict[str, tuple[str, ...]], most: float = 9.0) -> Ledger:
    one = proposed(0, groups, most)
    return Ledger.open(url, dataset="d", policy=one.policy, caps=one.caps, text=one.text)


def test_whoever_joins_brings_what_they_spent_and_whoever_leaves_takes_nothing(url: str) -> None:
    ledger = begun(url, {"ward": ("ann",)}, 0.6)
    ledger.reserve(asks("ann", "bo", "bo", "cy"))
    ledger = ledger.amend(proposed(1, {"ward": ("ann", "bo")}, 0.6))
    assert spent(ledger) == {"ward": 0.3}
    ledger = ledger.amend(proposed(2, {"ward": ("bo",)}, 0.6))
    assert spent(ledger) == {"ward": 0.3}
    ledger.reserve(asks("ann"))  # of a group no more
    assert spent(ledger) == {"ward": 0.3}
    ledger = ledger.amend(proposed(3, {"ward": ("bo", "ann"), "new": ("cy",)}, 0.6))
    assert spent(ledger) == {"new": 0.1, "ward": 0.4}
    ledger = ledger.amend(proposed(4, {"new": ("cy",)}, 0.6))
    ledger = ledger.amend(proposed(5, {"ward": ("dora",)}, 0.6))  # what the name stood for, it stands for
    assert spent(ledger) == {"ward": 0.4}
    with pytest.raises(BudgetExceeded, match=r"group `ward` .* 0\.2 left of 0\.6"):
        ledger.reserve(asks("dora", epsilon=0.3))
    ledger.verify()
    ledger.close()


def test_what_a_member_was_told_for_free_before_is_on_the_account_once(file: Path) -> None:
    ledger = begun(f"sqlite:///{file}", {})
    (entry,) = ledger.reserve(asks("cy"), data="t")
    ledger.mark_released([entry.id], answers={entry.id: [[1]]})
    for who in ("ann", "bo", "ann", "cy"):
        ledger.mark_repeated([entry.id], analyst=who)
    ledger = ledger.amend(proposed(1, {"ward": ("ann", "bo"), "all": ("ann", "cy"), "none": ("dora",)}))
    assert spent(ledger) == {"all": 0.1, "none": 0.0, "ward": 0.1}
    ledger.verify()
    ledger.close()


def require_no_refund(url: str, seed: int) -> None:
    """A history by chance: what stands on each group's account is counted a second way, entry by entry."""
    rng, people = random.Random(seed), "abcd"
    told: list[tuple[int, str, str]] = []  # in which regime, to whom, which entry
    regimes = [{}]
    ledger = begun(url, {})
    for number in range(1, 6):
        for _ in range(rng.randrange(4)):
            who = rng.choice(people)
            (entry,) = ledger.reserve(asks(who), data="t")
            ledger.mark_released([entry.id], answers={entry.id: [[1]]})
            told.append((len(regimes) - 1, who, f"{entry.id}"))
            if rng.random() < 0.5:
                other = rng.choice(people)
                ledger.mark_repeated([entry.id], analyst=other)
                told.append((len(regimes) - 1, other, f"{entry.id}"))
        groups = {
            name: tuple(rng.sample(people, rng.randrange(1, 4))) for name in "xyz" if rng.random() < 0.7
        }
        ledger = ledger.amend(proposed(number, groups))
        regimes.append(groups)
        expected = {
            name: len({e for when, who, e in told if any(who in r.get(name, ()) for r in regimes[when:])})
            for name in groups
        }
        assert {name: round(10 * amount) for name, amount in spent(ledger).items()} == expected
    ledger.verify()
    ledger.close()


@pytest.mark.parametrize("seed", range(6))
def test_histories_by_chance_refund_nothing(tmp_path: Path, seed: int) -> None:
    require_no_refund(f"sqlite:///{tmp_path}/{seed}.db", seed)


def test_a_refund_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: an account is that of the members of now."""
    monkeypatch.setattr(
        RunningSums, "_groups", lambda self, analyst, _: {*self.regimes[-1].rules.groups_of(analyst)}
    )
    with pytest.raises(AssertionError):
        require_no_refund(f"sqlite:///{tmp_path}/0.db", 0)


def test_an_amendment_says_who_joined(file: Path) -> None:
    ledger = begun(f"sqlite:///{file}", {})
    for members in (["a"], ["a", "b"]):
        caps = {"epsilon": 9.0, "groups": {"w": {"members": members, "epsilon": 1.0}}}
        policy = load_policy(POLICY | {"caps": caps})
        ledger = ledger.amend(Proposed(policy.text(), policy.caps.ledger_caps(), "agreed"))
    (change,) = ledger.amendments()[-1].changes
    assert change.text == '`caps.groups.w.members` changed from ["a"] to ["a", "b"]'
    ledger.close()


def test_the_command_line_shows_a_groups_account(file: Path) -> None:
    with Ledger.open(f"sqlite:///{file}", dataset="d", policy="0" * 8, caps=WARD) as ledger:
        ledger.reserve(asks("bo"))
    told = json.loads(leakcap("budget", "--ledger", f"sqlite:///{file}", "--json").stdout)
    (account,) = [one for one in told["accounts"] if one["scope"] == "group"]
    (cap,) = [one for one in account["caps"] if one["cap"] == "epsilon"]
    assert (account["name"], cap["spent"], cap["left"], cap["limit"]) == ("ward", 0.1, 0.2, 0.3)
    assert "group ward" in leakcap("budget", "--ledger", f"sqlite:///{file}").stdout
