"""Weir measures the I/O of parallel programs and says which part of the path limits it."""
