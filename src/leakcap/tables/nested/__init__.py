"""Columns of a workload whose keys lie within those of another: districts in regions, days in months.

    level        what is released of such a column, one noisy number for each key, and how keys lie in others
    ways         how the noise of one column of a chain reaches the keys of another one below
    following    which column's keys follow from those of another, from the policy alone
    chains       which columns of a question lie within each other
    bound        below which no strategy errs, proved

See `docs/theory/nested-tables.md`.
"""
