"""Intervals of the median against the binomial distribution written out."""

from __future__ import annotations

import itertools

import pytest

from weir.results.statistics import median_interval


def test_few_values_give_their_whole_range_with_the_coverage_it_has() -> None:
    assert median_interval([3.0]) == (3.0, 3.0, 3.0, 0.0)
    assert median_interval([5.0, 1.0, 3.0]) == (3.0, 1.0, 5.0, 0.75)


def coverage_by_counting(count: int, low: int, high: int) -> float:
    """Each value lies below the true median or not; count the sides that put it within the pair."""
    inside = sum(low <= sum(sides) < high for sides in itertools.product((0, 1), repeat=count))
    return inside / 2**count


@pytest.mark.parametrize("count", range(2, 15))
def test_coverage_is_what_counting_all_cases_gives(count: int) -> None:
    values = [float(value) for value in range(1, count + 1)]
    interval = median_interval(values)
    low, high = int(interval.low), int(interval.high)
    assert low + high == count + 1
    assert interval.confidence == pytest.approx(coverage_by_counting(count, low, high))
    if count >= 6:
        assert interval.confidence >= 0.95
        narrower = coverage_by_counting(count, low + 1, high - 1)
        assert narrower < 0.95
