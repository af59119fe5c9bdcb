"""How much of ρ an AIM has spent, on stderr, so that one that is stopped says how far it got."""

from __future__ import annotations

import sys
import time
from typing import Any

__all__ = ["follow"]


def follow(mechanism: Any, columns: int, rho: float) -> None:
    """Let a mechanism say what its rounds spend: each chooses a table with `eps`, measures with `sigma`.

    Its measurements of single columns, with the first round's noise, come before.
    """
    choose, spent, rounds = mechanism.worst_approximated, 0.0, 0

    def chosen(candidates: Any, answers: Any, model: Any, eps: float, sigma: float, *more: Any) -> Any:
        nonlocal spent, rounds
        spent += (0.0 if rounds else columns * 0.5 / sigma**2) + eps**2 / 8 + 0.5 / sigma**2
        rounds += 1
        used = time.process_time()
        print(f"round {rounds}, {spent / rho:.1%} of ρ, {used:.0f} s", file=sys.stderr, flush=True)
        return choose(candidates, answers, model, eps, sigma, *more)

    mechanism.worst_approximated = chosen
