"""The catalogue of mechanisms, one family a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakcap.lazily import lazily

if TYPE_CHECKING:
    from leakcap.mechanism.base import Mechanism, RowPair
    from leakcap.mechanism.binary import ERASED, BinaryErasure, BinarySymmetric, ZChannel
    from leakcap.mechanism.bit_vector import BitVector
    from leakcap.mechanism.cuff_yu import DIFFERENT, CuffYuExample51, OneTimePadPair
    from leakcap.mechanism.discrete_gaussian import DiscreteGaussian
    from leakcap.mechanism.gaussian import Gaussian
    from leakcap.mechanism.geometric import TruncatedGeometric, TwoSidedGeometric
    from leakcap.mechanism.hadamard import HadamardResponse
    from leakcap.mechanism.laplace import Laplace
    from leakcap.mechanism.planar_geometric import PlanarGeometric
    from leakcap.mechanism.planar_laplace import PlanarLaplace
    from leakcap.mechanism.randomised_response import RandomisedResponse
    from leakcap.mechanism.selection import Exponential, PermuteAndFlip
    from leakcap.mechanism.staircase import Staircase
    from leakcap.mechanism.subset_selection import SubsetSelection

__all__ = [
    "DIFFERENT",
    "ERASED",
    "BinaryErasure",
    "BinarySymmetric",
    "BitVector",
    "CuffYuExample51",
    "DiscreteGaussian",
    "Exponential",
    "Gaussian",
    "HadamardResponse",
    "Laplace",
    "Mechanism",
    "OneTimePadPair",
    "PermuteAndFlip",
    "PlanarGeometric",
    "PlanarLaplace",
    "RandomisedResponse",
    "RowPair",
    "Staircase",
    "SubsetSelection",
    "TruncatedGeometric",
    "TwoSidedGeometric",
    "ZChannel",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "leakcap.mechanism.base": ("Mechanism", "RowPair"),
        "leakcap.mechanism.binary": ("ERASED", "BinaryErasure", "BinarySymmetric", "ZChannel"),
        "leakcap.mechanism.bit_vector": ("BitVector",),
        "leakcap.mechanism.cuff_yu": ("DIFFERENT", "CuffYuExample51", "OneTimePadPair"),
        "leakcap.mechanism.discrete_gaussian": ("DiscreteGaussian",),
        "leakcap.mechanism.gaussian": ("Gaussian",),
        "leakcap.mechanism.geometric": ("TruncatedGeometric", "TwoSidedGeometric"),
        "leakcap.mechanism.hadamard": ("HadamardResponse",),
        "leakcap.mechanism.laplace": ("Laplace",),
        "leakcap.mechanism.planar_geometric": ("PlanarGeometric",),
        "leakcap.mechanism.planar_laplace": ("PlanarLaplace",),
        "leakcap.mechanism.randomised_response": ("RandomisedResponse",),
        "leakcap.mechanism.selection": ("Exponential", "PermuteAndFlip"),
        "leakcap.mechanism.staircase": ("Staircase",),
        "leakcap.mechanism.subset_selection": ("SubsetSelection",),
    },
)
