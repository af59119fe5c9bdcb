"""What may be asked of one row: conditions and formulas, read by a whitelist."""
