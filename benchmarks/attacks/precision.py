"""The precision attack: `python benchmarks/attacks/precision.py [draws]`, or `make attack-peers`.

A person's value is 0 or 1, and the released sum has Laplace noise of scale 1, which lets whoever sees it
guess right in 1 − e^(−1/2)/2 = 0.697 of all cases. Two attackers learn on one half of the draws and guess the
other half:

- *the low bits alone*: how many zeros end the significand, among outputs of one sign and octave, as many of
  them from 0 as from 1, so that size says nothing. Where bits say nothing, this is right half of the time.
- *all*: sign, octave and those zeros together, which honest noise holds to 0.697.

Source: Mironov 2012; Haney, Desfontaines, Hartman, Shrestha and Hay 2022: whatever the sampler of the noise,
the sum of two doubles has bits that only one of the values can leave.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TypeAlias

HERE = Path(__file__).parent.parent
PEERS = ("leakcap", "diffprivlib", "opendp")
HONEST = 1 - math.exp(-0.5) / 2
# Two-sided 99.9 %.
QUANTILE = 3.2905

Draw: TypeAlias = tuple[int, tuple[Hashable, int]]
"""The secret bit, and what the attacker sees: sign and octave, and the zeros."""


def size_of(value: float) -> tuple[bool, int]:
    """Sign and octave."""
    return value < 0.0, max(math.frexp(value)[1], -4)


def zeros_of(value: float) -> int:
    """How many zeros end the 53 bits of the significand; five count as many."""
    whole = int(abs(math.frexp(value)[0]) * 2.0**53)
    return min((whole & -whole).bit_length() - 1, 5)


def balanced(draws: Sequence[Draw]) -> list[Draw]:
    """As many draws of 0 as of 1 from each sign and octave."""
    places: defaultdict[Hashable, tuple[list[Draw], list[Draw]]] = defaultdict(lambda: ([], []))
    for draw in draws:
        places[draw[1][0]][draw[0]].append(draw)
    return [draw for pair in places.values() for one in pair for draw in one[: min(map(len, pair))]]


def successes(learned: Sequence[Draw], guessed: Sequence[Draw]) -> tuple[int, int]:
    """How many are guessed right after learning from the others, and how many there are."""
    known = Counter(learned)
    return sum(int(known[1, seen] > known[0, seen]) == bit for bit, seen in guessed), len(guessed)


def interval(right: int, rounds: int) -> tuple[float, float]:
    """Wilson's, 99.9 %."""
    rate, square = right / rounds, QUANTILE**2
    centre = (rate + square / (2 * rounds)) / (1 + square / rounds)
    spread = math.sqrt(rate * (1 - rate) / rounds + square / (4 * rounds**2))
    half = QUANTILE / (1 + square / rounds) * spread
    return centre - half, centre + half


def sentence(learned: Sequence[Draw], guessed: Sequence[Draw], allowed: float) -> str:
    """The rate with its interval, and what it means."""
    right, rounds = successes(learned, guessed)
    low, high = interval(right, rounds)
    verdict = f"ABOVE {allowed:.3f}" if low > allowed else f"not above {allowed:.3f}"
    return f"{right / rounds:.4f} ({low:.4f} to {high:.4f}, {verdict})"


def outputs_of(peer: str, draws: int) -> list[float] | None:
    """What the peer releases for 0, 1, 0, 1, …; None where it is not installed."""
    place = HERE.parent / "build" / "peers-release" / peer
    if peer != "leakcap" and not (place / ".done").exists():
        return None
    python = sys.executable if peer == "leakcap" else str(place / "bin" / "python")
    command = [python, str(HERE / "peers" / f"with_{peer}.py"), "laplace", str(draws)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float.fromhex(text) for text in json.loads(done.stdout)]


def main() -> None:
    draws = int(sys.argv[1]) if sys.argv[1:] else 100_000
    bits = [place % 2 for place in range(draws)]
    print(f"0 or 1 behind Laplace noise of scale 1, {draws:,} draws, 99.9 % intervals")
    for peer in PEERS:
        outputs = outputs_of(peer, draws)
        if outputs is None:
            print(f"  {peer.upper()} IS NOT INSTALLED (`make peers` says why)")
            continue
        seen = [(bit, (size_of(y), zeros_of(y))) for bit, y in zip(bits, outputs, strict=True)]
        halves = seen[: draws // 2], seen[draws // 2 :]
        # Balanced one by one: balanced together, what one half has too many of the other would have too few.
        alone, everything = sentence(*map(balanced, halves), 0.5), sentence(*halves, HONEST)
        print(f"  {peer:<12} low bits alone {alone}   all {everything}", flush=True)


if __name__ == "__main__":
    main()
