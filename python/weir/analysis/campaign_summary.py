"""Summarizes a campaign by combination: medians, intervals, expectations, verdicts.

A combination that was run once has its run's median and interval. One that was run several times
has the median of its runs' medians, with an interval by order statistics over the runs. Repetitions
within a run are subject to the same conditions of that moment, so they do not count as
replications.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from weir.results.campaign import Campaign
from weir.results.expectations import Direction, ExpectedRate, Metric
from weir.results.record import WORST_FIRST
from weir.results.schema import EffectiveRate, Rate, Run
from weir.results.statistics import MedianInterval, median_interval


@dataclass(frozen=True)
class Expected:
    """What a combination should have reached in bytes per second; medians over its runs."""

    rate: float
    low: float
    high: float
    limiting_stage: str


@dataclass(frozen=True)
class Cell:
    """One headline rate of one configuration of one combination."""

    combination: int
    label: str
    direction: Direction
    metric: Metric
    median: float
    low: float
    high: float
    confidence: float
    runs: int
    expected: Expected | None
    verdict: str


@dataclass(frozen=True)
class Effective:
    """EAAR of one asynchronous configuration of one combination; medians over its runs."""

    combination: int
    label: str
    direction: Direction
    rate: float
    low: float
    high: float
    synchronous: float | None
    ceiling: float | None
    expected: Expected | None


Runs = Mapping[int, Sequence[tuple[Path, Run]]]


def cells_of(campaign: Campaign, finished: Runs) -> list[Cell]:
    """Returns every combination's headline rates, in the order of the combinations."""
    grouped: dict[tuple[int, str, Direction, Metric], list[tuple[Run, Rate]]] = {}
    for combination, run in _complete(campaign, finished):
        for rate in run.rates:
            if rate.headline:
                key = (combination, run.label, rate.direction, rate.metric)
                grouped.setdefault(key, []).append((run, rate))
    return [_cell(*key, found) for key, found in sorted(grouped.items(), key=lambda item: item[0])]


def effective_of(campaign: Campaign, finished: Runs) -> list[Effective]:
    """Returns every combination's EAAR with its synchronous bounds, for runs that have them."""
    grouped: dict[tuple[int, str, Direction], list[tuple[Run, EffectiveRate]]] = {}
    for combination, run in _complete(campaign, finished):
        for entry in run.effective:
            key = (combination, run.label, entry.direction)
            grouped.setdefault(key, []).append((run, entry))
    found = []
    for (combination, label, direction), entries in sorted(grouped.items(), key=lambda i: i[0]):
        rates = [
            rate
            for run, _ in entries
            for rate in run.rates
            if (rate.direction, rate.metric) == (direction, "foreground")
        ]
        if not rates:
            continue
        median, low, high, _ = _interval(rates)
        expected = _expected([run for run, _ in entries], direction, "foreground")
        synchronous = _median(e.synchronous_bytes_per_second for _, e in entries)
        ceiling = _median(e.nbin_multiple_bytes_per_second for _, e in entries)
        found.append(
            Effective(
                combination, label, direction, median, low, high, synchronous, ceiling, expected
            )
        )
    return found


def _complete(campaign: Campaign, finished: Runs) -> Iterable[tuple[int, Run]]:
    for planned in campaign.runs:
        for _, run in finished.get(planned.number, []):
            if run.status == "complete":
                yield planned.combination, run


def _cell(
    combination: int,
    label: str,
    direction: Direction,
    metric: Metric,
    found: list[tuple[Run, Rate]],
) -> Cell:
    median, low, high, confidence = _interval([rate for _, rate in found])
    runs = [run for run, _ in found]
    return Cell(
        combination=combination,
        label=label,
        direction=direction,
        metric=metric,
        median=median,
        low=low,
        high=high,
        confidence=confidence,
        runs=len(found),
        expected=_expected(runs, direction, metric),
        verdict=_verdict(runs, direction, metric),
    )


def _interval(rates: Sequence[Rate]) -> MedianInterval:
    if len(rates) == 1:
        (one,) = rates
        return MedianInterval(
            one.median,
            one.low,
            one.high,
            one.confidence,
        )
    return median_interval([rate.median for rate in rates])


def _expected(runs: Sequence[Run], direction: Direction, metric: Metric) -> Expected | None:
    made: list[ExpectedRate] = [
        rate
        for run in runs
        if run.expectation is not None
        for rate in run.expectation.rates
        if (rate.direction, rate.metric) == (direction, metric)
    ]
    if not made:
        return None
    return Expected(
        statistics.median(rate.value for rate in made),
        statistics.median(rate.low for rate in made),
        statistics.median(rate.high for rate in made),
        Counter(rate.limiting_stage for rate in made).most_common(1)[0][0],
    )


def _verdict(runs: Sequence[Run], direction: Direction, metric: Metric) -> str:
    """Returns the word on which all runs agree, else the worst word and how many runs have it."""
    words = Counter(
        rate.verdict
        for run in runs
        if run.verdict is not None
        for rate in run.verdict.rates
        if (rate.direction, rate.metric) == (direction, metric)
    )
    if not words:
        return "not judged"
    worst = next(word for word in WORST_FIRST if word in words)
    total = sum(words.values())
    return worst if words[worst] == total else f"{worst} in {words[worst]} of {total}"


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
