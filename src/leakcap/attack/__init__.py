"""Attacks that reach the limits: each says what it got, what the theory allows at most, and the ratio.

guessing_game(mechanism, prior)      the optimal test about one record
read_field, read_everybody           a field of one person, or of all, through noisy counts of code bits
search_field                         the same, each question depending on the answers so far
correlated_record, copies_curve      one record in a noisy sum of records that depend on each other
"""

from __future__ import annotations

from leakcap.attack.correlated import Correlated, copies_curve, correlated_record
from leakcap.attack.field import FieldRead, read_everybody, read_field, search_field
from leakcap.attack.finite import finite_length_rate, least_uses
from leakcap.attack.guessing import Guess, guessing_game
from leakcap.attack.matching import Matched, Span, match_posterior
from leakcap.attack.parities import Decoded, decode_parities, parities, parity, walsh
from leakcap.attack.sums import Sums, equal_copies, households, markov_chain
from leakcap.attack.use import Use, use_of_capacity
from leakcap.attack.value import Finding

__all__ = [
    "Correlated",
    "Decoded",
    "FieldRead",
    "Finding",
    "Guess",
    "Matched",
    "Span",
    "Sums",
    "Use",
    "copies_curve",
    "correlated_record",
    "decode_parities",
    "equal_copies",
    "finite_length_rate",
    "guessing_game",
    "households",
    "least_uses",
    "markov_chain",
    "match_posterior",
    "parities",
    "parity",
    "read_everybody",
    "read_field",
    "search_field",
    "use_of_capacity",
    "walsh",
]
