"""What offices publish today, as channels.

    RandomRounding, SmallCells, CellKey, …   a method for one count, with its exact law: a `CellMethod`
    CellRisk, worst_cell                     what one published cell tells about a person
    noise_of_error                           noise of differential privacy that is as large
    TableSet, WholeSet                       tables that are published together, and what all of them tell
    margin_channel, margin_success           a cell with its siblings and their margin, under cell keys
    tree_channel                             a tree of margins, groups in several cells, others unknown
    lattice_channel                          tables that overlap, with all margins, exactly where small
    ControlledRounding, RecordSwapping, …    a method for a whole table or file: a `WholeMethod`
    least_leaking_table, most_entropic_table perturbation tables, by what they tell or as offices make them
    key_faults                               whether record keys are a secret at all

See `docs/how-to/office-methods.md` and, for the proofs, `docs/theory/published-cells.md`,
`docs/theory/cell-keys.md` and `docs/theory/whole-tables.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakcap.lazily import lazily

if TYPE_CHECKING:
    from leakcap.disclosure.beside import NoiseRisk, noise_of_error
    from leakcap.disclosure.cell_key import CellKey, PerturbationTable
    from leakcap.disclosure.cell_key_files import read_perturbation_table, write_perturbation_table
    from leakcap.disclosure.cells import SUPPRESSED, CellMethod, FollowedBy, GivenMethod
    from leakcap.disclosure.guessable_keys import key_faults
    from leakcap.disclosure.joint.lattice import lattice_channel
    from leakcap.disclosure.joint.margin import margin_channel
    from leakcap.disclosure.joint.published import TableSet, all_margins
    from leakcap.disclosure.joint.success import margin_success
    from leakcap.disclosure.joint.trees import tree_channel
    from leakcap.disclosure.least_leaking import LeastLeakingTable, least_leaking_table
    from leakcap.disclosure.most_entropy import most_entropic_table
    from leakcap.disclosure.place import PlaceRisk
    from leakcap.disclosure.rounding import NearestRounding, RandomRounding
    from leakcap.disclosure.suppression import SmallCells, TopCoding
    from leakcap.disclosure.weighing import CellRisk, different_cells, worst_cell
    from leakcap.disclosure.whole.controlled_rounding import ControlledRounding, IndependentRounding
    from leakcap.disclosure.whole.generalising import KAnonymous
    from leakcap.disclosure.whole.method import WholeMethod
    from leakcap.disclosure.whole.secondary import SecondarySuppression
    from leakcap.disclosure.whole.swapping import RecordSwapping, SwappingInvariants, swapping_ratio
    from leakcap.disclosure.whole_set import WholeSet

__all__ = [
    "SUPPRESSED",
    "CellKey",
    "CellMethod",
    "CellRisk",
    "ControlledRounding",
    "FollowedBy",
    "GivenMethod",
    "IndependentRounding",
    "KAnonymous",
    "LeastLeakingTable",
    "NearestRounding",
    "NoiseRisk",
    "PerturbationTable",
    "PlaceRisk",
    "RandomRounding",
    "RecordSwapping",
    "SecondarySuppression",
    "SmallCells",
    "SwappingInvariants",
    "TableSet",
    "TopCoding",
    "WholeMethod",
    "WholeSet",
    "all_margins",
    "different_cells",
    "key_faults",
    "lattice_channel",
    "least_leaking_table",
    "margin_channel",
    "margin_success",
    "most_entropic_table",
    "noise_of_error",
    "read_perturbation_table",
    "swapping_ratio",
    "tree_channel",
    "worst_cell",
    "write_perturbation_table",
]

_HOMES = {
    "leakcap.disclosure.beside": (
        "NoiseRisk",
        "noise_of_error",
    ),
    "leakcap.disclosure.cell_key": (
        "CellKey",
        "PerturbationTable",
    ),
    "leakcap.disclosure.cell_key_files": (
        "read_perturbation_table",
        "write_perturbation_table",
    ),
    "leakcap.disclosure.cells": (
        "SUPPRESSED",
        "CellMethod",
        "FollowedBy",
        "GivenMethod",
    ),
    "leakcap.disclosure.guessable_keys": ("key_faults",),
    "leakcap.disclosure.joint.lattice": ("lattice_channel",),
    "leakcap.disclosure.joint.margin": ("margin_channel",),
    "leakcap.disclosure.joint.published": (
        "TableSet",
        "all_margins",
    ),
    "leakcap.disclosure.joint.success": ("margin_success",),
    "leakcap.disclosure.joint.trees": ("tree_channel",),
    "leakcap.disclosure.least_leaking": (
        "LeastLeakingTable",
        "least_leaking_table",
    ),
    "leakcap.disclosure.most_entropy": ("most_entropic_table",),
    "leakcap.disclosure.place": ("PlaceRisk",),
    "leakcap.disclosure.rounding": (
        "NearestRounding",
        "RandomRounding",
    ),
    "leakcap.disclosure.suppression": (
        "SmallCells",
        "TopCoding",
    ),
    "leakcap.disclosure.weighing": (
        "CellRisk",
        "different_cells",
        "worst_cell",
    ),
    "leakcap.disclosure.whole.controlled_rounding": (
        "ControlledRounding",
        "IndependentRounding",
    ),
    "leakcap.disclosure.whole.generalising": ("KAnonymous",),
    "leakcap.disclosure.whole.method": ("WholeMethod",),
    "leakcap.disclosure.whole.secondary": ("SecondarySuppression",),
    "leakcap.disclosure.whole.swapping": (
        "RecordSwapping",
        "SwappingInvariants",
        "swapping_ratio",
    ),
    "leakcap.disclosure.whole_set": ("WholeSet",),
}
__getattr__, __dir__ = lazily(__name__, _HOMES)
