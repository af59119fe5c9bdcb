"""Ways to ask: by name, by selection, in a batch, from a file; and what an answer would be worth."""
