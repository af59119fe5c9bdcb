"""Integers, answers and intervals as columns of numbers, and the laws of noisy ones."""
