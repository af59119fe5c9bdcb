"""Codes that carry a message over the broken wifi, and their decoders."""
