"""Finds the busy-work exponent from which I/O hides behind computation (Borrill et al., section 5).

An asynchronous run can hide all transfers of a function except one of NBIN. Of the time T of
synchronous transfers, at most (1 - 1/NBIN) T can therefore be hidden. A run hides T less the
foreground time in which it was blocked in I/O. I/O counts as hidden if at least the share
``ENOUGH`` of what can be hidden is hidden. The formulas use rates instead of times, because both
kinds of runs move the same bytes: with the synchronous rate s and EAAR e, the hidden share is (1/s
- 1/e) / ((1 - 1/NBIN) / s) = (1 - s/e) / (1 - s/c), where c = NBIN s is the ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weir.results.quantities import percent_text

ENOUGH = 0.8
BLAS2, BLAS3 = 1.0, 1.5
"""Exponents of the operations on a matrix of N numbers: N for BLAS 2, N^1.5 for BLAS 3."""


@dataclass(frozen=True)
class AtExponent:
    """EAAR, its interval, and its synchronous bounds at one exponent, in bytes per second."""

    exponent: float
    rate: float
    low: float
    high: float
    synchronous: float
    ceiling: float


@dataclass(frozen=True)
class Hides:
    """The exponent from which I/O hides; ``low`` and ``high`` are by the ends of EAAR's intervals.

    ``exponent`` is ``None`` if I/O does not hide at any exponent that was run. ``low`` or ``high``
    is ``None`` if that end of the intervals never reaches the share.
    """

    exponent: float | None
    low: float | None
    high: float | None
    first: float
    last: float
    largest_share: float

    def text(self) -> str:
        """Returns one clause: ``hides from 1.32 on (1.30 to 1.35)``."""
        if self.exponent is None:
            return f"does not hide up to {self.last:g}: {percent_text(self.largest_share)} at most"
        if self.exponent <= self.first:
            return f"hides from {self.first:g} on, the smallest exponent that was run"
        early = self.first if self.low is None else self.low
        where = f"{early:.3g} or later" if self.high is None else f"{early:.3g} to {self.high:.3g}"
        return f"hides from {self.exponent:.3g} on ({where})"


def hidden_share(rate: float, synchronous: float, ceiling: float) -> float:
    """Returns the hidden share of what can be hidden; below 0 if asynchronous I/O is slower."""
    possible = 1 - synchronous / ceiling
    return (1 - synchronous / rate) / possible if possible > 0 else 0.0


def where_it_hides(points: Sequence[AtExponent]) -> Hides:
    """Interpolates between the exponents; ``points`` are those of one configuration, at least one.

    Each exponent has its own synchronous rate and ceiling, from the same job.
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
    """Returns the exponent from which the share stays at ``ENOUGH``, linear between exponents."""
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
