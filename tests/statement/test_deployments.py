"""Published entries of a registry of deployments: what is said of them follows; each is read or refused."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import mpmath as mp
import pytest
import yaml

from command_line import ROOT, leakcap
from leakcap.errors import DataError
from leakcap.report.render.yaml import yaml_text
from leakcap.statement.deployments import PublishedEntry


def entry(**parameters: Any) -> dict[str, Any]:
    """Written by us, in the registry's fields."""
    content: dict[str, Any] = yaml.safe_load((ROOT / "examples/registry/hospital_stays.yaml").read_text())
    content["deployment"]["privacy_loss"]["privacy_parameters"] = parameters
    return content


def told(variant: str | None = "Approximate DP", **parameters: Any) -> PublishedEntry:
    content = entry(**parameters)
    content["deployment"]["dp_variant"] = {} if variant is None else {"variant_name": variant}
    return PublishedEntry.read(content)


def just_above(found: float | None, truth: Any) -> bool:
    return found is not None and 0 <= mp.mpf(found) - truth < 1e-12


@pytest.mark.parametrize("delta", [None, 1e-9, 1e-5, 0.01])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 4.8, 12.0, 34.9])
def test_chances_and_odds_of_epsilon_by_mpmath(epsilon: float, delta: float | None) -> None:
    """Kairouz, Oh & Viswanath 2015: total variation is at most (e^ε − 1 + 2δ)/(e^ε + 1)."""
    found = told("Pure DP", epsilon=epsilon) if delta is None else told(epsilon=epsilon, delta=delta)
    with mp.workdps(60):
        odds, slack = mp.e ** mp.mpf(epsilon), mp.mpf(delta or 0)
        advantage = (odds - 1 + 2 * slack) / (odds + 1)
        assert just_above(found.advantage, advantage)
        assert just_above(found.guess, (1 + advantage) / 2)
        if delta is None:
            assert found.odds is not None
            assert 0 <= mp.mpf(found.odds) / odds - 1 < 1e-12
        else:
            # With a δ some odds may change by any factor.
            assert found.odds is None
        # Randomised response with the slack told outright: what it tells of a fair bit.
        right = odds / (1 + odds)
        bit = mp.log(2) + right * mp.log(right) + (1 - right) * mp.log(1 - right)
        assert just_above(found.nats, slack * mp.log(2) + (1 - slack) * bit)


def proven(rho: float, delta: float) -> Any:
    """The least ε that follows from ρ at δ: Canonne, Kamath & Steinke 2020, corollary 13, by golden section
    over ln(α − 1).
    """

    def at(place: Any) -> Any:
        order = 1 + mp.e**place
        slack = mp.log(1 / mp.mpf(delta)) + (order - 1) * mp.log(1 - 1 / order) - mp.log(order)
        return order * mp.mpf(rho) + slack / (order - 1)

    low, high, part = mp.mpf(-8), mp.mpf(10), (mp.sqrt(5) - 1) / 2
    for _ in range(120):
        left, right = high - part * (high - low), low + part * (high - low)
        low, high = (low, right) if at(left) < at(right) else (left, high)
    return at(low)


@pytest.mark.parametrize("rho", [0.0728, 0.81, 2.63, 19.776])
def test_what_follows_from_rho_is_above_gaussian_noise(rho: float) -> None:
    """Gaussian noise of this ρ is told apart by 2Φ(μ/2) − 1, and is (ε, δ(ε))-DP (Balle & Wang 2018)."""
    found = told(rho=rho)
    assert found.advantage is not None
    assert found.at_delta is not None
    assert found.nats is not None
    assert found.odds is None
    with mp.workdps(40):
        mu = mp.sqrt(2 * mp.mpf(rho))
        assert 2 * mp.ncdf(mu / 2) - 1 <= found.advantage <= 1
        epsilon, delta = found.at_delta
        e = mp.mpf(epsilon)
        assert mp.ncdf(mu / 2 - e / mu) - mp.e**e * mp.ncdf(-mu / 2 - e / mu) <= delta == 1e-6
        assert 0 <= e - proven(rho, delta) < 1e-9
        # Pinsker's total variation of ρ nats.
        assert found.advantage <= mp.sqrt(mp.mpf(rho) / 2) + mp.mpf(10) ** -12
    assert found.nats <= min(rho, math.log(2)) + 1e-12


