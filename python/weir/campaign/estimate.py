"""Estimates how long runs take, first from their plans and then from finished runs.

The estimate for a run is its set-up time plus, for each repetition, bytes over the expected rate
and the busy work between transfers. The estimate for a combination that has run is the median of
its times. Other estimates are multiplied by the median of actual over planned times of finished
runs.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from weir.bench.program import PlannedConfiguration, PlannedJob
from weir.results.expectations import Direction, Expectation
from weir.results.schema import Parameter

SETUP_SECONDS = 1.5
SETUP_SECONDS_PER_RANK = 0.05
CALIBRATION_SECONDS = 4.0
WORK_PER_SECOND = 1e9
MARGIN = 1.25
"""A run begins before a time limit only if the remaining time is this many times its estimate."""


@dataclass(frozen=True)
class Rates:
    """The rates that an estimate uses. ``how`` gives their source."""

    bytes_per_second: Mapping[Direction, float]
    work_per_second: float
    how: str


def assumed_rates(bytes_per_second: float) -> Rates:
    """Returns rates before any measurement: the value in the file, for both directions."""
    both: dict[Direction, float] = {"read": bytes_per_second, "write": bytes_per_second}
    return Rates(both, WORK_PER_SECOND, f"an assumed {bytes_per_second / 2**20:.0f} MiB/s")


def expected_rates(
    made: Mapping[str, Expectation], work_per_second: float, otherwise: Rates, how: str
) -> Rates:
    """Returns the median expected rate of each direction over the configurations of a job."""
    rates = dict(otherwise.bytes_per_second)
    for direction in rates:
        found = [
            rate.value
            for expectation in made.values()
            for rate in expectation.rates
            if rate.direction == direction and rate.metric != "foreground"
        ]
        if found:
            rates[direction] = statistics.median(found)
    return Rates(rates, work_per_second, how)


def planned_seconds(planned: PlannedJob, ranks: int, rates: Rates) -> float:
    """Returns the time of set-up and all repetitions of all configurations of one job."""
    setup = SETUP_SECONDS + SETUP_SECONDS_PER_RANK * ranks
    return setup + sum(_configuration_seconds(one, rates) for one in planned.configurations)


def _configuration_seconds(one: PlannedConfiguration, rates: Rates) -> float:
    once = 0.0
    for phase in one.plan.phases:
        moving = phase.bytes_total / rates.bytes_per_second[phase.direction]
        work = phase.operations_per_rank * (phase.computations_per_operation or 0.0)
        working = work / rates.work_per_second
        once += max(moving, working) if one.asynchronous else moving + working
    return once * _repetitions(one.parameters)


def _repetitions(parameters: Mapping[str, Parameter]) -> float:
    """Returns the warm-ups plus the fewest counted repetitions; more are made if rates vary."""
    by_name = {name.replace("_", "-"): parameter.value for name, parameter in parameters.items()}
    counts = [by_name.get(name) for name in ("warmups", "repetitions")]
    return sum(float(count) for count in counts if isinstance(count, int | float)) or 1.0


@dataclass
class Estimator:
    """Seconds of every combination, refined by the times of finished runs."""

    planned: list[float]
    """Estimated seconds by combination, before any run."""
    taken: dict[int, list[float]] = field(default_factory=dict)
    ratios: list[float] = field(default_factory=list)

    def learn(self, combination: int, seconds: float) -> None:
        """Takes the time of a finished run into account."""
        self.taken.setdefault(combination, []).append(seconds)
        if self.planned[combination] > 0:
            self.ratios.append(seconds / self.planned[combination])

    def seconds(self, combination: int) -> float:
        """Returns the estimated time of the next run of a combination."""
        if combination in self.taken:
            return statistics.median(self.taken[combination])
        correction = statistics.median(self.ratios) if self.ratios else 1.0
        return self.planned[combination] * correction

    def cautious_seconds(self, combination: int) -> float:
        """Returns an estimate for time limits: with a margin, and at least the longest such run."""
        longest = max(self.taken.get(combination, [0.0]))
        return max(MARGIN * self.seconds(combination), longest)
