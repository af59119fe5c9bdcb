"""Shannon capacity: Newton over priors on a working set of rows, certified by the duality gap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound
from leakcap.capacities.certificate import ShannonCertificate
from leakcap.capacities.newton import Place, Search
from leakcap.capacities.rows import DenseRows, RowOperator
from leakcap.numeric.logspace import Floats

__all__ = ["certified_shannon", "shannon_capacity"]

_WARM_STEPS = 30
_FALLBACK_STEPS = 400
_SOURCE = "Blahut 1972; Arimoto 1972"


def shannon_capacity(rows: Floats, *, gap: float = 1e-9) -> Bound:
    """max over priors of I(π; W) in nats, as an interval no wider than `gap` where that can be reached.

    `rows` is a stochastic matrix of shape (x, y). The witness is the prior that attains the lower end.

    >>> round(shannon_capacity(np.array([[0.9, 0.1], [0.1, 0.9]])).upper, 9)
    0.368064239
    """
    matrix = np.asarray(rows, dtype=np.float64)
    seen = matrix.any(axis=0)
    return certified_shannon(DenseRows(matrix if seen.all() else matrix[:, seen]), gap=gap)


def certified_shannon(rows: RowOperator, *, gap: float = 1e-9) -> Bound:
    """The same for any operator without zero columns."""
    search = Search(_Shannon(ShannonCertificate.of(rows)))
    search.warm(_WARM_STEPS, gap)
    method = "Newton on a working set of rows, certified by the duality gap"
    if not search.newton(gap):
        search.warm(_FALLBACK_STEPS, gap)
        method = "Blahut–Arimoto, certified by the duality gap"
    return Bound(search.lower, search.upper, method, _SOURCE, witness=search.best)


class _Shannon:
    """Mutual information: distance D(W_x ‖ q), curvature W diag(1/q) Wᵀ."""

    stride = 1.0

    def __init__(self, certificate: ShannonCertificate) -> None:
        self.certificate = certificate
        self.rows = certificate.rows
        self.shape = certificate.rows.shape

    def image(self, prior: Floats) -> Floats:
        return self.rows.mix(prior)

    def place(self, prior: Floats, image: Floats) -> Place:
        centre = self.certificate.smooth(image)
        distance = self.certificate.divergences(centre)
        lower = self.certificate.lower(prior, image)
        upper = max(self.certificate.upper(centre, distance), lower)
        return Place(prior, image, distance, float(prior @ distance), lower, upper)

    def model(self, place: Place, index: NDArray[np.intp]) -> tuple[Floats, Floats]:
        scaled = self.rows.take(index) / np.sqrt(self.certificate.smooth(place.image))
        return scaled, place.distance[index]
