"""A report drawn: as HTML, as Markdown, as a sheet of released values."""
