"""The checker believes what is true of finite channels, and no certificate that claims too much.

Truth comes from `certificate_mutants.py`: mpmath by definition, a search over priors, a linear program.
"""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leakcap as lc
import leakcap_verify as verify
from certificate_mutants import changed, mutants, too_much, truth, verdict
from leakcap.certificate import FORMULAS, Proof, certificate_of

TWO = lc.Channel([[0.7, 0.2, 0.1], [0.15, 0.25, 0.6]])
THREE = lc.Channel([[0.7, 0.2, 0.1], [0.15, 0.25, 0.6], [0.3, 0.4, 0.3]])
EXACT = lc.Channel([[Fraction(1, 3), Fraction(2, 3)], [Fraction(3, 5), Fraction(2, 5)]])
POST = lc.Channel([[0.5, 0.5], [0.25, 0.75], [0.875, 0.125]])


def examples() -> dict[str, dict[str, Any]]:
    """One certificate of each kind, and of each branch of it, as they leave the process."""
    inf, pairs = lc.Renyi(math.inf), lc.Neighbours(((0, 1),))
    bounds = {
        "ratio": lc.capacity(THREE, inf),
        "ratio, a pair": lc.capacity(THREE, inf, pairs),
        "ratio, fractions": lc.capacity(EXACT, inf),
        "total variation": lc.capacity(TWO, lc.TotalVariation()),
        "hockey-stick": lc.capacity(THREE, lc.HockeyStick(1.5)),
        "Kullback-Leibler": lc.capacity(THREE, lc.Renyi(1.0), pairs),
        "Rényi": lc.capacity(TWO, lc.Renyi(2.5)),
        "Shannon": lc.capacity(TWO, lc.Renyi(1.0), lc.AllPriors()),
        "Sibson": lc.capacity(TWO, lc.Renyi(3.0), lc.AllPriors()),
        "Sibson, below one": lc.capacity(EXACT, lc.Renyi(0.5), lc.AllPriors()),
        "maximal leakage": lc.capacity(THREE, inf, lc.AllPriors()),
        "information": lc.capacity(THREE, lc.Renyi(1.0), lc.GivenPrior([0.5, 0.25, 0.25])),
        "information, order 2": lc.capacity(TWO, lc.Renyi(2.0), lc.GivenPrior([0.5, 0.5])),
        "refined": lc.refines(TWO, TWO >> POST),
        "not refined": lc.refines(TWO >> POST, TWO),
    }
    return {name: json.loads(json.dumps(bound.certificate())) for name, bound in bounds.items()}


EXAMPLES = examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_certificate_is_proved_and_true(name: str) -> None:
    found = EXAMPLES[name]
    assert found["evidence"] == "proved"
    assert verdict(found) == "proved"
    assert not too_much(found)


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_contradicts_the_truth_is_refuted(name: str) -> None:
    found = EXAMPLES[name]
    value = float(truth(found)[0])
    least, most = float.fromhex(found["claim"]["lower"]), float.fromhex(found["claim"]["upper"])
    above = changed(found, ("claim", "lower"), (max(most, value) + 0.01).hex())
    above["claim"]["upper"] = "inf"
    assert verdict(above) in ("refuted", "not proved")
    assert name == "not refined" or verdict(above) == "refuted"
    if least > 0.01:
        below = changed(changed(found, ("claim", "lower"), "0"), ("claim", "upper"), (least - 0.01).hex())
        assert verdict(below) == "refuted"


def survivors(name: str, seed: int, most: int) -> tuple[int, list[dict[str, Any]]]:
    """How many mutants were tried, and which proved ones are not true."""
    found = EXAMPLES[name]
    every = list(mutants(found, tuple(verify.KINDS)))
    some = random.Random(seed).sample(every, min(most, len(every)))
    return len(some), [one for one in some if verdict(one) == "proved" and too_much(one)]


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_mutant_that_claims_too_much_is_proved(name: str) -> None:
    """40 of each; all of them, ten thousand and more, are tried by `benchmarks/verify.py`."""
    tried, wrong = survivors(name, 20, 40)
    assert tried == 40
    assert wrong == []


