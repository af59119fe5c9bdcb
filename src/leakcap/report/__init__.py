"""For people: terminal, JSON, HTML and plots. Nothing is computed here."""
