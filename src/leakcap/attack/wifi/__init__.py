"""Fixing the broken wifi: a field of one person read through many noisy counts."""
