"""What noise alone does in a series: neighbours that are alike, and how many values count for.

Rates of neighbouring times are alike on shared storage. Tests that take them for independent find
trends, periods and modes in noise. The noise is modelled as a first-order autoregressive process,
as is usual for red noise (D. L. Gilman, F. J. Fuglister and J. M. Mitchell, "On the power spectrum
of 'red noise'", Journal of the Atmospheric Sciences 20, 1963).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_ALIKE = 0.95
"""The largest autocorrelation of neighbours: a longer memory cannot be told from a trend."""


def autocorrelation(values: Floats, series: NDArray[Any] | None = None) -> float:
    """Returns the correlation of neighbours, from 0; ``series`` tells which values are neighbours.

    The usual estimate is too low in short series by about (1 + 4 r) / n, which is added.
    """
    if len(values) < 4:
        return 0.0
    number = float(len(values))
    if series is not None:
        number /= 1 + int(np.sum(series[:-1] != series[1:]))
    found = _correlation(values, series, 1)
    return float(np.clip(found + (1 + 4 * found) / max(number, 4.0), 0.0, MOST_ALIKE))


def _correlation(values: Floats, series: NDArray[Any] | None, apart: int) -> float:
    centred = values - values.mean()
    products = centred[:-apart] * centred[apart:]
    if series is not None:
        products = products[series[:-apart] == series[apart:]]
    total = float(np.mean(centred**2))
    return float(products.mean()) / total if total > 0 and len(products) else 0.0


def variance_of_sums(values: Floats, series: NDArray[Any] | None = None) -> float:
    """Returns how many times larger the variance of sums is than that of independent values.

    Of two estimates the larger counts: noise that is alike, and such noise with independent noise
    on top, whose correlations fall by the same factor from the second on, but less from the first.
    """
    alike = autocorrelation(values, series)
    pure = (1 + alike) / (1 - alike)
    if alike * math.sqrt(len(values)) < 4 or len(values) < 8:
        return pure
    falls = float(np.clip(_correlation(values, series, 2) / alike, 0.0, MOST_ALIKE))
    return max(pure, 1 + 2 * alike / (1 - falls))


def independent_count(values: Floats, series: NDArray[Any] | None, when: Floats) -> float:
    """Returns the number of independent values that say as much as these.

    Two kinds of likeness count: of neighbours in a series (a rank), and of all values of one time,
    whose means over slices of time then differ by more than chance.
    """
    number = len(values)
    of_neighbours = variance_of_sums(values, series)
    slices = max(2, math.isqrt(number))
    means = np.array([part.mean() for part in np.array_split(values[np.argsort(when)], slices)])
    spread = float(np.var(values))
    of_times = number / slices * float(np.var(means)) / spread if spread > 0 else 1.0
    return number / max(1.0, of_neighbours, of_times)


def noise_like(alike: float, length: int, number: int, seed: int = 1) -> Floats:
    """Returns ``number`` series of noise whose neighbours have this correlation, of variance 1."""
    fresh = np.random.default_rng(seed).standard_normal((length, number))
    fresh[1:] *= math.sqrt(1 - alike**2)
    for place in range(1, length):
        fresh[place] += alike * fresh[place - 1]
    return fresh.T
