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
    centred = values - values.mean()
    products = centred[:-1] * centred[1:]
    number = float(len(values))
    if series is not None:
        same = series[:-1] == series[1:]
        number = len(values) / max(1, len(values) - int(same.sum()))
        products = products[same]
    total = float(np.mean(centred**2))
    if total <= 0 or not len(products):
        return 0.0
    found = float(products.mean()) / total
    return float(np.clip(found + (1 + 4 * found) / max(number, 4.0), 0.0, MOST_ALIKE))


def independent_count(values: Floats, series: NDArray[Any] | None, when: Floats) -> float:
    """Returns the number of independent values that say as much as these.

    Two kinds of likeness count: of neighbours in a series (a rank), and of all values of one time,
    whose means over slices of time then differ by more than chance.
    """
    number = len(values)
    alike = autocorrelation(values, series)
    of_neighbours = (1 + alike) / (1 - alike)
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
