"""Two ways of doing the same work, timed in turn, and the median of their ratios.

A machine's speed drifts, and figures taken one after the other would compare its states. Here A and
B form a pair, the order inside the pairs alternates, each pair gives one ratio, and the result is
the median of the ratios with the smallest and the largest.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from values import Values, ratios

Measure = Callable[[], Mapping[str, float]]
"""Does the work once; returns its figures by name (rates, times), each larger than 0."""


@dataclass(frozen=True)
class Compared:
    """Figures of A and B pair by pair, in the order of their measurement."""

    name: str
    unit: str
    first: list[float]
    second: list[float]

    @property
    def ratios(self) -> Values:
        """Return the figure of A over the figure of B, pair by pair."""
        return ratios(self.first, self.second)

    @property
    def differences(self) -> Values:
        """Return the figure of A less the figure of B, pair by pair."""
        return Values([a - b for a, b in zip(self.first, self.second, strict=True)])

    def line(self) -> str:
        return (
            f"{self.name:<8} {statistics.median(self.first):>10.4g} "
            f"{statistics.median(self.second):>10.4g} {self.unit:<6} {self.ratios.text('7.3f')}"
        )


def compare(unit: str, first: Measure, second: Measure, pairs: int) -> list[Compared]:
    """Run one uncounted pair, then ``pairs`` alternating counted ones; return one item a figure."""
    first()
    second()
    figures: tuple[list[Mapping[str, float]], list[Mapping[str, float]]] = ([], [])
    for pair in range(pairs):
        for which in (0, 1) if pair % 2 == 0 else (1, 0):
            figures[which].append((first, second)[which]())
    return [
        Compared(name, unit, [one[name] for one in figures[0]], [one[name] for one in figures[1]])
        for name in figures[0][0]
    ]


def heading(first: str, second: str) -> str:
    """Return the heading of the lines of ``Compared``."""
    return f"{'':<31} {first:>10} {second:>10} {'':<6} {'ratio':>7} [smallest, largest]"
