"""Shannon capacity: Newton over priors on a working set of rows, certified by the duality gap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakcap.bound import Bound
from leakcap.capacities.solvers.certificate import FLOOR, ShannonCertificate
from leakcap.capacities.solvers.mirror import folded, unfolded
from leakcap.capacities.solvers.newton import Certified, Iterate, Search
from leakcap.capacities.solvers.pivots import shannon_prior
from leakcap.capacities.solvers.rows import DenseRows, RowOperator
from leakcap.numeric.logspace import Floats

__all__ = ["certified_shannon", "shannon_capacity"]

_SMALL = 128
"""Secrets up to which one table holds the whole problem."""


def shannon_capacity(rows: Floats, *, gap: float = 1e-9) -> Bound:
    """max over priors of I(π; W) in nats, as an interval no wider than `gap` where that can be reached.

    `rows` is a stochastic matrix of shape (x, y). The witness is the prior that attains the lower end.

    >>> round(shannon_capacity(np.array([[0.9, 0.1], [0.1, 0.9]])).upper, 9)
    0.368064207
    """
    return certified_shannon(DenseRows(rows), gap=gap).bound


def certified_shannon(rows: RowOperator, *, gap: float = 1e-9) -> Certified:
    """The same for any operator, with the prior and the centre that prove it."""
    certificate = ShannonCertificate.of(rows)
    search = Search(_Shannon(certificate), certificate.average)
    if search.gap > gap and isinstance(rows, DenseRows):
        _leap(search, certificate, gap)
    return search.run(gap, "Shannon capacity", "Blahut 1972; Arimoto 1972")


def _leap(search: Search, certificate: ShannonCertificate, gap: float) -> None:
    """Try the priors that symmetry or small size make cheap to find; the search goes on from the best."""
    half = folded(certificate)
    if half is not None:
        prior = _small(half, gap)
        if prior is None:
            inner = Search(_Shannon(half), half.average)
            inner.run(0.9 * gap, "", "")
            prior = inner.here.prior
        search.restart_from(unfolded(prior, certificate.rows.shape[0]), gap)
    if search.gap > gap:
        prior = _small(certificate, gap)
        if prior is not None:
            search.restart_from(prior, gap)


def _small(certificate: ShannonCertificate, gap: float) -> Floats | None:
    rows = certificate.rows
    if not isinstance(rows, DenseRows) or rows.shape[0] > min(_SMALL, rows.shape[1]):
        return None
    return shannon_prior(rows.matrix, certificate.negentropy, gap)


class _Shannon:
    """Mutual information: distance D(W_x ‖ q), curvature W diag(1/q) Wᵀ."""

    step_exponent = 1.0

    def __init__(self, certificate: ShannonCertificate) -> None:
        self.certificate = certificate
        self.rows = certificate.rows
        self.shape = certificate.rows.shape

    def image(self, prior: Floats) -> Floats:
        return self.rows.mix(prior)

    def place(self, prior: Floats, image: Floats) -> Iterate:
        centre = self.certificate.smooth(image)
        log_centre = np.log(centre)
        distance = self.certificate.divergences(log_centre)
        lower = self.certificate.lower(prior, image)
        upper = max(self.certificate.upper(centre, distance), lower)
        return Iterate(prior, image, log_centre, distance, float(prior @ distance), lower, upper)

    def scaled(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        rows = self.rows.take(index)
        rows *= np.exp(-0.5 * place.log_centre)
        return rows

    def gradient(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        return place.distance[index]

    def curvature_product(self, place: Iterate, index: NDArray[np.intp]) -> Floats:
        # W diag(1/q) Wᵀπ = W diag(1/q) q = 1.
        return np.ones(index.size)

    def approximate_gradient(
        self, place: Iterate, index: NDArray[np.intp], scaled: Floats, part: Floats
    ) -> Floats | None:
        root = np.exp(0.5 * place.log_centre)
        image = root * (part.astype(scaled.dtype) @ scaled)
        rise = np.log(np.maximum(image, FLOOR)) - place.log_centre
        return np.asarray(place.distance[index] - scaled @ (root * rise).astype(scaled.dtype))
