"""Runs weir-bench: plan, calibrate, expect, run under the MPI launcher, finalize."""
