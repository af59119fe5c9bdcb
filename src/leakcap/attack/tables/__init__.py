"""Attacks on published tables."""
