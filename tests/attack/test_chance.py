"""What chance does to a simulated figure: intervals by enumeration and by playing, and where they stand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from command_line import leakcap
from leakcap.attack import Finding, play, reconstruction, transmit, transmit_adaptively
from leakcap.attack.chance import binomial_interval, mean_interval
from leakcap.attack.codes.use import Use
from leakcap.attack.wifi.finite import fano_told, least_uses, luck
from leakcap.errors import InvalidParameter
from leakcap.numeric import means
from seeded import SeededSource

RNG = np.random.default_rng


@pytest.mark.parametrize("trials", [1, 7, 20, 400])
def test_the_binomial_interval_covers_whatever_the_truth(trials: int) -> None:
    """By enumeration of the binomial law; the textbook's normal interval fails the same check."""
    ends = [binomial_interval(hits, trials) for hits in range(trials + 1)]
    shares = [hits / trials for hits in range(trials + 1)]
    spread = [2.576 * math.sqrt(s * (1 - s) / trials) for s in shares]
    normal = [(s - d, s + d) for s, d in zip(shares, spread, strict=True)]
    worst = {"exact": 1.0, "normal": 1.0}
    for p in np.linspace(0.003, 0.997, 143):
        law = [math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)]
        for name, intervals in (("exact", ends), ("normal", normal)):
            held = sum(mass for mass, (low, high) in zip(law, intervals, strict=True) if low <= p <= high)
            worst[name] = min(worst[name], held)
    assert worst["exact"] >= 0.99 - 1e-9
    assert worst["normal"] < 0.9


def test_the_interval_of_a_mean_covers_whatever_the_law() -> None:
    """Of 2000 runs 20 may miss; 43 or more is a false alarm of 10⁻⁵. A fat tail defeats Student's."""
    rng, missed, student = RNG(3), 0, 0
    for _ in range(2000):
        drawn = np.where(rng.random(20) < 0.05, 100.0, rng.integers(1, 4, 20))
        truth = 0.05 * 100.0 + 0.95 * 2.0
        low, high = mean_interval(drawn.tolist(), 1.0, 100.0)
        missed += not low <= truth <= high
        half = 2.861 * float(drawn.std(ddof=1)) / math.sqrt(20)
        student += abs(float(drawn.mean()) - truth) > half
    assert missed < 43 < student
    assert mean_interval([5.0] * 30, 5.0, 5.0) == (5.0, 5.0)
    low, high = mean_interval([2.0] * 400, 1.0, 9.0)
    assert 1.9 < low < 2.0 < high < 2.3
    with pytest.raises(InvalidParameter):
        mean_interval([10.0], 0.0, 9.0)


