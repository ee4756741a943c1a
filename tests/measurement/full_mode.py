"""MADbench2's analysis once more, dense and straight from its formulas, to compare results with.

Nothing is shared with the program: the sky comes from the C library's own ``drand48``, Legendre
polynomials from NumPy's Clenshaw summation, the algebra from LAPACK on whole matrices.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WIDTH = 10  # multipoles in a bin

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Dense:
    """dC of every bin, with what bounds its rounding errors."""

    correction: Array
    condition: float  # of the Fisher matrix times that of D


def sky(pixels: int) -> Array:
    """Unit vectors of the pixels, pixels x 3."""
    library = ctypes.CDLL(None)
    library.drand48.restype = ctypes.c_double
    library.srand48.argtypes = (ctypes.c_long,)
    library.srand48(0)
    drawn = np.array([[library.drand48(), library.drand48()] for _ in range(pixels)])
    ascension = 2 * np.pi * drawn[:, 0]
    declination = np.pi * (drawn[:, 1] - 0.5)
    flat = np.cos(declination)
    return np.stack(
        [flat * np.cos(ascension), flat * np.sin(ascension), np.sin(declination)], axis=1
    )


def components(pixels: int, bins: int) -> list[Array]:
    """dS/dC_b of every bin, each pixels x pixels."""
    directions = sky(pixels)
    cosines = np.clip(directions @ directions.T, -1, 1)
    made = []
    for place in range(bins):
        weights = np.zeros(bins * WIDTH + 1)
        multipoles = np.arange(place * WIDTH + 1, (place + 1) * WIDTH + 1)
        weights[multipoles] = (2 * multipoles + 1) / (4 * np.pi)
        made.append(np.polynomial.legendre.legval(cosines, weights))
    return made


def corrections(pixels: int, bins: int) -> Dense:
    parts = components(pixels, bins)
    covariance = sum(parts, np.eye(pixels))
    inverse = np.linalg.inv(covariance)
    data = np.ones(pixels)
    solution = inverse @ data
    results = [inverse @ part for part in parts]
    slope = np.array([(data @ w @ solution - np.trace(w)) / 2 for w in results])
    fisher = np.array([[np.trace(a @ b) / 2 for b in results] for a in results])
    condition = float(np.linalg.cond(fisher) * np.linalg.cond(covariance))
    return Dense(np.linalg.solve(fisher, slope), condition)
