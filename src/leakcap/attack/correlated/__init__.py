"""Records that depend on each other, and adversaries who do not know everybody else."""