REMARKS = {
    "no parameters": ({}, "neither ε nor ρ"),
    "a δ that is a formula": ({"epsilon": 0.5, "delta": "1/n"}, "δ is no number"),
    "no δ": ({"epsilon": 0.5}, "says Approximate DP and gives no δ: nothing follows from its ε."),
    "an ε below that of ρ": ({"epsilon": 0.1, "delta": 1e-6, "rho": 0.5}, "Its ε is below"),
}


@pytest.mark.parametrize("case", REMARKS)
def test_what_does_not_fit_is_said(case: str) -> None:
    parameters, words = REMARKS[case]
    found = told(**parameters)
    assert any(words in remark for remark in found.remarks)
    if case in ("no parameters", "a δ that is a formula", "no δ"):
        assert (found.guess, found.advantage, found.nats, found.odds) == (None,) * 4


def test_an_epsilon_is_below_that_of_rho_only_where_it_is() -> None:
    """Of the census of 2020, ρ = 2.56 at δ = 10⁻¹⁰ proves 17.159: 17.14 is below it, 18 is not."""
    with mp.workdps(40):
        assert 17.14 < proven(2.56, 1e-10) < 18
    for epsilon, below in ((17.14, 1), (18.0, 0)):
        found = told("Zero-concentrated DP", epsilon=epsilon, rho=2.56, delta=1e-10)
        said = [one for one in found.remarks if "Its ε is below" in one]
        assert len(said) == below
        assert all("17.159" in one and "figures that were rounded" in one for one in said)


@pytest.mark.parametrize(
    "variant",
    [
        "Approximate DP",
        "Rényi DP",
        "Zero-concentrated DP",
        "Gaussian DP",
        "Custom",
        "pure dp, nearly",
        "Pure DP",
        None,
    ],
)
def test_an_epsilon_without_a_delta_bounds_something_under_pure_dp_alone(variant: str | None) -> None:
    alone, beside = told(variant, epsilon=8.0), told(variant, epsilon=8.0, rho=0.01)
    unread = [one for one in alone.remarks if "nothing follows from its ε" in one]
    if variant in ("Pure DP", None):
        assert (alone.odds, unread) == (told("Pure DP", epsilon=8.0, delta=0.0).odds, [])
        assert alone.odds is not None
    else:
        assert (alone.guess, alone.advantage, alone.nats, alone.odds) == (None,) * 4
        assert unread == [f"It says {variant} and gives no δ: nothing follows from its ε."]
        assert (beside.odds, beside.guess) == (None, told(variant, rho=0.01).guess)
    assert any("its ε is read as that of pure DP" in one for one in alone.remarks) == (variant is None)


@pytest.mark.parametrize(
    ("variant", "parameters", "words"),
    [
        ("Pure DP", {"epsilon": 1.0, "delta": 1e-7}, "says Pure DP and gives a δ"),
        ("Pure DP", {"rho": 1.0}, "says Pure DP and gives a ρ"),
        ("Zero-concentrated DP", {"epsilon": 1.0}, "gives no ρ"),
        (None, {"epsilon": 1.0}, "does not name the variant"),
    ],
)
def test_a_variant_that_is_another_is_said(variant: str | None, parameters: Any, words: str) -> None:
    assert any(words in remark for remark in told(variant, **parameters).remarks)


def test_a_unit_that_is_a_part_of_a_person_and_many_releases_are_said() -> None:
    remarks = " ".join(told(epsilon=1.0, delta=1e-6).remarks)
    for words in ("(month)", "many releases", "`privacy_unit_details`"):
        assert words in remarks
    content = entry(epsilon=1.0, delta=1e-6)
    content["deployment"]["privacy_loss"]["privacy_unit"] = "Person-level"
    assert not any("part of what a person" in one for one in PublishedEntry.read(content).remarks)


GROWN = {
    "ε": ("Pure DP", {"epsilon": 1.0}, "Of k of them ε may be k times as large."),
    "ε and δ": (
        "Approximate DP",
        {"epsilon": 1.0, "delta": 1e-6},
        "Of k of them ε may be k times as large and δ (e^{kε} − 1)/(e^ε − 1) times.",
    ),
    "δ": (
        "Approximate DP",
        {"epsilon": 0.0, "delta": 1e-6},
        "Of k of them ε may be k times as large and δ k times.",
    ),
    "ρ": ("Zero-concentrated DP", {"rho": 1.0}, "Of k of them ρ may be k² times as large."),
    "all": (
        "Zero-concentrated DP",
        {"epsilon": 1.0, "delta": 1e-6, "rho": 1.0},
        "Of k of them ε may be k times as large, δ (e^{kε} − 1)/(e^ε − 1) times and ρ k² times.",
    ),
    "none": ("Rényi DP", {"epsilon": 1.0}, "The unit may be a part of what a person gives (month)."),
}


