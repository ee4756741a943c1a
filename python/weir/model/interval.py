"""An interval for the next trial of a figure, from the few trials that there are.

Rates scatter by factors, so the trials' logarithms are taken as normal. The interval is the 95 %
prediction interval for one further trial, exp(mean ± t s sqrt(1 + 1/n)) with Student's t of n - 1
degrees of freedom, moved so that it holds around the median. With three trials t is 4.3: a few
trials give a rough and wide interval, and that is the truth about them. It is never narrower than
±15 %, because trials of a calibration follow each other within seconds and know nothing of the
drift between it and the run. The 15 % is a choice, not a measurement.
"""

from __future__ import annotations

import math
import statistics
from typing import NamedTuple

from weir.results.calibration import Trials

FLOOR = 0.15
SINGLE_TRIAL_FACTOR = 2.0

# Two-sided 95 % quantiles of Student's t, by degrees of freedom from 1.
_STUDENT_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_NORMAL = 1.960


class Factors(NamedTuple):
    """An interval as factors of the median, ``low`` <= 1 <= ``high``, and how it came about."""

    low: float
    high: float
    how: str


def prediction_factors(trials: Trials) -> Factors:
    """The interval of one further trial, relative to the trials' median."""
    values = [value for value in trials.values if value > 0]
    if len(values) <= 1:
        factor = SINGLE_TRIAL_FACTOR
        return Factors(1 / factor, factor, "one trial only: a factor of 2 either way is assumed")
    logarithms = [math.log(value) for value in values]
    degrees = len(values) - 1
    quantile = _STUDENT_T[degrees - 1] if degrees <= len(_STUDENT_T) else _NORMAL
    spread = quantile * statistics.stdev(logarithms) * math.sqrt(1 + 1 / len(values))
    if spread <= -math.log(1 - FLOOR):
        return Factors(1 - FLOOR, 1 + FLOOR, f"±{FLOOR:.0%}, the floor; {len(values)} trials agree")
    return Factors(
        math.exp(-spread),
        max(math.exp(spread), 1 + FLOOR),
        f"95 % prediction interval of one further trial, from {len(values)}",
    )
