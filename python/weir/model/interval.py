"""Estimates an interval for a calibrated figure from the few trials that it has.

The trials' whole range covers their true median with probability 1 - 2^(1 - n): 75 % with three
trials, 94 % with five. The trials of a calibration follow each other within seconds and contain
nothing of the drift until the run. The range is therefore widened by 15 % in both directions, and
the interval is never narrower than that. The 15 % is a choice, not a measurement. The interval is
thus rough, and one extreme trial makes it wide: a file system that produced such a trial may
produce another during the run.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from weir.results.calibration import Trials
from weir.results.quantities import percent_text
from weir.results.record import Quantity

FLOOR = 0.15
SINGLE_TRIAL_FACTOR = 2.0


class Factors(NamedTuple):
    """An interval as factors of the median, ``low`` < 1 < ``high``, and how it was obtained."""

    low: float
    high: float
    how: str


def interval_factors(trials: Trials) -> Factors:
    """Returns the interval of a figure relative to its trials' median; ignores rates of zero."""
    values = [value for value in trials.values if value > 0]
    if len(values) <= 1:
        factor = SINGLE_TRIAL_FACTOR
        return Factors(
            1 / factor, factor, ("there was only one trial, so a factor of 2 either way is assumed")
        )
    smallest = min(1.0, min(values) / trials.median)
    largest = max(1.0, max(values) / trials.median)
    covered = 1 - 2.0 ** (1 - len(values))
    return Factors(
        smallest * (1 - FLOOR),
        largest * (1 + FLOOR),
        f"the range of {len(values)} trials, {smallest:.2f} to {largest:.2f} of their median "
        f"(covers it with {percent_text(covered)}), and {percent_text(FLOOR)} more either way",
    )


def quantity_of_trials(values: Sequence[float]) -> Quantity:
    """Returns a median with the interval that its few trials allow (``interval_factors``)."""
    median = statistics.median(values)
    trials = Trials(median=median, low=min(values), high=max(values), values=list(values))
    factors = interval_factors(trials)
    return Quantity(value=median, low=median * factors.low, high=median * factors.high)
