"""Simulates plans of the library on described machines, through weir-sim."""
