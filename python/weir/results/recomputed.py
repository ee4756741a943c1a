"""Checks whether a run's rates follow from its own repetitions.

``weir-bench`` writes both at the end of a run. A figure that was changed afterwards, by hand or by
a program, contradicts the times beside it unless these were changed too. The check finds mistakes
and careless changes; it proves nothing against careful manipulation.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator

from weir.results.expectations import Metric
from weir.results.quantities import rate_text
from weir.results.schema import Phase, Rate, Repetition, Run

TOLERANCE = 1e-6
"""Relative tolerance of a figure, far more than the difference between sums in another order."""


def contradictions(run: Run) -> Iterator[str]:
    """Yields one line for each rate that is not the median of its repetitions."""
    measured = [one for one in run.repetitions if not one.warmup]
    for rate in run.rates:
        values = [value for one in measured if (value := _value(one, rate)) is not None]
        if len(values) != len(rate.values) or not values:
            continue  # A job that was ended early may lack repetitions.
        median = statistics.median(values)
        if not math.isclose(median, rate.median, rel_tol=TOLERANCE):
            yield (
                f"run.json was changed: its {rate.direction} rate ({rate.metric}) is "
                f"{rate_text(rate.median)}, and its repetitions come to "
                f"{rate_text(median)}"
            )


def _value(repetition: Repetition, rate: Rate) -> float | None:
    """Returns a direction's bytes over the sum of its phases' times; None if a time is unknown."""
    phases = [phase for phase in repetition.phases if phase.direction == rate.direction]
    moved = sum(phase.bytes for phase in phases)
    seconds = 0.0
    for phase in phases:
        of_phase = _rate(phase, rate.metric)
        if not of_phase:
            return None
        seconds += phase.bytes / of_phase
    return moved / seconds if seconds > 0 else None


def _rate(phase: Phase, metric: Metric) -> float | None:
    """Returns the phase's rate, by the times of its ranks if these are stored."""
    if metric == "slowest_rank" and phase.io_seconds.max > 0:
        return phase.bytes / phase.io_seconds.max
    if metric == "foreground" and phase.foreground_seconds.max > 0:
        return phase.bytes / phase.foreground_seconds.max
    return phase.rate(metric)
