"""The lab behind the engine's sampler, and `leakcap attack` as a person meets it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from command_line import leakcap
from leakcap.attack import least_uses, transmit, transmit_adaptively, use_of_capacity
from leakcap.attack.wifi.choice import code_for, likely_uses
from leakcap.errors import InvalidParameter
from seeded import SeededSource


def test_parities_behind_the_engines_noise() -> None:
    """600 fields at the finite-length optimum of frame error 1e-2: at most 1e-2 + five standard deviations
    (false alarm below 1e-4); at half of that length most fields are lost."""
    epsilon = use_of_capacity(0.02).decay
    found = transmit(8, epsilon, fields=600, generator=np.random.default_rng(1), source=SeededSource(1))
    assert found.uses == found.best_uses == least_uses(use_of_capacity(0.02), 8, 1e-2)
    assert found.wrong / 600 <= 1e-2 + 5 * math.sqrt(1e-2 / 600)
    assert found.at_most == pytest.approx(0.02 * math.log(2), rel=1e-9)
    e = found.wrong / 600
    entropy = -e * math.log(e) - (1 - e) * math.log(1 - e) if e else 0.0
    assert found.got == pytest.approx((8 * math.log(2) - entropy - e * math.log(255)) / found.uses)
    assert found.got_lower is not None
    assert found.got_lower < found.got <= found.at_most
    assert found.error_lower < 1e-2 < found.error_upper + 1e-2
    short = transmit(
        8, epsilon, fields=50, uses=100, generator=np.random.default_rng(2), source=SeededSource(2)
    )
    assert short.wrong > 25


def test_polar_codes_behind_the_engines_noise() -> None:
    """20 fields of 48 bits at 1.3 times what the code needs for frame error 1e-2, where it is below 1e-3:
    three are lost with probability below 2·10⁻⁶; at less than half of it most are."""
    epsilon = use_of_capacity(0.02).decay
    uses = math.ceil(1.3 * likely_uses(48, use_of_capacity(0.02)))
    found = transmit(
        48, epsilon, fields=20, uses=uses, generator=np.random.default_rng(4), source=SeededSource(4)
    )
    assert found.attack.startswith("broken wifi, polar")
    assert found.wrong <= 2
    assert found.uses == uses > found.best_uses
    short = transmit(
        48, epsilon, fields=10, uses=uses // 3, generator=np.random.default_rng(4), source=SeededSource(4)
    )
    assert short.wrong >= 5


def test_matching_behind_the_engines_noise() -> None:
    epsilon = use_of_capacity(0.02).decay
    found = transmit_adaptively(
        10, epsilon, fields=30, generator=np.random.default_rng(3), source=SeededSource(3)
    )
    assert found.ratio >= 0.75  # 30 fields are good to 6 %; the benchmark has the mean of many
    assert found.wrong <= 3  # 1 % each: four or more of 30 is a false alarm of 2·10⁻⁴
    assert found.uses < found.best_uses


def test_bad_parameters() -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(InvalidParameter):
        transmit_adaptively(21, 1.0, fields=1, generator=generator)
    with pytest.raises(InvalidParameter):
        transmit(4, 1.0, fields=1, uses=0, generator=generator)
    for bits, epsilon, fields in (
        (0, 1.0, 1),
        (1_000_001, 1.0, 1),
        (4, 0.0, 1),
        (4, math.nan, 1),
        (4, 1.0, 0),
    ):
        with pytest.raises(InvalidParameter):
            transmit(bits, epsilon, fields=fields, generator=generator)
        with pytest.raises(InvalidParameter):
            transmit_adaptively(bits, epsilon, fields=fields, generator=generator)


def findings(*args: str, cwd: Path | None = None) -> list[dict[str, object]]:
    done = leakcap("attack", *args, "--json", cwd=cwd)
    assert (done.returncode, done.stderr) == (0, "")
    found: list[dict[str, object]] = json.loads(done.stdout)["findings"]
    return found


def test_guess(tmp_path: Path) -> None:
    (tmp_path / "rr.csv").write_text("0.6,0.2,0.2\n0.2,0.6,0.2\n0.2,0.2,0.6\n")
    (found,) = findings("guess", "rr.csv", cwd=tmp_path)
    assert found["got"] == pytest.approx(0.6)
    assert found["ratio"] == pytest.approx(1.0)
    (lopsided,) = findings("guess", "rr.csv", "--prior", "0.8,0.1,0.1", cwd=tmp_path)
    assert lopsided["blind"] == pytest.approx(0.8)
    assert leakcap("attack", "guess", "rr.csv", cwd=tmp_path).stdout.count("0.6") >= 2


def test_wifi() -> None:
    (found,) = findings("wifi", "--bits", "6", "--epsilon", "2", "--fields", "5", "--uses", "300")
    assert (found["wrong"], found["uses"]) == (0, 300.0)
    shown = leakcap("attack", "wifi", "--bits", "6", "--epsilon", "2", "--fields", "5", "--adaptive").stdout
    assert "broken wifi, matching" in shown
    assert "stopped by caps" in shown


def test_copies_membership_and_skew() -> None:
    assert [point["records"] for point in findings("copies", "1", "7")] == [1, 7]
    (exact,) = findings("membership", "--epsilon", "inf")
    assert exact["got"] == 1.0
    (level,) = findings("skew", "--nats", str(math.log(1.25)), "--alpha", "2")
    assert level["at_most"] == pytest.approx(0.75)


@pytest.mark.parametrize(
    "args",
    [
        ("wifi", "--bits", "30", "--adaptive"),
        ("wifi", "--bits", "0"),
        ("wifi", "--uses", "5", "--adaptive"),
        ("wifi", "--epsilon", "-1"),
        ("wifi", "--uses", "0"),
        ("copies", "0"),
        ("membership", "--share", "2"),
        ("skew", "--alpha", "x"),
        ("skew", "--nats", "-1"),
        ("guess", "no such file.csv"),
        ("guess", "no such file.csv", "--prior", "x"),
    ],
)
def test_a_mistake_is_one_line(args: tuple[str, ...], tmp_path: Path) -> None:
    done = leakcap("attack", *args, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("leakcap: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "many"),
    [
        (("households", "1", "5", "--size", "3", "--epsilon", "1"), 2),
        (("chain", "3", "20"), 2),
        (("family", "2", "--children", "2", "--families", "3"), 1),
        (("knowledge", "0", "4"), 2),
        (("floor", "10", "--missing", "0,1"), 2),
        (("timing", "--epsilon", "1"), 3),
        (("lecture",), 2),
        (("reused", "--values", "3"), 2),
        (("delta", "--people", "10"), 2),
    ],
)
def test_the_other_commands(words: tuple[str, ...], many: int) -> None:
    found = findings(*words)
    assert len(found) == many
    assert all({"got", "at_most", "ratio", "stopped_by"} <= set(row) for row in found)


def test_games_tell_the_guard() -> None:
    found = findings("games", "--rounds", "20", "--seed", "1")
    assert [row["guarded"] for row in found] == [False, True] * 10
    shown = leakcap("attack", "games", "--rounds", "5").stdout
    assert "no guard" in shown
    assert "the lecture's regression: stopped by" in shown


def test_family_and_samples_from_files(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("kid,mum,dad\nmum,,\ndad,,\n")
    (kid,) = findings("family", "kid", "--pedigree", "tree.csv", cwd=tmp_path)
    (same,) = findings("family", "2", "--children", "1")
    assert kid == same
    (tmp_path / "rows.csv").write_text("0,0,0.5\n1,1,0.5\n")
    (drawn,) = findings(
        "samples", "rows.csv", "--grid", "0.5", "--bounds", "0,1", "--seed", "3", cwd=tmp_path
    )
    assert (drawn["draws"], drawn["records"], drawn["values"]) == (2, 3, 2)


def test_surprise_from_a_matrix(tmp_path: Path) -> None:
    (tmp_path / "eraser.csv").write_text("0.1,0,0.9\n0,0.1,0.9\n")
    low, high = findings("surprise", "eraser.csv", "--levels", "0.6,0.7", cwd=tmp_path)
    assert (low["got"], high["got"]) == (pytest.approx(0.1), 0.0)


@pytest.mark.parametrize(
    "args",
    [
        ("family", "nobody"),
        ("family", "0", "--pedigree", "missing.csv"),
        ("family", "0", "--pedigree", "short.csv"),
        ("family", "0", "--pedigree", "twice.csv"),
        ("family", "0", "--frequency", "2"),
        ("samples", "missing.csv"),
        ("samples", "text.csv"),
        ("samples", "ragged.csv"),
        ("samples", "text.csv", "--bounds", "1"),
        ("knowledge", "--nats", "1"),
        ("floor", "5", "--missing", "100"),
        ("floor", "1"),
        ("games", "--epsilon", "100"),
        ("timing", "--epsilon", "0"),
        ("lecture", "--people", "0"),
        ("delta", "--delta", "2"),
        ("households", "0"),
        ("chain", "2"),
    ],
)
def test_a_mistake_in_the_others_is_one_line(args: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "short.csv").write_text("a,b\n")
    (tmp_path / "twice.csv").write_text("a,,\na,,\n")
    (tmp_path / "text.csv").write_text("a,1\n")
    (tmp_path / "ragged.csv").write_text("1,2\n1\n")
    done = leakcap("attack", *args, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("leakcap: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("bits", "uses", "kind"),
    [
        (20, 2000, "parities"),
        (21, 2000, "polar"),
        (768, 40_000, "polar"),
        (1500, 5000, "polar"),
        (769, 40_000, "multi"),
    ],
)
def test_the_code_goes_by_the_length(bits: int, uses: int, kind: str) -> None:
    code = code_for(bits, uses, use_of_capacity(0.02), np.random.default_rng(0))
    assert code.name.startswith(kind)
    assert (code.bits, code.uses) == (bits, uses)
