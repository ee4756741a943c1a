"""What adding_program.py writes and test_additions.py expects."""

from __future__ import annotations

import numpy as np

SHAPE = (64, 96)
GROWING = {"hdf5": "file.h5", "zarr": "file.zarr", "raw": "file.raw"}
CLASSIC = {"cdf5": "file.nc"}


def values_of(step: int, more: float) -> np.ndarray:
    return np.arange(np.prod(SHAPE), dtype=float).reshape(SHAPE) + 10000 * step + more
