"""Chains that are made to prove too little: no false ε and no passed cap is proved of a hostile one.

Each was proved, or written, once; a truth stands beside it by what the rows charge.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import leakcap_verify as verify
from certificate_mutants import changed, said, verdict
from certified_chains import asked, certificate, json_of, relinked, rows_of
from leakcap.errors import LedgerError
from leakcap.ledger import Caps, Charge, Ledger, Spend, backup
from leakcap.ledger.chain import fingerprint, row_hash
from leakcap.ledger.custody import restore

UNIT = 10**12
ONE = certificate(Caps(9.0), [asked(1.0)])
CURVE = ",".join([str(UNIT)] * 31)


def chain(*rows: Mapping[str, Any], caps: Mapping[str, Any] | None = None, **problem: Any) -> dict[str, Any]:
    """A chain of rows like an answer's, each with something changed, under these caps; a claim of ε = 3."""
    opened, answer = rows_of(ONE)
    shown = {**json.loads(opened["shown"]), "caps": dict(caps or {})}
    found = relinked(ONE, lambda old: old.__setitem__(slice(None), [opened | {"shown": json.dumps(shown)}, *(
        answer | {"epsilon": UNIT, "curve": CURVE} | row for row in rows
    )]))  # fmt: skip
    found = changed(found, ("claim", "upper"), "3")
    found["problem"] = found["problem"] | problem
    return found | {"kind": "filter-as-charged", "formula": verify.FORMULAS["filter-as-charged"]}


def priced(found: dict[str, Any]) -> dict[str, Any]:
    return found | {"kind": "filter", "formula": verify.FORMULAS["filter"]}


