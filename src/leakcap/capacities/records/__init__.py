"""One record of a database, the others partly known: Bayesian privacy, dependence, limited knowledge."""