@pytest.mark.parametrize("case", GROWN)
def test_it_is_said_how_the_parameters_of_several_parts_grow(case: str) -> None:
    variant, parameters, words = GROWN[case]
    (remark,) = (one for one in told(variant, **parameters).remarks if "part of what a person" in one)
    assert remark.endswith(words)


NO_PARAMETERS: dict[str, tuple[Any, str]] = {
    "negative": (-1, "-1"), "nan": (math.nan, "nan"), "inf": (math.inf, "inf"), "true": (True, "True"),
    "word": ("many", "'many'"), "list": ([1.0], "[1.0]"), "text": ("x\n" * 10**5, "'x"),
    "long": (10**400, "1000"), "too long to be written": (1 << 20_000, "a longer one"),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_PARAMETERS)
@pytest.mark.parametrize("name", ["epsilon", "rho"])
def test_a_parameter_that_is_none_is_refused(name: str, case: str) -> None:
    value, begins = NO_PARAMETERS[case]
    rule = f"`{name}` of `privacy_parameters` must be a number from 0 to 1,000,000. Got "
    with pytest.raises(DataError, match=re.escape(rule)) as caught:
        told(**{name: value})
    shown = str(caught.value).removeprefix(rule)
    assert shown.startswith(begins)
    assert len(shown) <= 60
    assert "\n" not in shown


@pytest.mark.parametrize("content", [None, [], "text", {}, {"deployment": 3}, {"deployment": {"basic": []}}])
def test_what_is_no_entry_is_refused(content: object) -> None:
    with pytest.raises(DataError, match="no entry of the registry"):
        PublishedEntry.read(content)


def test_a_folder_is_read_and_counted(tmp_path: Path) -> None:
    """One of each, our own writer's among them: read, or refused in a line."""
    bad = {
        "text": "just words", "list": "- 1\n- 2", "broken": "a: [1", "tag": "!!python/object:os.system x",
        "empty": "", "binary": "\x00", "negative": yaml_text(entry(epsilon=-1.0)),
    }  # fmt: skip
    good = {"own": yaml_text(entry(epsilon=1.0, delta=1e-6)), "rho": yaml_text(entry(rho=2.63))}
    for name, text in {**bad, **good}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "latin.yaml").write_bytes(b"name: \xff\xfe")
    (tmp_path / "large.yaml").write_text("#" * 1_000_001)
    done = leakcap("registry", str(tmp_path), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert len(found["entries"]) == len(good)
    assert {Path(one["file"]).stem for one in found["refused"]} == {*bad, "latin", "large"}
    assert all("\n" not in one["reason"] and one["reason"].endswith(".") for one in found["refused"])
    shown = leakcap("registry", str(tmp_path)).stdout
    assert "2 read, 9 refused." in shown


def test_where_nothing_could_be_read_the_exit_code_is_2(tmp_path: Path) -> None:
    """The record is printed all the same; one entry among many files is something."""
    nothing, own = tmp_path / "nothere.yaml", tmp_path / "own.yaml"
    done = leakcap("registry", str(nothing), "--json")
    assert (done.returncode, done.stderr, len(json.loads(done.stdout)["refused"])) == (2, "", 1)
    done = leakcap("registry", str(nothing))
    assert (done.returncode, "0 read, 1 refused." in done.stdout) == (2, True)
    own.write_text(yaml_text(entry(epsilon=1.0, delta=1e-6)))
    assert leakcap("registry", str(nothing), str(own)).returncode == 0


def test_only_what_an_entry_has_stands_in_its_first_line(tmp_path: Path) -> None:
    content = entry(epsilon=1.0, delta=1e-6)
    content["deployment"]["basic"] = {"name": "Stays"}
    (tmp_path / "own.yaml").write_text(yaml_text(content))
    assert "Stays" in leakcap("registry", str(tmp_path)).stdout.splitlines()
    content["deployment"]["basic"]["publication_date"] = None
    assert PublishedEntry.read(content).published == ""


def test_a_folder_without_entries_is_refused(tmp_path: Path) -> None:
    done = leakcap("registry", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "has no .yaml file" in done.stderr
