"""Levels that were not tested: between two that were, and beyond the outermost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from weir.follow_up.points import is_number
from weir.model.laws import Values
from weir.results.campaign import CampaignFactor, Value

Row = tuple[Value, ...]
"""A level of a factor: a value for each of its names."""


def is_numeric(factor: CampaignFactor) -> bool:
    """Returns whether all values of a factor are numbers, so that others lie between them."""
    return all(is_number(value) for row in factor.levels for value in row)


def ordered(factor: CampaignFactor) -> list[Row]:
    """Returns the levels of a numeric factor, the smallest first."""
    return sorted((tuple(row) for row in factor.levels), key=lambda row: float(row[0]))


def between(first: Row, second: Row) -> Row | None:
    """Returns a level in the geometric middle (near zero: the middle); None if there is none."""
    found = tuple(_between(a, b) for a, b in zip(first, second, strict=True))
    kept = tuple(value for value in found if value is not None)
    return kept if len(kept) == len(found) and kept not in (first, second) else None


def beyond(inner: Row, outer: Row) -> Row | None:
    """Returns the level as far beyond ``outer`` as ``inner`` is on its other side, or None.

    It is at most a factor of two away, and never zero or below.
    """
    found: list[Value] = []
    for a, b in zip(inner, outer, strict=True):
        one = _beyond(a, b)
        if one is None:
            return None
        found.append(one)
    return tuple(found) if tuple(found) != outer else None


def coordinates(factor: CampaignFactor, values: Sequence[Value]) -> Values:
    """Returns where values of a numeric factor's first name lie; its levels span 0 to 1.

    The scale is logarithmic where all levels are above 0.
    """
    levels = np.array([float(row[0]) for row in factor.levels])
    given = np.array([float(value) for value in values])
    if levels.min() > 0:
        levels, given = np.log(levels), np.log(np.maximum(given, 1e-300))
    span = float(levels.max() - levels.min())
    return np.asarray((given - levels.min()) / (span or math.log(2)))


def _between(a: Value, b: Value) -> Value | None:
    if a == b:
        return a
    low, high = sorted((float(a), float(b)))
    middle = math.sqrt(low * high) if low > 0 else (low + high) / 2
    if isinstance(a, float) or isinstance(b, float):
        return float(f"{middle:.4g}")
    rounded = _rounded(middle, int(a), int(b))
    return rounded if low < rounded < high else None


def _beyond(a: Value, b: Value) -> Value | None:
    if a == b:
        return b
    inner, outer = float(a), float(b)
    if inner <= 0 or outer <= 0:
        moved = 2 * outer - inner
        return None if moved <= 0 else type(b)(moved)
    ratio = min(2.0, max(0.5, outer / inner))
    if isinstance(a, float) or isinstance(b, float):
        return float(f"{outer * ratio:.4g}")
    rounded = _rounded(outer * ratio, int(a), int(b))
    return rounded if rounded >= 1 and (rounded > outer) == (ratio > 1) else None


def _rounded(value: float, a: int, b: int) -> int:
    """Returns a whole number that is as round as the levels beside it: sizes stay whole pages."""
    grain = math.gcd(a, b)
    if grain % 4096 == 0:
        while grain > value / 4 and grain % 8192 == 0:
            grain //= 2
        return max(1, round(value / grain)) * grain
    return round(value)
