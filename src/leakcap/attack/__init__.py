"""Attacks that reach the limits: each says what it got, what the theory allows at most, and the ratio.

guessing_game(mechanism, prior)      the optimal test about one record
read_field, read_everybody           a field of one person, or of all, through noisy counts of code bits
search_field                         the same, each question depending on the answers so far
transmit, transmit_adaptively        the same in the lab: random fields, the engine's noise, what gets through
correlated_record, copies_curve      one record in a noisy sum of records that depend on each other
genomes, sampled_record              the same for a family's alleles, and for a joint law given as samples
unsure_of, under_entropy_floor       what is left to an adversary who does not know everybody else
averaging, differencing, ...         coin-flip games that win where a guard is missing
textbook_timing, published_timing, timing  what a sampler's work tells about its noise
lecture_regression, ridge_regression the lecture's sensitivity bound, and one that is proved
games                                each of these where leakcap's guard is missing, and where it is
interrogate                          anything that can be sampled, between two ends that hold
linkage                              a k-anonymous file beside a public register, played
link_file                            a given file of coarse values, linked with a given register
suppressed                           suppressed cells of a table, from its margins
records_from_tables                  records that every table has which agrees with all published numbers
reconstruction                       a secret column from noisy counts of random subsets
averaged_counts                      bounded noise of a table builder, averaged away
reused_noise, all_at_once, ...       attacks whose success is computed
skew_curve, surprise                 how far outcomes are skewed, how often an output tells much
"""

from __future__ import annotations

from leakcap.attack.codes.matching import Matched, Span, match_posterior
from leakcap.attack.codes.parities import Decoded, decode_parities, parities, parity, walsh
from leakcap.attack.codes.use import Use, use_of_capacity
from leakcap.attack.correlated.assumption import Floored, floor_curve, under_entropy_floor
from leakcap.attack.correlated.genomes import genomes
from leakcap.attack.correlated.knowledge import Unsure, knowledge_curve, unsure_of
from leakcap.attack.correlated.pedigree import Pedigree, cousins, siblings
from leakcap.attack.correlated.record import Correlated, copies_curve, correlated_record
from leakcap.attack.correlated.samples import Sampled, sampled_joint, sampled_record
from leakcap.attack.correlated.sums import Sums, equal_copies, households, markov_chain
from leakcap.attack.games.classics import averaging, differencing, key_exists, low_bits, textbook_reachable
from leakcap.attack.games.exact import Exposed, all_at_once, membership, reused_noise, row_by_row
from leakcap.attack.games.game import Played, play
from leakcap.attack.games.guessing import Guess, guessing_game
from leakcap.attack.games.interrogated import Interrogated, interrogate
from leakcap.attack.games.lecture import Misjudged, lecture_regression, ridge_regression
from leakcap.attack.games.reconstruction import Reconstructed, random_subsets, reconstruct, reconstruction
from leakcap.attack.games.side_by_side import games
from leakcap.attack.games.surprises import Skew, Surprise, skew_curve, surprise, surprise_curve
from leakcap.attack.games.timing import Timed, published_timing, textbook_timing, timing
from leakcap.attack.tables.builder import AveragedCounts, TableBuilder, averaged_counts
from leakcap.attack.tables.crossing import PublishedNumber, PublishedTables, read_published_tables
from leakcap.attack.tables.linkage import Linked, class_channel, linkage
from leakcap.attack.tables.linking import LinkedFile, link_file
from leakcap.attack.tables.possible import possible_counts
from leakcap.attack.tables.records import ReadNumbers, ReadRecords, records_from_tables
from leakcap.attack.tables.released import ReleasedFile, read_released
from leakcap.attack.tables.suppressed import (
    CellRange,
    HiddenCount,
    PublishedTable,
    Unsuppressed,
    cell_ranges,
    read_published_table,
    suppressed,
)
from leakcap.attack.value import Finding
from leakcap.attack.wifi.field import FieldRead, read_everybody, read_field, search_field
from leakcap.attack.wifi.finite import finite_length_rate, least_uses
from leakcap.attack.wifi.lab import Transmission, transmit, transmit_adaptively
from leakcap.disclosure.whole.generalising import generalise

__all__ = [
    "AveragedCounts",
    "CellRange",
    "Correlated",
    "Decoded",
    "Exposed",
    "FieldRead",
    "Finding",
    "Floored",
    "Guess",
    "HiddenCount",
    "Interrogated",
    "Linked",
    "LinkedFile",
    "Matched",
    "Misjudged",
    "Pedigree",
    "Played",
    "PublishedNumber",
    "PublishedTable",
    "PublishedTables",
    "ReadNumbers",
    "ReadRecords",
    "Reconstructed",
    "ReleasedFile",
    "Sampled",
    "Skew",
    "Span",
    "Sums",
    "Surprise",
    "TableBuilder",
    "Timed",
    "Transmission",
    "Unsuppressed",
    "Unsure",
    "Use",
    "all_at_once",
    "averaged_counts",
    "averaging",
    "cell_ranges",
    "class_channel",
    "copies_curve",
    "correlated_record",
    "cousins",
    "decode_parities",
    "differencing",
    "equal_copies",
    "finite_length_rate",
    "floor_curve",
    "games",
    "generalise",
    "genomes",
    "guessing_game",
    "households",
    "interrogate",
    "key_exists",
    "knowledge_curve",
    "least_uses",
    "lecture_regression",
    "link_file",
    "linkage",
    "low_bits",
    "markov_chain",
    "match_posterior",
    "membership",
    "parities",
    "parity",
    "play",
    "possible_counts",
    "published_timing",
    "random_subsets",
    "read_everybody",
    "read_field",
    "read_published_table",
    "read_published_tables",
    "read_released",
    "reconstruct",
    "reconstruction",
    "records_from_tables",
    "reused_noise",
    "ridge_regression",
    "row_by_row",
    "sampled_joint",
    "sampled_record",
    "search_field",
    "siblings",
    "skew_curve",
    "suppressed",
    "surprise",
    "surprise_curve",
    "textbook_reachable",
    "textbook_timing",
    "timing",
    "transmit",
    "transmit_adaptively",
    "under_entropy_floor",
    "unsure_of",
    "use_of_capacity",
    "walsh",
]
