"""Exact integer noise from a byte source. No floating point between the bytes and the noise.

Why and how: `docs/noise.md`.
"""

from __future__ import annotations

from leakcap.sampling.bernoulli import bernoulli_exp
from leakcap.sampling.gaussian import discrete_gaussian
from leakcap.sampling.laplace import discrete_laplace
from leakcap.sampling.rational import rational_scale
from leakcap.sampling.source import ByteSource, system_bytes, uniform_below

__all__ = [
    "ByteSource",
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "rational_scale",
    "system_bytes",
    "uniform_below",
]
