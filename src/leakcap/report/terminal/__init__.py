"""Reports on the terminal (Rich)."""
