"""Finds which shape of a bank explains a series best, and how often noise does as well.

The shapes are orthogonal to a constant and of length 1. The statistic is the share of the variance
that the best one explains. Its significance is that of the best shape in noise whose neighbours are
as much alike as what the shape leaves over (``weir.analysis.series_noise``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from weir.analysis.series_noise import autocorrelation, noise_like

Floats = NDArray[np.float64]
Bank = Callable[[int], Floats]
"""Returns the shapes of series of this length, one a row; the same function is the same bank."""

SIMULATIONS = 1999


@dataclass(frozen=True)
class BestShape:
    """The shape of the bank that explains the largest share of a series' variance."""

    shape: int
    fitted: Floats
    """Around zero."""
    share: float
    alike: float
    """The correlation of neighbours in what the shape leaves over."""

    def significance(self, bank: Bank, doubt: float = 0.0) -> float:
        """Returns how often the best shape explains as much in noise that is as much alike.

        ``doubt`` is taken off the correlation.
        """
        alike = max(0.0, self.alike - doubt)
        by_chance = _largest_by_chance(bank, len(self.fitted), rounded_up(alike))
        return (1 + int(np.sum(by_chance >= self.share))) / (SIMULATIONS + 1)


def best_shape(values: Floats, bank: Bank) -> BestShape | None:
    """Returns the best shape; None if all values are the same."""
    centred = values - values.mean()
    total = float(centred @ centred)
    if total <= 0:
        return None
    shapes = bank(len(values))
    projections = shapes @ centred
    best = int(np.argmax(projections**2))
    fitted = projections[best] * shapes[best]
    share = float(projections[best] ** 2) / total
    return BestShape(best, fitted, share, autocorrelation(centred - fitted))


def largest_shares(series: Floats, bank: Bank) -> Floats:
    """Returns for each series (a row) the share that its best shape explains."""
    centred = series - series.mean(axis=1, keepdims=True)
    best = np.max((centred @ bank(series.shape[1]).T) ** 2, axis=1)
    return np.asarray(best / np.sum(centred**2, axis=1))


def normalized(shapes: Floats) -> Floats:
    """Returns the shapes orthogonal to a constant and of length 1."""
    centred = shapes - shapes.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.linalg.norm(centred, axis=1, keepdims=True))


def rounded_up(alike: float) -> float:
    """Returns the correlation rounded up, so that few simulations are made."""
    return round(0.05 * math.ceil(alike / 0.05 - 1e-9), 2)


@lru_cache(maxsize=64)
def _largest_by_chance(bank: Bank, number: int, alike: float) -> Floats:
    return largest_shares(noise_like(alike, number, SIMULATIONS), bank)
