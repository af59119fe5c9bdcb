"""The broken wifi fixed, at capacity 0.02 bit a use: `python benchmarks/attack.py [frames [bits share]...]`.

Fields of 8 to 16 bits by random parities at frame error 1e-2, against the finite-length optimum; fields of 12
and 14 bits by posterior matching, against Shannon's; longer fields by the code for their length, at a share
of the finite-length optimum; and the decoder's speed. With pairs only those. One seed for all.

`python benchmarks/attack.py multi-edge [frames]`: multi-edge codes at 10⁵ uses and, a third of the frames, at
10⁶, behind the engine's own noise, a new graph every 20 frames.

`python benchmarks/attack.py table [people]`: a field of 63 bits of everybody in a real `PrivateTable` with
its ledger in a file.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time

import numpy as np
import pyarrow

from leakcap.attack import read_everybody
from leakcap.attack.codes.matching import Span, match_posterior
from leakcap.attack.codes.multi_edge import multi_edge_code
from leakcap.attack.codes.parities import decode_parities, parities, parity
from leakcap.attack.codes.use import Use, use_of_capacity
from leakcap.attack.wifi.choice import code_for
from leakcap.attack.wifi.finite import least_uses
from leakcap.audit.tails import fraction_lower, fraction_upper
from leakcap.release import PrivateTable
from leakcap.sampling import discrete_laplace, rational_scale, system_bytes

BITS_A_USE = 0.02
ERROR = 1e-2
_FRAMES = 50
_LONGER = ((32, 0.92, 1), (64, 0.90, 1), (128, 0.88, 1), (256, 0.88, 2), (512, 0.86, 8))
"""Bits, share of the optimum, and how many times fewer frames."""


_MULTI_EDGE = ((1700, 100_000, 1), (1750, 100_000, 1), (19_000, 1_000_000, 3))
"""Bits, uses, and how many times fewer frames."""
_FRAMES_A_GRAPH = 20


def parity_errors(use: Use, bits: int, uses: int, frames: int, generator: np.random.Generator) -> int:
    wrong = 0
    for _ in range(frames):
        message = int(generator.integers(1 << bits))
        masks = parities(bits, uses, generator)
        noise = generator.geometric(-math.expm1(-use.decay), (2, uses))
        answers = parity(masks, message) + noise[0] - noise[1]
        wrong += decode_parities(bits, masks, use.ratios(answers)).message != message
    return wrong


def by_parities(use: Use, bits: int, frames: int, generator: np.random.Generator) -> None:
    """The frame error at the length at which the finite-length optimum has 1e-2, and 2 % more."""
    best = least_uses(use, bits, ERROR)
    for uses in (best, math.ceil(best / 0.98)):
        wrong = parity_errors(use, bits, uses, frames, generator)
        rate = bits * math.log(2) / (uses * use.capacity)
        rough = math.sqrt(max(wrong, 1)) / frames
        print(
            f"parities   {bits:2} bits {uses:6} uses   rate/Shannon {rate:.3f}   "
            f"/finite optimum {best / uses:.3f}   frame error {wrong / frames:.4f} ± {rough:.4f}"
        )


def by_matching(use: Use, bits: int, frames: int, generator: np.random.Generator) -> None:
    total = wrong = 0
    for _ in range(frames):
        message = int(generator.integers(1 << bits))

        def ask(span: Span, message: int = message) -> float:
            right = generator.random() >= use.crossover
            return use.decay if right == span.holds(message) else -use.decay

        found = match_posterior(ask, bits, confidence=1 - ERROR)
        total += found.uses
        wrong += found.message != message
    rate = bits * math.log(2) * frames / (total * use.capacity)
    print(
        f"matching   {bits:2} bits {total / frames:6.0f} uses   rate/Shannon {rate:.3f}   "
        f"error {wrong / frames:.4f} ± {math.sqrt(max(wrong, 1)) / frames:.4f}"
    )


def by_code(use: Use, bits: int, share: float, frames: int, generator: np.random.Generator) -> None:
    """The code that the lab picks, at a share of the optimum; errors with a 95 % Clopper-Pearson interval."""
    best = least_uses(use, bits, ERROR)
    uses = math.ceil(best / share)
    code = code_for(bits, uses, use, generator)
    wrong, seconds = 0, 0.0
    for start in range(0, frames, _FRAMES):
        size = min(_FRAMES, frames - start)
        messages = generator.integers(0, 2, (size, bits), dtype=np.uint8)
        noise = generator.geometric(-math.expm1(-use.decay), (2, size, uses))
        ratios = use.ratios(code.encode(messages) + noise[0] - noise[1])
        begun = time.process_time()
        found = code.decode(ratios)
        seconds += time.process_time() - begun
        wrong += int((found.messages != messages).any(axis=1).sum())
    low, high = fraction_lower(wrong, frames, 0.025), fraction_upper(wrong, frames, 0.025)
    rate = bits * math.log(2) / (uses * use.capacity)
    print(
        f"{code.name}   {bits} bits {uses} uses   rate/Shannon {rate:.3f}   "
        f"/finite optimum {best / uses:.3f}   "
        f"frame errors {wrong}/{frames} = {wrong / frames:.4f} [{low:.4f}, {high:.4f}]   "
        f"{uses * frames / seconds / 1e6:.2f} million uses/s",
        flush=True,
    )


def by_multi_edge(use: Use, bits: int, uses: int, frames: int, generator: np.random.Generator) -> None:
    """Frame errors with a 95 % Clopper-Pearson interval; seconds are of decoding alone."""
    scale = rational_scale(1, use.decay)
    wrong, seconds = 0, []
    for frame in range(frames):
        if frame % _FRAMES_A_GRAPH == 0:
            code = multi_edge_code(bits, uses, use, generator)
        message = generator.integers(0, 2, (1, bits), dtype=np.uint8)
        ratios = use.ratios(code.encode(message) + discrete_laplace(scale, uses, system_bytes))
        begun = time.process_time()
        found = code.decode(ratios)
        seconds.append(time.process_time() - begun)
        wrong += int((found.messages != message).any())
    low, high = fraction_lower(wrong, frames, 0.025), fraction_upper(wrong, frames, 0.025)
    rate = bits * math.log(2) / (uses * use.capacity)
    print(
        f"multi-edge   {bits} bits {uses} uses   rate/Shannon {rate:.3f}   "
        f"frame errors {wrong}/{frames} = {wrong / frames:.3f} [{low:.3f}, {high:.3f}]   "
        f"{uses * frames / sum(seconds) / 1e6:.2f} million uses/s, slowest {uses / max(seconds) / 1e6:.2f}",
        flush=True,
    )


def speed(use: Use, bits: int, generator: np.random.Generator) -> None:
    uses = least_uses(use, bits, ERROR)
    masks = parities(bits, uses, generator)
    ratios = use.ratios(generator.integers(-3, 4, uses))
    start = time.process_time()
    for _ in range(10):
        decode_parities(bits, masks, ratios)
    seconds = (time.process_time() - start) / 10
    print(
        f"decoding   {bits:2} bits {uses:6} uses in {1e3 * seconds:.1f} ms: "
        f"{uses / seconds / 1e6:.2f} million uses/s"
    )


def by_table(people: int, generator: np.random.Generator) -> None:
    """Everybody's field, by GROUP BY the person, at ε = 4 a count: what is read and what noise allows."""
    bits, epsilon, uses = 63, 4.0, 100
    secrets = generator.integers(1 << bits, size=people).tolist()
    policy = {
        "dataset": "town",
        "neighbours": "add-remove-one",
        "max_rows": people,
        "caps": {"epsilon": 100_000.0},
        "columns": {"id": {"keys": list(range(people))}, "code": {"keys": "private", "type": "integer"}},
    }
    data = pyarrow.table({"id": list(range(people)), "code": secrets})
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        victim = PrivateTable(data, policy=policy, ledger=f"sqlite:///{folder}/ledger.db")
        found = read_everybody(
            victim, ["code"], by="id", bits=bits, epsilon=epsilon, uses=uses, generator=generator
        )
    right = sum(found.values[i] == secret for i, secret in enumerate(secrets))
    print(
        f"{found.attack}   {people} people of {bits} bits, {uses} counts: {right} read right, "
        f"{right * bits:,} bits   {found.got:.4g} of at most {found.at_most:.4g} nats an answer, ratio "
        f"{found.ratio:.3f}   {found.nats_table_spent:,.0f} nats of the table charged   "
        f"{time.perf_counter() - begun:.0f} s"
    )


def main() -> None:
    generator = np.random.default_rng(20261121)
    use = use_of_capacity(BITS_A_USE)
    if sys.argv[1:2] == ["table"]:
        by_table(int(sys.argv[2]) if len(sys.argv) > 2 else 2000, generator)
        return
    if sys.argv[1:2] == ["multi-edge"]:
        frames = int(sys.argv[2]) if len(sys.argv) > 2 else 300
        for bits, uses, fewer in _MULTI_EDGE:
            by_multi_edge(use, bits, uses, max(frames // fewer, 1), generator)
        return
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    if len(sys.argv) > 2:
        for k, part in zip(sys.argv[2::2], sys.argv[3::2], strict=True):
            by_code(use, int(k), float(part), frames, generator)
        return
    for bits in (8, 12, 16):
        by_parities(use, bits, frames, generator)
    for bits in (12, 14):
        by_matching(use, bits, max(frames // 10, 50), generator)
    for bits, share, fewer in _LONGER:
        by_code(use, bits, share, max(frames // fewer, 1), generator)
    for bits in (8, 12, 16, 20):
        speed(use, bits, generator)


if __name__ == "__main__":
    main()
