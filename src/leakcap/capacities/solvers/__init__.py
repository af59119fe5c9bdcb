"""The solvers beneath the verb: Newton over priors, working sets of rows, branch and bound."""
