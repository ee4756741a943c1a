"""Finds changes of a rate over time: decreasing rates, warm-up, periodic dips, and a long tail.

A rate over time is compared with a bank of shapes: a straight line, a step at each time, a warm-up
that fades. The statistic is the share of the variance that the best shape explains. Its
significance is that of the best shape in noise whose neighbours are as much alike as what the shape
leaves over (``weir.analysis.series_noise``), so slow noise is no trend. Periods are sought by
folding the rate at trial periods (D. A. Leahy and others, "On searches for pulsed emission",
Astrophysical Journal 266, 1983), which finds short dips where a periodogram spreads them over many
frequencies; the noise is the same. A label needs an effect of a stated size besides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weir.analysis.best_shape import SIMULATIONS, best_shape, normalized, rounded_up
from weir.analysis.series_noise import autocorrelation, noise_like
from weir.results.quantities import percent_text

Floats = NDArray[np.float64]

LEAST_WINDOWS = 16
"""With fewer windows of time nothing is sought."""
SIGNIFICANT = 0.002
LEAST_CHANGE = 0.15
"""A change is named if the rate differs by at least this share."""
LEAST_DIP = 0.15
"""Periodic dips are named if the rate falls by at least this share in them."""
MANY = 5
"""Larger changes are told as multiples."""
EARLY = 1 / 3
"""A change that is over within this share of the time is a warm-up."""
FOLDS = 6
LEAST_PERIODS = 4
"""A period is sought if it fits into the time at least so often."""
LEAST_TAIL = 0.1
"""A tail is named if it has at least this share of the time."""
LEAST_COST = 0.05
"""A tail is named if it costs at least this share of the time, and a change or dips if without them
the mean rate would be another by this share."""
MOST_DRAWN = 1000
"""If there are more units, only this many are simulated."""
POOL = 4000
"""The times of simulated units are drawn from so many."""
MOST_TERMS = 64
"""If a unit has more transfers, this many are simulated, each with a part of the deviation."""

Kind = Literal["decreasing", "increasing", "warm-up", "drop", "rise"]


@dataclass(frozen=True)
class Change:
    """A rate that changes. ``at`` is when, as a share of the time; None for a straight line."""

    kind: Kind
    before: float
    after: float
    at: float | None
    significance: float

    @property
    def fraction(self) -> float:
        return self.after / self.before - 1

    @property
    def text(self) -> str:
        size = _size_text(self.fraction)
        way = "lower" if self.after < self.before else "higher"
        if self.at is None:
            verb = "decreases" if self.after < self.before else "increases"
            return f"the rate {verb} steadily, by {size} from the beginning to the end"
        if self.kind == "warm-up":
            other = "lower" if way == "higher" else "higher"
            first = _size_text(self.before / self.after - 1)
            return f"the first {percent_text(self.at)} of the time is a warm-up, {first} {other}"
        verb = "drops" if self.after < self.before else "rises"
        return f"the rate {verb} by {size} after {percent_text(self.at)} of the time"


def _size_text(fraction: float) -> str:
    return f"{fraction:.0f} times" if fraction >= MANY else percent_text(abs(fraction))


@dataclass(frozen=True)
class Periodic:
    """A rate that falls regularly. ``period`` is a share of the time."""

    period: float
    depth: float
    significance: float


@dataclass(frozen=True)
class Tail:
    """The time at the end in which fewer than half of the units are active.

    ``lost`` is the share of the time that would be saved if all finished together.
    """

    fraction: float
    lost: float
    significance: float


def find_change(rates: Floats, significant: float = SIGNIFICANT) -> Change | None:
    """Returns how a rate changes over windows of equal time, or None if it does not."""
    number = len(rates)
    if number < LEAST_WINDOWS or float(np.min(rates, initial=1.0)) <= 0:
        return None
    logs = np.log(rates)
    best = best_shape(logs, _shapes)
    if best is None:
        return None
    change = _as_change(best.shape, logs.mean() + best.fitted)
    if abs(change.fraction) < LEAST_CHANGE or _effect(best.shape, best.fitted) < LEAST_COST:
        return None
    significance = best.significance(_shapes)
    if significance > significant:
        return None
    return Change(change.kind, change.before, change.after, change.at, significance)


@lru_cache(maxsize=16)
def _shapes(number: int) -> Floats:
    """Returns orthogonal to a constant and of length 1: the line, then warm-ups, then steps."""
    times = np.arange(number) + 0.5
    shapes = [times]
    shapes += [np.exp(-times / (number * fading)) for fading in (0.03, 0.06, 0.1)]
    least = max(2, number // 16)
    shapes += [(times > place).astype(float) for place in range(least, number - least + 1)]
    return normalized(np.array(shapes))


def _effect(shape: int, fitted: Floats) -> float:
    """Returns how far the mean rate is from that of the longer part, as a share of the latter.

    Of a straight line, neither part is the odd one; it is how far the mean is from the better end.
    """
    rates = np.exp(fitted)
    usual = float(rates.max() if shape == 0 else np.median(rates))
    return abs(float(rates.mean()) / usual - 1)


def _as_change(shape: int, fitted: Floats) -> Change:
    number = len(fitted)
    first, last = float(np.exp(fitted[0])), float(np.exp(fitted[-1]))
    if shape == 0:
        return Change("decreasing" if last < first else "increasing", first, last, None, 1.0)
    half = (fitted[0] + fitted[-1]) / 2
    beyond = fitted > half if last > first else fitted < half
    at = float(np.argmax(beyond)) / number
    if shape <= 3:
        at = min(1.0, at * 2)
    if at <= EARLY:
        return Change("warm-up", first, last, at, 1.0)
    return Change("drop" if last < first else "rise", first, last, at, 1.0)


def find_period(rates: Floats, significant: float = SIGNIFICANT) -> Periodic | None:
    """Returns periodic dips of a rate over windows of equal time, or None without any.

    Each row of ``rates`` is a repetition; the dips have the same period in all, at any phase.
    """
    rows, number = rates.shape
    if number < 2 * LEAST_WINDOWS or float(np.min(rates)) <= 0:
        return None
    logs = np.log(rates)
    centred = np.array([_without_change(row) for row in logs - logs.mean(axis=1, keepdims=True)])
    total = float(np.sum(centred**2))
    if total <= 0:
        return None
    explained = _folded(centred).sum(axis=0) / total
    place = int(np.argmax(explained))
    period = _trial_periods(number)[place]
    profiles = [_profile(row, period) for row in centred]
    depth = 1 - float(np.exp(np.mean([one.min() - np.median(one) for one in profiles])))
    lost = 1 - float(np.mean([np.exp(one - np.median(one)).mean() for one in profiles]))
    if depth < LEAST_DIP or lost < LEAST_COST:
        return None
    phases = _phases(number, period)
    alike = np.mean(
        [autocorrelation(row - one[phases]) for row, one in zip(centred, profiles, strict=True)]
    )
    by_chance = _most_folded_by_chance(rows, number, rounded_up(float(alike)))
    significance = (1 + int(np.sum(by_chance >= explained[place]))) / (SIMULATIONS + 1)
    if significance > significant:
        return None
    return Periodic(period / number, depth, significance)


def _without_change(centred: Floats) -> Floats:
    best = best_shape(centred, _shapes)
    return centred if best is None else np.asarray(centred - best.fitted)


def _phases(number: int, period: float) -> NDArray[np.int64]:
    return (np.arange(number) / period % 1 * FOLDS).astype(np.int64)


@lru_cache(maxsize=16)
def _trial_periods(number: int) -> tuple[float, ...]:
    """Returns periods, in windows, whose numbers within the time differ by a quarter."""
    shortest, longest = 3.0, number / LEAST_PERIODS
    periods = [longest]
    while periods[-1] > shortest:
        cycles = number / periods[-1]
        periods.append(number / (cycles + 0.25))
    return tuple(periods[:-1])


@lru_cache(maxsize=16)
def _grouping(number: int) -> Floats:
    """Returns, for each trial period, which windows have which phase, by the root of their number.

    The squared sums of a series over them are what the means by phase explain.
    """
    rows = []
    for period in _trial_periods(number):
        phases = _phases(number, period)
        for phase in range(FOLDS):
            own = (phases == phase).astype(float)
            rows.append(own / max(1.0, np.sqrt(own.sum())))
    return np.array(rows)


def _folded(centred: Floats) -> Floats:
    """Returns for each series (a row) and each trial period what the means by phase explain."""
    number = centred.shape[1]
    squares = (centred @ _grouping(number).T) ** 2
    return np.asarray(squares.reshape(len(centred), -1, FOLDS).sum(axis=2))


@lru_cache(maxsize=64)
def _most_folded_by_chance(rows: int, number: int, alike: float) -> Floats:
    noise = noise_like(alike, number, SIMULATIONS * rows)
    noise -= noise.mean(axis=1, keepdims=True)
    explained = _folded(noise).reshape(SIMULATIONS, rows, -1).sum(axis=1).max(axis=1)
    return np.asarray(explained / np.sum(noise**2, axis=1).reshape(SIMULATIONS, rows).sum(axis=1))


def _profile(centred: Floats, period: float) -> Floats:
    phases = _phases(len(centred), period)
    sums = np.bincount(phases, weights=centred, minlength=FOLDS)
    return np.asarray(sums / np.maximum(1, np.bincount(phases, minlength=FOLDS)))


def tail_fraction(busy_seconds: Floats) -> float:
    """Returns the share of the time in which fewer than half of the units are active.

    ``busy_seconds`` has, for each of at least one unit, the time until it was done; the time is the
    longest of them. Of n units fewer than half are active once n // 2 + 1 are done.
    """
    longest = float(np.max(busy_seconds))
    if longest <= 0:
        return 0.0
    return 1 - float(np.sort(busy_seconds)[len(busy_seconds) // 2]) / longest


def find_tail(
    busy_seconds: Floats, deviations: Floats, number: int, significant: float = SIGNIFICANT
) -> Tail | None:
    """Returns the tail of units that began together, by the time until each was done.

    ``deviations`` are the relative ones of the times of single transfers, of which each unit has
    ``number``: by chance, units of equal work and rate are done apart by the sums of so many.
    """
    units = len(busy_seconds)
    longest = float(np.max(busy_seconds, initial=0.0))
    if units < 3 or longest <= 0 or number < 2:
        return None
    fraction = tail_fraction(busy_seconds)
    lost = 1 - float(np.mean(busy_seconds)) / longest
    if fraction < LEAST_TAIL or lost < LEAST_COST:
        return None
    drawn, terms = min(units, MOST_DRAWN), min(number, MOST_TERMS)
    random = np.random.default_rng(1)
    sums = random.choice(deviations, (terms, POOL)).mean(axis=0) * math.sqrt(terms / number)
    times = np.maximum(1 + random.choice(sums, (SIMULATIONS, drawn)), 0.0)
    middle = drawn // 2
    halves = np.partition(times, middle, axis=1)[:, middle]
    exceeded = int(np.sum(1 - halves / times.max(axis=1) >= fraction))
    significance = (1 + exceeded) / (SIMULATIONS + 1)
    return Tail(fraction, lost, significance) if significance <= significant else None
