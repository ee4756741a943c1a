"""Whether a run's rates are what its own repetitions come to.

``weir-bench`` writes both at the end of a run. A figure that was changed afterwards, by hand or by
a program, contradicts the times beside it, unless these were changed as well: this finds mistakes
and careless changes, and proves nothing against somebody who takes care.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator

from weir.results.quantities import rate_text
from weir.results.schema import Metric, Phase, Rate, Repetition, Run

TOLERANCE = 1e-6
"""Of a figure: far more than sums in another order differ by."""


def contradictions(run: Run) -> Iterator[str]:
    """A line for each rate that is not the median of what the repetitions come to."""
    measured = [one for one in run.repetitions if not one.warmup]
    for rate in run.rates:
        values = [value for one in measured if (value := _value(one, rate)) is not None]
        if len(values) != len(rate.values_bytes_per_second) or not values:
            continue  # Of a job that was ended early not every repetition may be there.
        median = statistics.median(values)
        if not math.isclose(median, rate.median_bytes_per_second, rel_tol=TOLERANCE):
            yield (
                f"run.json was changed: its {rate.direction} rate ({rate.metric}) is "
                f"{rate_text(rate.median_bytes_per_second)}, and its repetitions come to "
                f"{rate_text(median)}"
            )


def _value(repetition: Repetition, rate: Rate) -> float | None:
    """All bytes of a direction over all its phases' times; none where a time is not known."""
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
    """The phase's rate, by the times of its ranks where these are stored."""
    if metric == "slowest_rank" and phase.io_seconds.max > 0:
        return phase.bytes / phase.io_seconds.max
    if metric == "foreground" and phase.foreground_seconds.max > 0:
        return phase.bytes / phase.foreground_seconds.max
    return {
        "span": phase.rate_span_bytes_per_second,
        "slowest_rank": phase.rate_slowest_rank_bytes_per_second,
        "sum_of_ranks": phase.rate_sum_of_ranks_bytes_per_second,
        "foreground": phase.rate_foreground_bytes_per_second,
    }[metric]