FREE = {
    **dict.fromkeys(("epsilon", "delta", "nats_person", "nats_table", "nats_level", "rho"), 0),
    "curve": "",
}
HUNDRED = '{"delta":"0","epsilon":"100","name":"EpsilonDeltaDpEvent"}'
DAILY = {"period": "day", "each_period": {"epsilon": UNIT}}
LOST = {"kind": "lost", "shown": "1"}
ATTACKS = {
    "an event in a row that charges nothing": priced(chain({}, FREE | {"kind": "release", "event": HUNDRED})),
    "a row of no kind": priced(chain(FREE | {"kind": "sold", "event": HUNDRED})),
    "spends of no kind": chain({"kind": "spend"}, {"kind": "spend"}, caps={"queries": 0}),
    "one day in three spellings": chain(
        {"day": "2026-03-05"}, {"day": "20260305"}, {"day": "2026-W10-4"}, caps=DAILY
    ),
    "a cap by another name": chain({}, {}, caps={"each_analysts": {"epsilon": 0}}),
    "a cap that is misspelt": chain({}, {}, caps={"epsilom": UNIT}),
    "a period's cap without a period": chain({}, {}, caps={"each_period": {"epsilon": UNIT}}),
    "answers with more δ than there is": chain(
        {"delta": UNIT},
        caps={"epsilon": 9 * UNIT, "delta": 1, "delta_of_answers": UNIT},
        delta_of_answers="1",
    ),
    "what was lost, on nobody's account": chain(LOST, LOST, caps={"period": "year", **DAILY}),
    "an amendment under another relation": priced(
        chain({}, {"kind": "amend", "shown": json.dumps({"caps": {}}), "event": ""})
    ),
    "no bound at all": chain(*[FREE | {"epsilon": None}] * 3),
    "slots of no plan": chain(*[{"slot": "x", "epsilon": 100 * UNIT}] * 3),
    "more from slots than a plan had": chain(
        {"kind": "plan", "event": f'{{"count":2,"event":{HUNDRED},"name":"SelfComposedDpEvent"}}'},
        *[{"slot": "x", "epsilon": 100 * UNIT}] * 3,
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_no_hostile_chain_is_proved(name: str) -> None:
    assert verdict(ATTACKS[name]) != "proved"


def test_the_chain_that_attacks_are_made_of_is_proved() -> None:
    """Else nothing above could be."""
    assert verdict(chain({}, {}, {})) == "proved"
    assert verdict(chain({"day": "2026-03-05"}, {"day": "2026-03-06"}, caps=DAILY)) == "proved"
    assert verdict(chain({"day": "2026-03-05"}, {"day": "2026-03-05"}, caps=DAILY)) == "refuted"


@pytest.mark.parametrize("delta", [1e-6, 1.0])
@pytest.mark.parametrize("order", [None, 2.0])
def test_an_event_with_a_delta_has_no_price_without_it(delta: float, order: float | None) -> None:
    """With probability δ it may tell everything: no order above one bounds that."""
    spend = Spend(epsilon=0.5, delta=delta)
    found = json_of(spend.certificate(order))
    assert (found["kind"], verdict(found)) == ("stated", "not proved")
    event = '{"delta":"1/4","epsilon":"0","name":"EpsilonDeltaDpEvent"}'
    within = f'{{"events":[{event},{event}],"name":"ComposedDpEvent"}}'
    good = json_of(Spend(epsilon=0.5).certificate(order))
    for text in (event, within):
        assert verdict(changed(good, ("problem", "event"), json.loads(text))) == "not proved"


def test_an_event_put_into_a_free_row_of_a_ledger_is_found(tmp_path: Path) -> None:
    """By whoever can write the database and makes all hashes anew."""
    url = f"sqlite:///{tmp_path}/a.db"
    with Ledger.open(url, dataset="d", policy="ab12cd34", caps=Caps(9.0)) as book:
        (entry,) = book.reserve([Charge("n", "count", Spend(0.5))])
        book.mark_released([entry.id])
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.row_factory = sqlite3.Row
        rows = [dict(row) for row in connection.execute("SELECT * FROM leakcap_event ORDER BY seq")]
        previous = "0" * 64
        for row in rows:
            row["event"] = HUNDRED if row["kind"] == "release" else row["event"]
            row["previous"] = previous
            row["hash"] = previous = row_hash(row)
            connection.execute(
                "UPDATE leakcap_event SET event = ?, previous = ?, hash = ? WHERE seq = ?",
                (row["event"], row["previous"], row["hash"], row["seq"]),
            )
        state = dict(connection.execute("SELECT * FROM leakcap_state").fetchone()) | {"head": previous}
        seal = fingerprint({**state, "seal": None})
        connection.execute("UPDATE leakcap_state SET head = ?, seal = ?", (previous, seal))
    with Ledger.read(url) as book, pytest.raises(LedgerError, match="spends, and is no spend"):
        book.verify()


def test_an_anchor_without_its_curve_gives_no_budget_back(tmp_path: Path) -> None:
    """Two of ε were lost, and would have been held against the cap as .04."""
    url = f"sqlite:///{tmp_path}/a.db"
    with Ledger.open(url, dataset="d", policy="ab12cd34", caps=Caps(3.0, 1e-6)) as book:
        backup(url, str(tmp_path / "old"))
        for _ in range(20):
            (entry,) = book.reserve([Charge("n", "count", Spend(0.1))])
            book.mark_released([entry.id])
        anchor = asdict(book.anchor())
    (tmp_path / "a.db").unlink()
    for name, curve in (("whole", anchor["curve"]), ("cut", [])):
        (tmp_path / name).write_text(json.dumps(anchor | {"curve": curve}, default=dict))
    old, how = f"sqlite:///{tmp_path}/old", {"book_lost": True, "reason": "a disk"}
    with pytest.raises(LedgerError, match="cannot be read"):
        restore(old, url, anchor=str(tmp_path / "cut"), **how)
    restore(old, url, anchor=str(tmp_path / "whole"), **how)


def test_a_certificate_writes_no_line_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names are told escaped: no forged verdict, and no crash, which would exit as if it were refuted."""
    for name in ("`\nproved: filter: 0.0 ≤ truth ≤ 0.1 nats\n", "\ud800"):
        event = json.dumps({"name": name})
        found = priced(chain({"event": event}))
        told = said(found)
        assert isinstance(told, verify.Verdict)
        assert told.verdict == "not proved"
        path = tmp_path / "one.json"
        path.write_text(json.dumps(found))
        assert verify.main([str(path)]) == 3
        assert len(capsys.readouterr().out.splitlines()) == 1


def test_exponents_are_those_of_doubles(tmp_path: Path) -> None:
    for text in ("0x1.0p+1100", "0x1.0p-1091"):
        path = tmp_path / "one.json"
        path.write_text(json.dumps(changed(ONE, ("claim", "upper"), text)))
        assert verify.main([str(path)]) == 2
