"""The exact MI-DP of noise on an interval of secrets: Laplace, two-sided geometric, Gaussian."""