def test_a_root_that_is_missed_is_not_relied_upon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the root nobody is rich: an interval that began there would be too short."""
    drawn = [2.0, 3.0, 2.0, 7.0] * 20
    sure = mean_interval(drawn, 1.0, 9.0)
    monkeypatch.setattr(means, "crossing", lambda _function, _low, high: high)
    assert mean_interval(drawn, 1.0, 9.0) == pytest.approx(sure, abs=1e-12)


def test_chance_is_told_from_a_broken_promise() -> None:
    def found(got: float, low: float | None) -> bool | None:
        high = None if low is None else 1.0
        return Finding(
            attack="a", got=got, at_most=0.6, unit="u", stopped_by="s", got_lower=low, got_upper=high
        ).above_by_chance

    assert (found(0.7, 0.55), found(0.7, 0.65)) == (True, False)
    assert found(0.5, 0.4) is found(0.7, None) is found(0.6, 0.5) is None


def test_a_game_at_its_limit_and_one_beyond() -> None:
    """200 games of 50 rounds at the limit: one in 200 lies above it by its interval; 8 are a false alarm of
    10⁻⁴. A mechanism with twice the ε is found out in most of them."""
    source = RNG(5)

    def answer(epsilon: float, bit: int) -> int:
        return bit ^ int(source.random() > 1 / (1 + math.exp(-epsilon)))

    blamed = {}
    for true in (1.0, 2.5):
        games = [
            play(lambda bit, e=true: answer(e, bit), int, epsilon=1.0, rounds=50, generator=source)
            for _ in range(200)
        ]
        blamed[true] = sum(game.above_by_chance is False for game in games)
    assert blamed[1.0] < 8 < 100 < blamed[2.5]


def test_a_field_guessed_by_chance_counts_for_nothing() -> None:
    """One bit in one answer is right in most cases; what the answer tells stays its capacity."""
    found = transmit(1, 0.5, fields=20_000, uses=1, generator=RNG(1), source=SeededSource(1))
    assert found.wrong / 20_000 < 0.5
    assert found.got_lower is not None
    assert found.got_upper is not None
    assert found.got_lower < found.at_most < found.got_upper
    assert found.ratio < 1.5  # k ln 2 times the share of right fields would be 14 times the capacity
    for error in (0.0, 1e-9, 0.3, 0.5, 0.75, 1.0):
        law = [1 - error, *[error / 3] * 3]
        told = math.log(4) + sum(p * math.log(p) for p in law if p > 0)
        assert fano_told(2, error) == pytest.approx(told if error < 0.75 else 0.0, abs=1e-12)


def test_no_reading_beats_the_capacity_but_by_chance() -> None:
    """Adaptive or not, at many lengths: where the ratio is above 1, the interval holds the limit.

    Sixty intervals, each above the truth in one case of 200 at most: two or more above the limit (all are
    below it) is a false alarm of 4 %; the seeds are fixed."""
    above = 0
    for i in range(30):
        bits = 1 + i % 6
        noisy = {"generator": RNG(i), "source": SeededSource(i)}
        for found in (
            transmit(bits, 2.0, fields=20, uses=1 + i, **noisy),
            transmit_adaptively(bits, 2.0, fields=20, **noisy),
        ):
            above += found.above_by_chance is False
            assert found.got_lower is not None
            assert found.got_upper is not None
            assert found.got_lower <= found.got <= found.got_upper
    assert above <= 1


def test_luck_by_playing() -> None:
    """What n answers tell about one bit, in 20,000 runs: more than the bound in 1 % at most."""
    use, n = Use(1.0), 2
    right = RNG(7).binomial(n, 1 - use.crossover, 20_000)
    odds = (2 * right - n) * use.decay
    sure = 1 / (1 + np.exp(-np.abs(odds)))
    told = np.array([fano_told(1, 1 - s) for s in sure]) / n
    bound = use.capacity + luck(use, n, n)
    assert (told > bound).mean() <= 0.01
    assert (told > use.capacity).mean() > 0.5
    assert luck(use, 100 * n, 100 * n) < luck(use, n, n) / 5
    assert least_uses(use, 8, 1e-2) > n


def test_a_reconstruction_has_a_lower_limit_only() -> None:
    subsets = np.eye(40, dtype=bool)
    found = reconstruction([1] * 40, subsets, [1.0] * 40, epsilon=1.0)
    assert found.got_lower == pytest.approx(0.005 ** (1 / 40))
    assert (found.got_upper, found.above_by_chance) == (1.0, False)


@pytest.mark.parametrize(
    "words",
    [
        ("games", "--rounds", "12", "--seed", "1"),
        ("wifi", "--bits", "2", "--epsilon", "3", "--fields", "12", "--uses", "1"),
        ("wifi", "--bits", "4", "--epsilon", "3", "--fields", "12", "--adaptive"),
    ],
)
def test_the_interval_is_shown_everywhere(words: tuple[str, ...], tmp_path: Path) -> None:
    done = leakcap("attack", *words, "--json", "--report", "page.html", cwd=tmp_path)
    rows = json.loads(done.stdout)["findings"]
    played = [row for row in rows if {"rounds", "fields", "queries"} & set(row)]
    assert played
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "99 % interval" in page
    for row in played:
        assert row["got_lower"] <= row["got"] <= row["got_upper"]
        held = row["got_lower"] <= row["at_most"]
        assert row["above_by_chance"] is (held if row["ratio"] > 1.0 else None)
    said = {True: "which may be chance", False: "not by chance"}
    for answer, text in said.items():
        assert (text in page) is any(row["above_by_chance"] is answer for row in played)
    shown = leakcap("attack", *words).stdout
    assert "99 %" in shown
    assert "above_by_chance" not in json.dumps([row for row in rows if row not in played])
