"""The catalogue of mechanisms, one family a file. A new one is a file here; nothing else lists it by hand."""

from leakcap.mechanism.base import Mechanism, RowPair
from leakcap.mechanism.geometric import TruncatedGeometric, TwoSidedGeometric
from leakcap.mechanism.laplace import Laplace
from leakcap.mechanism.randomised_response import RandomisedResponse

__all__ = [
    "Laplace",
    "Mechanism",
    "RandomisedResponse",
    "RowPair",
    "TruncatedGeometric",
    "TwoSidedGeometric",
]
