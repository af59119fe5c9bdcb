"""Columns as a policy declares them: types, fixed-point grids, cells, people, joins."""
