"""Compares two runs: medians, their ratio, whether their intervals overlap, what differed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from weir.results.errors import ResultError
from weir.results.schema import Phase, Run
from weir.results.statistics import MedianInterval, median_interval


@dataclass(frozen=True)
class RateComparison:
    """One rate of both runs. ``function`` is ``all`` for a direction over the whole run."""

    function: str
    direction: str
    metric: str
    first: MedianInterval
    second: MedianInterval

    @property
    def ratio(self) -> float | None:
        """Second median over the first; None if the first is zero."""
        return self.second.median / self.first.median if self.first.median else None

    @property
    def intervals_overlap(self) -> bool:
        """Whether the intervals of the two medians overlap, so that no difference is proven."""
        return self.first.low <= self.second.high and self.second.low <= self.first.high


@dataclass(frozen=True)
class ParameterDifference:
    """A parameter, or the number of ranks, that differs between the runs."""

    name: str
    first: str
    second: str


@dataclass(frozen=True)
class Comparison:
    """What ``weir results compare`` shows."""

    first: Run
    second: Run
    rates: list[RateComparison]
    differences: list[ParameterDifference]


def compare(first: Run, second: Run) -> Comparison:
    """Compare two runs by the metrics that are a headline in either of them."""
    metrics = sorted(
        {rate.metric for run in (first, second) for rate in run.rates if rate.headline}
    )
    rates = [
        RateComparison(*key, before, after)
        for metric in metrics
        for key, before, after in _matching(_rates(first, metric), _rates(second, metric))
    ]
    if not rates:
        raise ResultError(f"{first.id} and {second.id} have no measured rate in common to compare")
    return Comparison(first, second, rates, _differences(first, second))


def pair_by_label(
    first: Sequence[Run], second: Sequence[Run]
) -> tuple[list[tuple[Run, Run]], list[str]]:
    """Returns pairs of runs with the same workload and label, and the labels of one side only.

    If each side has one run, these are a pair whatever their labels.
    """
    if len(first) == 1 and len(second) == 1:
        return [(first[0], second[0])], []
    left = {(run.workload, run.label): run for run in first}
    right = {(run.workload, run.label): run for run in second}
    pairs = [(run, right[key]) for key, run in left.items() if key in right]
    return pairs, [label for _, label in sorted(left.keys() ^ right.keys())]


Key = tuple[str, str, str]


def _matching(
    first: dict[Key, MedianInterval], second: dict[Key, MedianInterval]
) -> list[tuple[Key, MedianInterval, MedianInterval]]:
    return [(key, value, second[key]) for key, value in first.items() if key in second]


def _rates(run: Run, metric: str) -> dict[Key, MedianInterval]:
    rates: dict[Key, MedianInterval] = {
        ("all", rate.direction, metric): MedianInterval(
            rate.median,
            rate.low,
            rate.high,
            rate.confidence,
        )
        for rate in run.rates
        if rate.metric == metric
    }
    values: dict[Key, list[float]] = defaultdict(list)
    for repetition in run.repetitions:
        for phase in [] if repetition.warmup else repetition.phases:
            value = _phase_rate(phase, metric)
            if value is not None:
                values[phase.function, phase.direction, metric].append(value)
    return rates | {key: median_interval(measured) for key, measured in values.items()}


def _phase_rate(phase: Phase, metric: str) -> float | None:
    return {
        "span": phase.rate_span_bytes_per_second,
        "slowest_rank": phase.rate_slowest_rank_bytes_per_second,
        "sum_of_ranks": phase.rate_sum_of_ranks_bytes_per_second,
        "foreground": phase.rate_foreground_bytes_per_second,
    }[metric]


def _differences(first: Run, second: Run) -> list[ParameterDifference]:
    left, right = _settings(first), _settings(second)
    return [
        ParameterDifference(name, left.get(name, "not set"), right.get(name, "not set"))
        for name in sorted(left.keys() | right.keys())
        if left.get(name) != right.get(name)
    ]


def _settings(run: Run) -> dict[str, str]:
    settings = {name: str(parameter.value) for name, parameter in run.parameters.items()}
    return settings | {"ranks": str(run.plan.ranks), "workload": run.workload}
