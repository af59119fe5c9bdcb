"""Columns whose keys have an order, asked as ranges or cumulative counts: what is released of them instead of
cells, so that these err least.

    dense       products, inverses and roots of matrices, the same bits on every machine
    design      the best strategy for the ranges or prefixes of so many keys, rounded to whole numbers
    certified   how small the error of any strategy could be, from below
    protocol    what a column is released as, in facts and operations
    basis       the two of them: of cells, and of ranges or prefixes

See `docs/theory/ranges.md`.
"""
