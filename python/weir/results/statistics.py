"""Order statistics of repetitions, which assume no distribution."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple


class MedianInterval(NamedTuple):
    """A median, an interval for it, and the interval's coverage."""

    median: float
    low: float
    high: float
    confidence: float


def median_interval(values: Sequence[float], confidence: float = 0.95) -> MedianInterval:
    """Returns the median and the narrowest symmetric pair of order statistics that covers it.

    The pair (k, n + 1 - k) covers the true median with probability 1 - 2 P(B < k), where B is
    binomial with n trials of 1/2. If even the whole range has less than ``confidence`` (n < 6 at 95
    %), the result is the whole range with its coverage, 1 - 2^(1 - n). Needs at least one value.
    """
    ordered = sorted(values)
    count = len(ordered)
    tail, k, coverage = 0.0, 1, 0.0
    for candidate in range(1, count // 2 + 1):
        tail += math.comb(count, candidate - 1) / 2.0**count
        if candidate > 1 and 1 - 2 * tail < confidence:
            break
        k, coverage = candidate, 1 - 2 * tail
    return MedianInterval(
        statistics.median(ordered), ordered[k - 1], ordered[count - k], max(0.0, coverage)
    )


def predicted_by_the_others(values: Sequence[float]) -> list[float]:
    """Returns how far each value is from the median of the others, |median/value - 1|."""
    if len(values) < 2:
        return []
    others = ([*values[:place], *values[place + 1 :]] for place in range(len(values)))
    return [
        abs(statistics.median(other) / value - 1)
        for other, value in zip(others, values, strict=True)
        if value > 0
    ]
