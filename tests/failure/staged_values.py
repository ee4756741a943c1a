"""What staged_ranks.py writes and the tests of staging expect."""

from __future__ import annotations

import numpy as np

SHAPE = (24, 16, 20)
COUNTS = 37
LARGE_SHAPE = (96, 256, 256)
"""48 MiB of float64, of which each of three ranks has LARGE_ROWS rows of one value."""
LARGE_ROWS = LARGE_SHAPE[0] // 3
SUFFIXES = {"hdf5": "h5", "cdf5": "nc", "zarr": "zarr", "raw": "raw"}


def density(step: int) -> np.ndarray:
    return np.arange(np.prod(SHAPE), dtype="float64").reshape(SHAPE) + 10_000 * step


def counts(step: int) -> np.ndarray:
    return np.arange(COUNTS, dtype="int32") - 1000 * step


def large_value(step: int, rank: int) -> float:
    return 10.0 * step + rank
