"""How long runs will take: from what is planned at first, from finished runs as they come.

Before a run, its time is set-up plus repetitions times (bytes over the expected rate, plus the
busy work between transfers). A combination that has run before takes about what it took; else the
estimate is corrected by the median of what finished runs took over what was estimated for them.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field

from weir.bench.program import PlannedConfiguration, PlannedJob
from weir.results.schema import Direction, Expectation, Parameter

SETUP_SECONDS = 1.5
SETUP_SECONDS_PER_RANK = 0.05
CALIBRATION_SECONDS = 4.0
WORK_PER_SECOND = 1e9
MARGIN = 1.25
"""A run is begun before a time limit if the limit leaves this much more than its estimate."""


@dataclass(frozen=True)
class Rates:
    """What an estimate divides by. ``how`` says where the rates are from."""

    bytes_per_second: Mapping[Direction, float]
    work_per_second: float
    how: str


def assumed_rates(bytes_per_second: float) -> Rates:
    """Before anything is measured: what the file says, for both directions."""
    both: dict[Direction, float] = {"read": bytes_per_second, "write": bytes_per_second}
    return Rates(both, WORK_PER_SECOND, f"an assumed {bytes_per_second / 2**20:.0f} MiB/s")


def expected_rates(
    made: Mapping[str, Expectation], work_per_second: float, otherwise: Rates, how: str
) -> Rates:
    """The median expected rate of each direction over the configurations of a job."""
    rates = dict(otherwise.bytes_per_second)
    for direction in rates:
        found = [
            rate.expected_bytes_per_second
            for expectation in made.values()
            for rate in expectation.rates
            if rate.direction == direction and rate.metric != "foreground"
        ]
        if found:
            rates[direction] = statistics.median(found)
    return Rates(rates, work_per_second, how)


def planned_seconds(planned: PlannedJob, ranks: int, rates: Rates) -> float:
    """Set-up and all repetitions of all configurations of one job."""
    setup = SETUP_SECONDS + SETUP_SECONDS_PER_RANK * ranks
    return setup + sum(_configuration_seconds(one, rates) for one in planned.configurations)


def _configuration_seconds(one: PlannedConfiguration, rates: Rates) -> float:
    once = 0.0
    for phase in one.plan.phases:
        moving = phase.bytes_total / rates.bytes_per_second[phase.direction]
        working = (
            phase.operations_per_rank * phase.computations_per_operation / rates.work_per_second
        )
        once += max(moving, working) if one.asynchronous else moving + working
    return once * _repetitions(one.parameters)


def _repetitions(parameters: Mapping[str, Parameter]) -> float:
    """Warm-ups and the least number of counted repetitions; more are made where rates vary."""
    by_name = {name.replace("_", "-"): parameter.value for name, parameter in parameters.items()}
    counts = [by_name.get(name) for name in ("warmups", "repetitions")]
    return sum(float(count) for count in counts if isinstance(count, int | float)) or 1.0


@dataclass
class Estimator:
    """Seconds of every combination, refined by what finished runs took."""

    planned: list[float]
    """By combination, before anything ran."""
    taken: dict[int, list[float]] = field(default_factory=dict)
    ratios: list[float] = field(default_factory=list)

    def learn(self, combination: int, seconds: float) -> None:
        """Take a finished run into account."""
        self.taken.setdefault(combination, []).append(seconds)
        if self.planned[combination] > 0:
            self.ratios.append(seconds / self.planned[combination])

    def seconds(self, combination: int) -> float:
        """What the next run of a combination is expected to take."""
        if combination in self.taken:
            return statistics.median(self.taken[combination])
        correction = statistics.median(self.ratios) if self.ratios else 1.0
        return self.planned[combination] * correction

    def cautious_seconds(self, combination: int) -> float:
        """With a margin, and no less than the longest such run took: for time limits."""
        longest = max(self.taken.get(combination, [0.0]))
        return max(MARGIN * self.seconds(combination), longest)
