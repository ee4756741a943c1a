"""From which busy-work exponent on I/O hides behind computation (Borrill et al., section 5).

An asynchronous run can hide all transfers of a function but one of NBIN, so of the time T that
synchronous transfers take, (1 - 1/NBIN) T can be hidden at most. What a run hides is T less the
foreground time that it was blocked in I/O. I/O is said to hide where at least ``ENOUGH`` of what
can be hidden is. Rates stand for times here, as both move the same bytes: with the synchronous rate
s and EAAR e, the hidden share is (1/s - 1/e) / ((1 - 1/NBIN) / s) = (1 - s/e) / (1 - s/c), where
c = NBIN s is the ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weir.results.quantities import percent_text

ENOUGH = 0.8


@dataclass(frozen=True)
class AtExponent:
    """EAAR, its interval, and its synchronous bounds at one exponent, bytes per second."""

    exponent: float
    rate: float
    low: float
    high: float
    synchronous: float
    ceiling: float


@dataclass(frozen=True)
class Hides:
    """Where I/O begins to hide. ``low`` and ``high`` are by the ends of EAAR's intervals.

    ``exponent`` is ``None`` when I/O does not hide at any exponent that was run; an end is
    ``None`` when that end of the intervals never gets there.
    """

    exponent: float | None
    low: float | None
    high: float | None
    first: float
    last: float
    largest_share: float

    def text(self) -> str:
        """One clause: ``hides from 1.32 on (1.30 to 1.35)``."""
        if self.exponent is None:
            return f"does not hide up to {self.last:g}: {percent_text(self.largest_share)} at most"
        if self.exponent <= self.first:
            return f"hides from {self.first:g} on, the smallest exponent that was run"
        early = self.first if self.low is None else self.low
        where = f"{early:.3g} or later" if self.high is None else f"{early:.3g} to {self.high:.3g}"
        return f"hides from {self.exponent:.3g} on ({where})"


def hidden_share(rate: float, synchronous: float, ceiling: float) -> float:
    """What is hidden of what can be; below 0 where asynchronous I/O is slower."""
    possible = 1 - synchronous / ceiling
    return (1 - synchronous / rate) / possible if possible > 0 else 0.0


def where_it_hides(points: Sequence[AtExponent]) -> Hides:
    """Interpolated between the exponents; ``points`` are one configuration's, at least one.

    The synchronous rate and the ceiling of each exponent are its own, from the same job.
    """
    ordered = sorted(points, key=lambda point: point.exponent)

    def shares(rates: Sequence[float]) -> list[tuple[float, float]]:
        return [
            (point.exponent, hidden_share(rate, point.synchronous, point.ceiling))
            for point, rate in zip(ordered, rates, strict=True)
        ]

    median = shares([point.rate for point in ordered])
    return Hides(
        exponent=_reached(median),
        low=_reached(shares([point.high for point in ordered])),
        high=_reached(shares([point.low for point in ordered])),
        first=ordered[0].exponent,
        last=ordered[-1].exponent,
        largest_share=max(share for _, share in median),
    )


def _reached(shares: Sequence[tuple[float, float]]) -> float | None:
    """From where on the share stays at ``ENOUGH``, linear between the exponents."""
    reached: float | None = None
    before: tuple[float, float] | None = None
    for exponent, share in shares:
        if share < ENOUGH:
            reached = None
        elif reached is None:
            reached = exponent if before is None else _crossing(before, (exponent, share))
        before = (exponent, share)
    return reached


def _crossing(below: tuple[float, float], above: tuple[float, float]) -> float:
    (x, low), (y, high) = below, above
    return x + (ENOUGH - low) / (high - low) * (y - x)
