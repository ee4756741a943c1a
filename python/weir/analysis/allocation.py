"""Judges how files or bytes are distributed to targets, and what an uneven distribution costs.

A. Uselton ("Parallel File System Benchmarking Made Easy", section 3.9.1) estimates the files of a
target from when it was done and its mean rate, f = t r / B. Targets with about the same number form
a class; the distance of the classes tells how many files the file system deals at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weir.results.quantities import percent_text, significant

Floats = NDArray[np.float64]

CLASS_GAP = 0.1
"""Two classes are at least this share of the mean number of files apart."""
MOST_OFF = 0.25
"""Files were allocated several at a time if no class is off by more than this share of a step."""
LEAST_UNEVEN = 1.3
"""An allocation is uneven if a unit has at least this many times the mean of all units."""
LEAST_LOSS = 0.05
"""An uneven allocation is named if it costs at least this share of the time."""


@dataclass(frozen=True)
class Class:
    """Units with about the same number of files."""

    files: float
    units: int


@dataclass(frozen=True)
class Allocation:
    """An uneven distribution.

    ``seconds`` is the time of all units, ``even_seconds`` the time that an even distribution would
    take at the rate that all units reach together.
    """

    level: str
    classes: tuple[Class, ...]
    at_a_time: float | None
    seconds: float
    even_seconds: float
    worst: float
    """Bytes of the unit with the most over the mean of all."""
    counts_files: bool = True

    @property
    def faster(self) -> float:
        return self.seconds / self.even_seconds

    @property
    def lost(self) -> float:
        """Share of the rate that is lost."""
        return 1 - self.even_seconds / self.seconds

    @property
    def text(self) -> str:
        unit = "files" if self.counts_files else "of the mean"
        many = len(self.classes) > MOST_CLASSES
        shown = self.classes[-MOST_CLASSES:] if many else self.classes
        classes = ", ".join(
            f"{self._amount(one.files)} on {one.units} {self.level}{'s' if one.units > 1 else ''}"
            for one in shown
        )
        steps = f", about {self.at_a_time:.0f} at a time" if self.at_a_time else ""
        kind = f"{len(self.classes)} classes of {unit}" if self.counts_files else "shares"
        return (
            f"uneven allocation: {kind} ({'the largest: ' if many else ''}{classes}){steps}; "
            f"it would be {self.faster:.2f} times faster with even {self.level}s, which loses "
            f"{percent_text(self.lost)} of the rate"
        )

    def _amount(self, files: float) -> str:
        return f"{files:.0f}" if self.counts_files else f"{significant(files)} times the mean"


MOST_CLASSES = 6


def files_of_targets(seconds: Floats, rates: Floats, file_bytes: float) -> Floats:
    """Returns the number of files of each target, f = t r / B, from when it was done."""
    return np.asarray(seconds * rates / file_bytes)


def classes_of(files: Sequence[float] | Floats) -> tuple[Class, ...]:
    """Returns the classes of units, by the gaps between their numbers of files; fewest first."""
    ordered = np.sort(np.asarray(files, dtype=float))
    gaps = np.diff(ordered)
    apart = np.flatnonzero(gaps > CLASS_GAP * max(float(ordered.mean()), 1e-30))
    parts = np.split(ordered, apart + 1)
    return tuple(Class(float(np.median(part)), len(part)) for part in parts)


def allocated_at_a_time(classes: Sequence[Class]) -> float | None:
    """Returns the common distance of classes, if they are that far apart; None if there is none."""
    if len(classes) < 3:
        return None
    files, units = np.array([[one.files, one.units] for one in classes]).T
    numbers = np.arange(len(classes))
    step, first = np.polyfit(numbers, files, 1, w=np.sqrt(units))
    off = float(np.abs(files - first - step * numbers).max())
    return float(step) if step > 1.5 and off <= MOST_OFF * step else None


def plateau_rate(starts: Floats, ends: Floats, moved: Floats, units: NDArray[np.int64]) -> float:
    """Returns the rate of all units together while all have work; each transfer's is constant."""
    begin = float(starts.min())
    last = np.zeros(int(units.max()) + 1)
    np.maximum.at(last, units, ends)
    first_done = float(last.min())
    share = np.clip((first_done - starts) / np.maximum(ends - starts, 1e-12), 0.0, 1.0)
    return float((moved * share).sum()) / (first_done - begin)


def uneven_allocation(
    level: str, seconds: float, moved: Floats, plateau: float, file_bytes: float | None
) -> Allocation | None:
    """Returns what is uneven about the bytes of units, or None if that is not, or costs little.

    ``plateau`` is the rate of all units together while all have work; ``file_bytes`` the size of
    the files, if they are of one size.
    """
    mean = float(moved.mean())
    if len(moved) < 2 or mean <= 0 or float(moved.max()) < LEAST_UNEVEN * mean:
        return None
    even = float(moved.sum()) / plateau
    if 1 - even / seconds < LEAST_LOSS:
        return None
    files = moved / (file_bytes or mean)
    classes = classes_of(files)
    return Allocation(
        level,
        classes,
        allocated_at_a_time(classes) if file_bytes else None,
        seconds,
        even,
        float(moved.max()) / mean,
        file_bytes is not None,
    )
