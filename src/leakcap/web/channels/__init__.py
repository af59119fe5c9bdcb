"""Channels of the reader's own: read, measured and compared."""
