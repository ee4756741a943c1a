"""One figure of several repetitions, pairs or runs: its median, smallest and largest value."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Values:
    """The values of one figure, in the order of their measurement."""

    values: Sequence[float]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def text(self, form: str = ".3g", scale: float = 1.0) -> str:
        low, high = min(self.values) * scale, max(self.values) * scale
        return f"{self.median * scale:{form}} [{low:{form}}, {high:{form}}]"


def ratios(first: Sequence[float], second: Sequence[float]) -> Values:
    """Return the first figure over the second, pair by pair, as far as there are both."""
    return Values([a / b for a, b in zip(first, second, strict=False)])


def reached(goal_is_met: bool) -> str:
    return "reached" if goal_is_met else "not reached"
