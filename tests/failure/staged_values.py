"""What staged_ranks.py writes, and test_staging.py expects."""

from __future__ import annotations

import numpy as np

SHAPE = (24, 16, 20)
COUNTS = 37
SUFFIXES = {"hdf5": "h5", "cdf5": "nc", "zarr": "zarr", "raw": "raw"}


def density(step: int) -> np.ndarray:
    return np.arange(np.prod(SHAPE), dtype="float64").reshape(SHAPE) + 10_000 * step


def counts(step: int) -> np.ndarray:
    return np.arange(COUNTS, dtype="int32") - 1000 * step
