"""Microdata from released tables: rows that agree with what was released, and read nothing else.

    synthesize          a file of rows, fitted to released tables: `Microdata`
    fit_generator       the law that the rows are drawn from: a `MixtureOfProducts`, for any number of files
    ask_file            a table of the file, with the interval of what was released, or that it is modelled
    release_chosen_tables   the tables that are worth their noise, chosen by a private score: `ChosenTables`
    table_errors        how far each table of the file is from the released and from the exact one
    compare_regression  a regression of the file beside that of released tables: a `FileRegression`

All but the choice is post-processing of `leakcap.tables`: it costs nothing, however many files are made. See
`docs/how-to/microdata.md`.
"""

from __future__ import annotations

from leakcap.synthesis.asking import FileTable, ask_file
from leakcap.synthesis.choosing import ChosenTables, release_chosen_tables
from leakcap.synthesis.errors import TableError, table_errors
from leakcap.synthesis.microdata import Microdata, synthesize
from leakcap.synthesis.mixture import MixtureOfProducts, fit_generator
from leakcap.synthesis.regression import FileRegression, compare_regression
from leakcap.synthesis.regression_terms import RegressionAsked

__all__ = [
    "ChosenTables",
    "FileRegression",
    "FileTable",
    "Microdata",
    "MixtureOfProducts",
    "RegressionAsked",
    "TableError",
    "ask_file",
    "compare_regression",
    "fit_generator",
    "release_chosen_tables",
    "synthesize",
    "table_errors",
]
