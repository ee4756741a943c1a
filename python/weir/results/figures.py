"""Every figure of a run in one list, whatever its unit.

A figure is a rate of bytes in one direction, a rate of one action's operations, or the time of one
step. Verdicts, tables, SQL, campaigns and reports go through this list; what differs between kinds
of figures is in their records.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, get_args

from weir.results.action_records import OperationMetric
from weir.results.expectations import Direction, Metric
from weir.results.quantities import phase_name
from weir.results.record import Latencies
from weir.results.schema import Rate, Repetition, Run
from weir.results.series import Expected, Judged, Series, Unit

ALL = "all"
"""Stands for all functions of a direction."""
BESIDE = {"foreground": "observed"}
"""What a rate is called that is judged beside the headline: the one that a program observes."""
NOTICE = "notice"
"""The time from setting the flag of the workload flagfile until the last poller saw it."""


class Place(NamedTuple):
    """Which figure of a run is meant."""

    function: str
    """``ALL``, a function, an action or a step."""
    direction: Direction | None
    metric: str


@dataclass(frozen=True)
class Figure:
    """A series with what belongs to it. Times of steps go from the first rank to the last."""

    function: str
    """``ALL``, a function, an action or a step."""
    direction: Direction | None
    metric: str
    headline: bool
    series: Series
    latencies: Latencies | None = None
    expected: Expected | None = None
    verdict: Judged | None = None

    @property
    def unit(self) -> Unit:
        return self.series.unit

    @property
    def place(self) -> Place:
        return Place(self.function, self.direction, self.metric)

    @property
    def name(self) -> str:
        """Such as ``write``, ``S write``, ``create``."""
        if self.direction is None:
            return self.function
        return self.direction if self.function == ALL else phase_name(self.function, self.direction)

    @property
    def judged_name(self) -> str:
        """Such as ``write``, and ``write observed`` beside it (``judged_of``)."""
        return self.name if self.headline else f"{self.name} {BESIDE.get(self.metric, self.metric)}"


def figures_of(run: Run) -> list[Figure]:
    """Returns the figures over whole repetitions; the headlines are compared with expectations."""
    expected = {one.key: one for one in (run.expectation.all if run.expectation else [])}
    judged = {one.key: one for one in (run.verdict.all if run.verdict else [])}
    found = []
    for rate in run.rates:
        key = (rate.direction, rate.metric)
        found.append(
            Figure(
                *(ALL, rate.direction, rate.metric, rate.headline, rate),
                expected=expected.get(key),
                verdict=judged.get(key),
            )
        )
    found += _totals_of(run) + _stager_waits_of(run)
    for action in run.metadata:
        for one in action.rates:
            made = expected.get((action.action, None)) if one.headline else None
            word = judged.get((action.action, None)) if one.headline else None
            place = (action.action, None, one.metric, one.headline)
            found.append(Figure(*place, one, action.latencies, made, word))
    if run.imported is not None:
        found += [
            Figure(one.action, one.direction, one.metric, True, one, one.latencies)
            for one in run.imported.operations
        ]
    times = [(step.step, step.times) for step in run.opening]
    if run.flag is not None and run.flag.notice is not None:
        times.append((NOTICE, run.flag.notice))
    return found + [Figure(name, None, "span", True, series) for name, series in times]


def _stager_waits_of(run: Run) -> list[Figure]:
    """Returns for how long the slowest rank waited for its stager, by kind of file."""
    waits = [(one.stream, one.stager_wait) for one in (run.outputs.streams if run.outputs else [])]
    if run.sink is not None:
        waits.append((ALL, run.sink.stager_wait))
    return [
        Figure(function, "write", "stager_wait", False, series)
        for function, series in waits
        if series is not None
    ]


def _totals_of(run: Run) -> list[Figure]:
    """Returns the rates with opening and closing, where these were timed and no rate has them."""
    known = {(rate.direction, rate.metric) for rate in run.rates}
    measured = [one for one in run.repetitions if not one.warmup]
    found = []
    for direction in get_args(Direction):
        phases = [[p for p in one.phases if p.direction == direction] for one in measured]
        moved = [sum(phase.bytes for phase in of_one) for of_one in phases]
        seconds = [sum(phase.total_seconds or 0.0 for phase in of_one) for of_one in phases]
        timed = all(phase.total_seconds for of_one in phases for phase in of_one)
        if (direction, "total") in known or not (timed and seconds and all(seconds)):
            continue
        values = [a / b for a, b in zip(moved, seconds, strict=True)]
        rate = Rate.of(values, direction=direction, metric="total", headline=False)
        found.append(Figure(ALL, direction, "total", False, rate))
    return found


def headlines_of(run: Run) -> list[Figure]:
    return [figure for figure in figures_of(run) if figure.headline]


def judged_of(run: Run) -> list[Figure]:
    """Returns the headlines, and other figures that have an expectation, in their order."""
    return [one for one in figures_of(run) if one.headline or one.expected is not None]


def parts_of(run: Run) -> list[Figure]:
    """Returns the rates of each function that moves bytes, by every metric."""
    values: dict[Place, list[float]] = defaultdict(list)
    for repetition in run.repetitions:
        for place, unit, value in values_of(repetition):
            if unit == "bytes/s" and not repetition.warmup:
                values[place].append(value)
    latencies = {(one.function, one.direction): one for one in run.histograms}
    return [
        Figure(
            *(function, direction, metric, False),
            Rate.of(measured, direction=direction, metric=metric, headline=False),
            latencies.get((function, direction)) if direction else None,
        )
        for (function, direction, metric), measured in values.items()
    ]


def values_of(repetition: Repetition) -> Iterator[tuple[Place, Unit, float]]:
    """Yields what one repetition measured, without what is unknown."""
    for phase in repetition.phases:
        for metric in get_args(Metric):
            value = phase.rate(metric)
            if value is not None:
                yield Place(phase.function, phase.direction, metric), "bytes/s", value
    for action in repetition.metadata:
        for metric in get_args(OperationMetric):
            value = getattr(action, f"{metric}_per_second")
            if value is not None:
                yield Place(action.action, None, metric), "1/s", value
    for step in repetition.opening:
        yield Place(step.step, None, "span"), "s", step.seconds
