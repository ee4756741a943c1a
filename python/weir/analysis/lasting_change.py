"""Finds lasting steps and drifts in a short series of run medians, such as those of months.

A series is compared with a straight line and a step before each run
(``weir.analysis.best_shape``), in logarithms. A change must be significant twice: against noise
whose neighbours are alike, so that slow noise is no change, and against permutations of the series
itself, so that one extreme run is none. Of both significances the larger counts.

A second change can hide a first one: a rate that falls and recovers explains little as one step.
So the first and the last two thirds are also sought in, where a change must be more significant:
three quarters of the chance of a false change are left to the whole. What lies before and after a
step is sought in again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weir.analysis.best_shape import (
    SIMULATIONS,
    BestShape,
    best_shape,
    largest_shares,
    normalized,
)

Floats = NDArray[np.float64]

LEAST_RUNS = 10
"""In a series of fewer runs nothing is sought: their permutations are too few."""
LEAST_SIDE = 3
"""A step has at least so many runs on each side."""
FIRM_SIDE = 5
"""With fewer runs on a side a step is said to need more runs."""
SIGNIFICANT = 0.02
WHOLE, PART = 4 / 3, 8.0
"""The significance of a change in the whole, and in a part of it, counts so many times."""
DOUBT = 0.5
"""So many standard errors are taken off the correlation of neighbours."""
LEAST_CHANGE = 0.02
"""A change is named if the figure differs by at least this share."""
MOST_RUNS = 400
"""Of a longer series the newest runs count."""


@dataclass(frozen=True)
class LastingChange:
    """A step before run ``at``, or a drift, within runs ``first`` to ``end`` of a series.

    ``before`` and ``after`` are the medians of both sides, of a drift the fitted ends.
    """

    kind: Literal["step", "drift"]
    first: int
    at: int
    end: int
    before: float
    after: float
    significance: float

    @property
    def ratio(self) -> float:
        return self.after / self.before

    @property
    def runs_before(self) -> int:
        return self.at - self.first

    @property
    def runs_after(self) -> int:
        return self.end - self.at

    @property
    def is_firm(self) -> bool:
        return min(self.runs_before, self.runs_after) >= FIRM_SIDE


def find_lasting_changes(values: Sequence[float]) -> list[LastingChange]:
    """Returns the changes of a series in the order of time, which has at most ``MOST_RUNS``.

    None is found in a series with a value of zero.
    """
    series = np.asarray(values, dtype=float)
    if not len(series) or float(series.min()) <= 0:
        return []
    return _within(series, 0, len(series))


def _within(series: Floats, first: int, end: int) -> list[LastingChange]:
    number = end - first
    part = 2 * number // 3
    windows = [(first, end, 1.0)]
    if part >= LEAST_RUNS:
        windows = [(first, end, WHOLE), (first, first + part, PART), (end - part, end, PART)]
    found = [one for window in windows if (one := _best(series, *window))]
    if not found:
        return []
    best = min(found, key=lambda one: one.significance)
    if best.kind == "drift":
        return [best]
    earlier, later = _within(series, first, best.at), _within(series, best.at, end)
    # The sides of a step end where the next step is.
    begins = earlier[-1].at if earlier and earlier[-1].kind == "step" else first
    ends = later[0].at if later and later[0].kind == "step" else end
    return [*earlier, _step(series, begins, best.at, ends, best.significance), *later]


def _best(series: Floats, first: int, end: int, tries: float) -> LastingChange | None:
    if end - first < LEAST_RUNS:
        return None
    logs = np.log(series[first:end])
    best = best_shape(logs, shapes)
    if best is None:
        return None
    change = _as_change(series, first, end, best)
    is_short = change.kind == "step" and min(change.runs_before, change.runs_after) < LEAST_SIDE
    if is_short or abs(change.ratio - 1) < LEAST_CHANGE:
        return None
    # The correlation of neighbours among n runs is known to 1 / sqrt(n). Taken at its upper half by
    # chance, it would hide one in ten large steps.
    doubt = DOUBT / math.sqrt(end - first)
    significance = tries * best.significance(shapes, doubt)
    if significance <= SIGNIFICANT:
        significance = max(significance, tries * _of_permutations(logs, best.share))
    if significance > SIGNIFICANT:
        return None
    return LastingChange(**{**vars(change), "significance": significance})


def _as_change(series: Floats, first: int, end: int, best: BestShape) -> LastingChange:
    if best.shape > 0:
        return _step(series, first, first + best.shape, end, 1.0)
    fitted = np.exp(np.log(series[first:end]).mean() + best.fitted)
    return LastingChange("drift", first, first, end, float(fitted[0]), float(fitted[-1]), 1.0)


def _step(series: Floats, first: int, at: int, end: int, significance: float) -> LastingChange:
    before, after = float(np.median(series[first:at])), float(np.median(series[at:end]))
    return LastingChange("step", first, at, end, before, after, significance)


@lru_cache(maxsize=64)
def shapes(number: int) -> Floats:
    """Returns the straight line, and a step before each run but the first."""
    runs = np.arange(number)
    steps = [runs >= at for at in range(1, number)]
    return normalized(np.array([runs, *steps], dtype=float))


def _of_permutations(logs: Floats, share: float) -> float:
    """Returns how often a permutation of the series is explained as well."""
    random = np.random.default_rng(1)
    permuted = random.permuted(np.tile(logs, (SIMULATIONS, 1)), axis=1)
    as_well = int(np.sum(largest_shares(permuted, shapes) >= share * (1 - 1e-9)))
    return (1 + as_well) / (SIMULATIONS + 1)