def test_a_checker_that_forgives_a_millionth_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted mistake: ends compared with a tolerance."""
    plain = verify.le
    monkeypatch.setattr(
        verify, "le", lambda a, b: plain(a, b + verify.arb(2) ** -20 if b is not verify.INFINITE else b)
    )
    found = EXAMPLES["Kullback-Leibler"]
    lower = changed(found, ("claim", "upper"), (float.fromhex(found["claim"]["upper"]) - 1e-7).hex())
    lower["claim"]["lower"] = "0"
    assert verdict(lower) == "proved"
    assert too_much(lower)


def test_rows_are_divided_by_their_exact_sums() -> None:
    """Doubles of thirds add up to less than one: the truth of a claim on ε is that of the rows divided."""
    third = 1 / 3
    rows = lc.Channel([[third, third, third], [0.5, 0.25, 0.25]])
    found = lc.capacity(rows, lc.Renyi(math.inf)).certificate()
    assert sum(map(Fraction, [third] * 3)) != 1
    assert verdict(found) == "proved"
    assert not too_much(found)


def test_impossible_outputs_and_equal_rows() -> None:
    """∞ is proved and refuted like a number; nothing that leaks nothing is doubted."""
    zero = lc.Channel([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])
    for divergence in (lc.Renyi(math.inf), lc.Renyi(1.0), lc.Renyi(2.0)):
        found = lc.capacity(zero, divergence).certificate()
        assert found["claim"]["upper"] == "inf"
        assert verdict(found) == "proved"
        assert (
            verdict(changed(changed(found, ("claim", "lower"), "0"), ("claim", "upper"), "100")) == "refuted"
        )
    same = lc.Channel([[0.1, 0.2, 0.7]] * 3)
    for divergence, adversary in (
        (lc.Renyi(1.0), lc.AllPriors()),
        (lc.Renyi(math.inf), None),
        (lc.Renyi(2.0), None),
    ):
        assert verdict(lc.capacity(same, divergence, adversary).certificate()) == "proved"


def test_random_channels_are_proved() -> None:
    """Sharp and flat rows, zeros among them; every Shannon certificate is proved."""
    random_ = np.random.default_rng(18)
    for size in range(24):
        rows = random_.dirichlet(np.full(2 + size % 7, (0.1, 1.0, 10.0)[size % 3]), size=2 + size % 5)
        bound = lc.capacity(lc.Channel(rows), lc.Renyi(1.0), lc.AllPriors())
        assert verdict(bound.certificate()) == "proved"


def test_both_sides_know_the_same_sentences() -> None:
    assert dict(FORMULAS) == verify.FORMULAS


def test_what_has_no_checker_is_stated_and_not_proved() -> None:
    found = lc.mechanism.Laplace(1.0).exact(lc.Renyi(2.0), lc.Neighbours())
    assert found is not None
    stated = found.certificate()
    assert (stated["kind"], stated["evidence"]) == ("stated", "numerical")
    assert verdict(stated) == "not proved"
    bits = lc.capacity(TWO, lc.Renyi(math.inf)).bits.certificate()
    assert (bits["kind"], verdict(bits)) == ("stated", "not proved")
    huge = Proof("ratio", {"rows": np.zeros((2000, 2000)), "pairs": "all"})
    assert certificate_of(huge, (0.0, 1.0), unit="nats", method="", source="")["kind"] == "stated"


HOSTILE = {
    "nothing": b"",
    "a list": b"[]",
    "half of one": json.dumps(EXAMPLES["ratio"]).encode()[:200],
    "a pickle": b"\x80\x04\x95\x0b\x00\x00\x00.",
    "a zip": b"PK\x03\x04",
    "other encoding": b'{"schema": "\xff"}',
    "NaN": json.dumps(EXAMPLES["ratio"]).replace('"all"', "NaN").encode(),
    "infinity": json.dumps(EXAMPLES["ratio"]).replace('"all"', "-Infinity").encode(),
    "a decimal": json.dumps(EXAMPLES["ratio"]).replace('"all"', "0.1").encode(),
    "another version": json.dumps(EXAMPLES["ratio"]).replace("certificate/1", "certificate/2").encode(),
    "a name twice": json.dumps(EXAMPLES["ratio"])
    .replace('{"schema"', '{"kind": "ratio", "schema"', 1)
    .encode(),
    "very deep": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "quotes without an end": b'{"' + b'\\"' * 200_000 + b"\\",
    "a long integer": b'{"a": ' + b"9" * 100_000 + b"}",
    "many": json.dumps({"schema": verify.MANY, "certificates": [{}] * 10_001}).encode(),
    "none": json.dumps({"schema": verify.MANY, "certificates": []}).encode(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name: str) -> None:
    with pytest.raises(verify.Malformed) as caught:
        list(map(verify.check, verify.read(HOSTILE[name])))
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "text",
    ["0x1.0p+9999", "1/0", "9" * 900, "1e5", " 1", "0x1.8", "-0x1.0p+0", "٣", "inf", "0x2.0p+0", "1_0", ""],
)
def test_hostile_numbers_are_refused(text: str) -> None:
    assert verdict(changed(EXAMPLES["hockey-stick"], ("problem", "gamma"), text)) == "refused"


def test_hostile_sizes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is multiplied out."""
    many = [["1/2", "1/2"]] * 4000
    assert verdict(changed(EXAMPLES["Rényi"], ("problem", "rows"), many)) == "refused"
    monkeypatch.setattr(verify, "ENTRIES", 1000)
    wide = changed(EXAMPLES["ratio"], ("problem", "rows"), [["1"] + ["0"] * 1000])
    assert verdict(wide) == "refused"


def test_the_command(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Its exit status says the worst of what was found."""
    good, bad = EXAMPLES["ratio"], changed(EXAMPLES["ratio"], ("claim", "lower"), "0")
    bad["claim"]["upper"] = "1/100"
    stated = certificate_of(None, (0.0, 1.0), unit="nats", method="m", source="")
    for name, listed, code in (
        ("good", [good], 0), ("bad", [good, stated, bad], 1), ("stated", [good, stated], 3), ("none", [{}], 2)
    ):  # fmt: skip
        path = tmp_path / name
        path.write_text(json.dumps({"schema": verify.MANY, "certificates": listed}))
        assert verify.main([str(path)]) == code
    assert "refuted: ratio" in capsys.readouterr().out
    assert verify.main([str(tmp_path / "absent")]) == 2
    assert verify.main([]) == 2


def test_the_checker_is_one_short_file_that_knows_no_leakcap() -> None:
    text = Path(verify.__file__).read_text(encoding="utf-8")
    assert len(text.splitlines()) < 860
    assert "import leakcap" not in text
    assert "from leakcap" not in text


def test_shannon_is_of_order_one_alone() -> None:
    """A certificate under Shannon's formula cannot bring an order: capacities below one are smaller."""
    found = EXAMPLES["Sibson, below one"]
    named = changed(changed(found, ("kind",), "shannon"), ("formula",), verify.FORMULAS["shannon"])
    assert "order" in named["problem"]
    assert verdict(named) == "refused"
