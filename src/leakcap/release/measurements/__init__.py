"""Noisy integers: what a unit adds to them, their noise, and what that costs."""
