"""What ε means, and which to choose: numbers from the verbs below, and their pictures."""
