"""CPU time of the exact samplers: `python benchmarks/noise.py`.

Process time of 10⁶ draws (median of five runs) by scale, and of a single draw. The bytes come from the
operating system, whose time is counted.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from leakcap.sampling import discrete_gaussian, discrete_laplace

MILLION = 1_000_000
LAPLACE_SCALES = {
    "1/1000": Fraction(1, 1000),
    "1/3": Fraction(1, 3),
    "1": Fraction(1),
    "10/3": Fraction(10, 3),
    "10": Fraction(10),
    "1000": Fraction(1000),
    "2^32·10": Fraction(10 << 32),
    "2^45": Fraction(1 << 45),
}
GAUSSIAN_SIGMAS = {"1": 1, "10": 10, "1000": 1000, "2^20": 1 << 20, "2^32·10": 10 << 32}


def seconds(action: Callable[[], object], repeats: int) -> float:
    runs = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        runs.append(time.process_time() - start)
    return statistics.median(runs)


def report(name: str, scale: str, draw: Callable[[int], object]) -> None:
    draw(1)
    million = seconds(lambda: draw(MILLION), 5)
    single = seconds(lambda: [draw(1) for _ in range(200)], 5) / 200
    print(f"{name:18} {scale:>10}   10^6 draws {million:6.3f} s   one draw {single * 1e6:5.0f} µs")


def main() -> None:
    for scale, value in LAPLACE_SCALES.items():
        report("discrete Laplace", scale, partial(discrete_laplace, value))
    for sigma, root in GAUSSIAN_SIGMAS.items():
        report("discrete Gaussian", f"σ={sigma}", partial(discrete_gaussian, Fraction(root * root)))


if __name__ == "__main__":
    main()
