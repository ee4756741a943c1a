"""Compares how much rates vary under two conditions.

The statistic is that of Brown and Forsythe ("Robust tests for the equality of variances", Journal
of the American Statistical Association 69, 1974): mean distances from the median. Distances are
relative to the median, so a faster condition does not seem to vary more. The significance is that
of permutations of the distances, so no distribution is assumed; with few values all are tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from weir.results.quantities import percent_text

LEAST_VALUES = 4
"""With fewer values on a side no spread is compared."""
SIGNIFICANT = 0.05
LEAST_RATIO = 1.5
PERMUTATIONS = 1999


@dataclass(frozen=True)
class SpreadComparison:
    """Relative spread of both sides: mean distance from the median over the median."""

    first: float
    second: float
    significance: float

    @property
    def differs(self) -> bool:
        low, high = sorted((self.first, self.second))
        return self.significance <= SIGNIFICANT and high >= LEAST_RATIO * low

    @property
    def text(self) -> str:
        said = f"{percent_text(self.first, 1)} and {percent_text(self.second, 1)}"
        return f"{said}, {'differ' if self.differs else 'no difference shown'}"


def distances(values: Sequence[float]) -> NDArray[np.float64]:
    """Returns how far each value is from the median, which is not zero, in shares of it."""
    return np.abs(np.asarray(values) / float(np.median(values)) - 1)


def compare_spreads(first: Sequence[float], second: Sequence[float]) -> SpreadComparison | None:
    """Returns how the spreads compare; None with too few values, or with a median of zero."""
    if min(len(first), len(second)) < LEAST_VALUES:
        return None
    if min(float(np.median(one)) for one in (first, second)) <= 0:
        return None
    sides = [distances(one) for one in (first, second)]
    together, number = np.concatenate(sides), len(first)
    if math.comb(len(together), number) <= PERMUTATIONS:
        chosen = np.array(list(combinations(range(len(together)), number)))
    else:
        random = np.random.default_rng(1)
        places = np.tile(np.arange(len(together)), (PERMUTATIONS, 1))
        chosen = random.permuted(places, axis=1)[:, :number]
        chosen = np.vstack([np.arange(number), chosen])
    sums = together[chosen].sum(axis=1)
    means = np.abs(sums / number - (together.sum() - sums) / (len(together) - number))
    observed = abs(float(sides[0].mean() - sides[1].mean()))
    significance = float(np.mean(means >= observed * (1 - 1e-9)))
    return SpreadComparison(float(sides[0].mean()), float(sides[1].mean()), significance)
