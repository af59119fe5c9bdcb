"""What proves a capacity of additive noise to who has not computed it."""

from __future__ import annotations

from functools import partial
from typing import Any

from leakcap.arrays import np
from leakcap.capacities.noise.interval_prior import IntervalPrior
from leakcap.certificate import Proof
from leakcap.numeric.logspace import Floats

__all__ = ["proof_of_ends", "proof_of_geometric"]

_MOST_STEPS = 256


def proof_of_ends(noise: str, scales: float) -> Proof:
    """Where both ends alike are the best prior: nothing but the noise and the range.

    >>> proof_of_ends("laplace", 1.0).given
    {'noise': 'laplace', 'range': 1.0}
    """
    return Proof("additive", {"noise": noise, "range": scales})


def proof_of_geometric(steps: int, decay: float, prior: IntervalPrior) -> Proof | None:
    """The prior and the law of outputs under it, all beyond either end counted as one output.

    None for more than 256 steps.

    >>> proof_of_geometric(1, 1.0, IntervalPrior(((0.0, 0.5), (1.0, 0.5)))).witness(0.0, 1.0)["centre"]
    [0.5, 0.5]
    """
    if steps > _MOST_STEPS:
        return None
    return Proof(
        "additive-geometric", {"steps": steps, "decay": decay}, partial(_witness, steps, decay, prior)
    )


def _witness(steps: int, decay: float, prior: IntervalPrior, lower: float, upper: float) -> dict[str, Any]:
    chances = np.zeros(steps + 1)
    for place, chance in prior.atoms:
        chances[int(place)] += chance
    if prior.flat is not None:
        first, last, weight = prior.flat
        chances[int(first) : int(last) + 1] += weight
    centre = chances @ _rows(steps, decay)
    return {"prior": (chances / chances.sum()).tolist(), "centre": (centre / centre.sum()).tolist()}


def _rows(steps: int, decay: float) -> Floats:
    places = np.arange(steps + 1)
    s = np.exp(-decay)
    rows: Floats = (1.0 - s) / (1.0 + s) * s ** np.abs(places[:, None] - places).astype(np.float64)
    rows[:, 0], rows[:, -1] = s**places / (1.0 + s), s ** (steps - places) / (1.0 + s)
    return rows
