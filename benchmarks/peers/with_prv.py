"""prv_accountant: the lower end, the estimate and the upper end of ε for sampled Gaussian steps.

On its input a JSON list of (σ, q, steps, δ, eps_error, delta_error); on its output one of [three numbers, CPU
seconds], or of its error's words in place of the numbers.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

from prv_accountant.dpsgd import DPSGDAccountant


def ends(
    noise: float, rate: float, steps: int, delta: float, eps_error: float, delta_error: float
) -> list[object]:
    start = time.process_time()
    try:
        accountant = DPSGDAccountant(noise, rate, steps, eps_error=eps_error, delta_error=delta_error)
        found: object = [float(one) for one in accountant.compute_epsilon(delta, steps)]
    except (ArithmeticError, MemoryError, RuntimeError, ValueError) as error:
        found = f"{type(error).__name__}: {error}"[:80]
    return [found, time.process_time() - start]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps([ends(*plan) for plan in json.load(sys.stdin)]))
