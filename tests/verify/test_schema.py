"""The published schema describes the certificates that are written, and every kind that is checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import leakcap as lc
import leakcap_verify as verify
from certified_chains import RESPONSE, SAMPLED, ledger, of
from leakcap.accounting import PrivacyLoss
from leakcap.capacities import geometric_capacity
from leakcap.certificate import bundle
from leakcap.ledger import Caps
from leakcap.mechanism import Gaussian

SCHEMA: dict[str, Any] = json.loads(
    (Path(verify.__file__).parent / "certificate.schema.json").read_text(encoding="utf-8")
)
VALIDATOR = Draft202012Validator(SCHEMA)
STEPS = f'{{"count":1000,"event":{SAMPLED},"name":"SelfComposedDpEvent"}}'
LEDGER = ledger(Caps(9.0, 1e-5, delta_of_answers=4e-6), [of(STEPS, 1.0, delta=1e-6), of(SAMPLED)])
TWO = lc.Channel([[0.7, 0.2, 0.1], [0.15, 0.25, 0.6]])
WRITTEN = {
    "diameter": lc.capacity(TWO, lc.Renyi(2.0), lc.Neighbours(((0, 1),))).certificate(),
    "total variation": lc.capacity(TWO, lc.TotalVariation()).certificate(),
    "radius": lc.capacity(TWO, lc.Renyi(float("inf")), lc.AllPriors()).certificate(),
    "a belief": lc.capacity(TWO, lc.Renyi(1.0), lc.GivenPrior([0.5, 0.5])).certificate(),
    "refined": lc.refines(TWO, TWO).certificate(),
    "not refined": lc.refines(
        lc.Channel([[0.5, 0.5], [0.5, 0.5]]), lc.Channel([[0.5, 0.5], [0.25, 0.75]])
    ).certificate(),
    "a step": lc.route(lc.PureDP(1.0), lc.ApproxDP, delta=0.1).steps[0].certificate(),
    "a composition": PrivacyLoss.of_mechanism(Gaussian(1.0)).epsilon(1e-6).certificate(),
    "its divergence": PrivacyLoss.of_rows([0.75, 0.25], [0.25, 0.75]).renyi(2.0).certificate(),
    "noise": geometric_capacity(2, 0.5).certificate(),
    "a sampled step": PrivacyLoss.of_mechanism(Gaussian(2.0)).sampled(0.5).renyi(2.0).certificate(),
    "a ledger": LEDGER.odometer(1e-6).certificate(),
    "a balance": LEDGER.balances()[0].certificate(),
    "a price": of(RESPONSE).spend.certificate(3.0),
    "stated": lc.capacity(TWO, lc.Renyi(2.0)).bits.certificate(),
}


def test_the_schema_is_one_and_knows_every_kind() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    known = SCHEMA["$defs"]["certificate"]["properties"]
    assert set(known["kind"]["enum"]) == {"stated", *verify.KINDS}
    assert set(known) == set(verify.FIELDS)


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_keeps_to_it(name: str) -> None:
    found = json.loads(json.dumps(WRITTEN[name]))
    VALIDATOR.validate(found)
    VALIDATOR.validate(json.loads(bundle([found])))


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "leakcap.certificate/2"},
        {"kind": "trusted"},
        {"evidence": "sure"},
        {"claim": {"lower": 0.1, "upper": "inf", "unit": "nats"}},
        {"problem": {"rows": [["nan"]]}},
        {"more": 1},
    ],
)
def test_what_no_checker_reads_breaks_it(change: dict[str, Any]) -> None:
    found = {**json.loads(json.dumps(WRITTEN["total variation"])), **change}
    assert not VALIDATOR.is_valid(found)
    with pytest.raises(verify.Malformed):
        verify.check(found)
