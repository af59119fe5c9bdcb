"""Gain functions: what an adversary wants, and how much each action is worth for each secret."""

from leakcap.gain.base import Gain, Table
from leakcap.gain.catalogue import (
    distance,
    distribution_reciprocal,
    identity,
    k_guesses,
    matrix,
    negative_distance,
    property_of,
    within,
)
from leakcap.gain.structured import Classes, Diagonal, TopGuesses

__all__ = [
    "Classes",
    "Diagonal",
    "Gain",
    "Table",
    "TopGuesses",
    "distance",
    "distribution_reciprocal",
    "identity",
    "k_guesses",
    "matrix",
    "negative_distance",
    "property_of",
    "within",
]
