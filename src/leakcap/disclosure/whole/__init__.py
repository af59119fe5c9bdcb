"""Methods for all that is published of one data set at once, as exact channels for small data.

`method` is what they share; `controlled_rounding` and `secondary` are for two-way tables, `swapping` and
`generalising` for files of records.
"""
