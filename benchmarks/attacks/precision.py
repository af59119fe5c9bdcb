"""The precision attack: `python benchmarks/attacks/precision.py [draws]`, or `make attack-peers`.

A person's value is 0 or 1, and the released sum has Laplace noise of scale 1: the promise is that nobody is
right more often than e/(1+e) = 0.731. Two attackers learn on one half of the draws and guess the other half:

- *the low bits alone*: how many zeros end the significand, among outputs of one sign and octave, as many of
  them from 0 as from 1, so that size says nothing. Where bits say nothing, this is right half of the time.
- *all*: sign, octave and those zeros together, which an honest sampler holds to the promise.

Source: Mironov 2012; Haney, Desfontaines, Hartman, Shrestha and Hay 2022: whatever the sampler of the noise,
the sum of two doubles has bits that only one of the values can leave.
"""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TypeAlias

HERE = Path(__file__).parent.parent
PEERS = ("leakcap", "diffprivlib", "opendp")
PROMISE = math.e / (1 + math.e)
# Two-sided 99.9 %.
QUANTILE = 3.2905

Draw: TypeAlias = tuple[int, Hashable]
"""The secret bit, and what the attacker sees."""


def size_of(value: float) -> tuple[bool, int]:
    """Sign and octave."""
    return value < 0.0, max(math.frexp(value)[1], -4)


def zeros_of(value: float) -> int:
    """How many zeros end the 53 bits of the significand; five count as many."""
    whole = int(abs(math.frexp(value)[0]) * 2.0**53)
    return min((whole & -whole).bit_length() - 1, 5)


def balanced(bits: Sequence[int], outputs: Sequence[float]) -> list[Draw]:
    """As many draws of 0 as of 1 from each sign and octave, in random order."""
    places: defaultdict[tuple[bool, int], tuple[list[Draw], list[Draw]]] = defaultdict(lambda: ([], []))
    for bit, output in zip(bits, outputs, strict=True):
        places[size_of(output)][bit].append((bit, (size_of(output), zeros_of(output))))
    kept = [draw for pair in places.values() for one in pair for draw in one[: min(map(len, pair))]]
    random.Random(20261121).shuffle(kept)
    return kept


def successes(draws: Sequence[Draw]) -> tuple[int, int]:
    """How many of the second half are guessed right after learning from the first, and how many there are."""
    half = len(draws) // 2
    known = Counter(draws[:half])
    guesses = (int(known[1, seen] > known[0, seen]) == bit for bit, seen in draws[half:])
    return sum(guesses), len(draws) - half


def interval(right: int, rounds: int) -> tuple[float, float]:
    """Wilson's, 99.9 %."""
    rate, square = right / rounds, QUANTILE**2
    centre = (rate + square / (2 * rounds)) / (1 + square / rounds)
    spread = math.sqrt(rate * (1 - rate) / rounds + square / (4 * rounds**2))
    half = QUANTILE / (1 + square / rounds) * spread
    return centre - half, centre + half


def sentence(draws: Sequence[Draw], allowed: float) -> str:
    """The rate with its interval, and what it means."""
    right, rounds = successes(draws)
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
        everything = [(b, (size_of(y), zeros_of(y))) for b, y in zip(bits, outputs, strict=True)]
        alone = sentence(balanced(bits, outputs), 0.5)
        print(f"  {peer:<12} low bits alone {alone}   all {sentence(everything, PROMISE)}", flush=True)


if __name__ == "__main__":
    main()
