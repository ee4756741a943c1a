"""Puts the monitor's times on the clock of a run's events, which begins with the run.

Where ``run.json`` has the start of the run on rank 0's clock, and that clock is the monitor's, the
join is exact. Otherwise the start is estimated from the lines of progress: rank 0 prints one just
before it begins a repetition, and ``run.json`` has when that was. The line's way to weir makes the
estimate late, a rank that waits for its processor between line and beginning makes it early; so the
median is taken. Two facts bound it: the run began after the launcher, and the line after a
repetition came after its end.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weir.monitor.sampler import SECOND
from weir.results.schema import Repetition


@dataclass(frozen=True)
class Line:
    """A line of progress, and when it arrived on the monitor's clock."""

    at_ns: int
    label: str
    repetition: int
    ended: bool


@dataclass(frozen=True)
class Origin:
    """The start of the run on the monitor's clock; see ``MonitorClock`` for the errors."""

    at_ns: int
    how: str
    error_bound_ns: int | None
    likely_error_ns: int | None


def origin_of(
    launched_ns: int,
    lines: Sequence[Line],
    repetitions: Mapping[tuple[str, int], Repetition],
    *,
    ranks_error_ns: int,
    stated_ns: int | None = None,
) -> Origin:
    """Returns the start of the run. ``repetitions`` are those of all runs by label and index.

    ``stated_ns`` is the start on rank 0's clock, if that rank is on the monitor's host;
    ``ranks_error_ns`` is how far the clocks of the ranks may differ.
    """
    estimates = []
    latest = []
    for line, following in itertools.zip_longest(lines, lines[1:]):
        known = repetitions.get((line.label, line.repetition))
        if line.ended or known is None:
            continue
        began = round(known.started_seconds * SECOND)
        estimates.append(line.at_ns - began)
        if following is not None:
            latest.append(following.at_ns - began - round(known.seconds * SECOND))
    last = min(latest, default=None)
    if stated_ns is not None and launched_ns <= stated_ns and (last is None or stated_ns <= last):
        how = "the monitor and rank 0 read the same clock"
        return Origin(stated_ns, how, ranks_error_ns, None)
    if not estimates:
        how = "the run's start is not known: the launcher's is taken"
        return Origin(launched_ns, how, None, None)
    guess = round(statistics.median(estimates))
    guess = max(launched_ns, guess if last is None else min(guess, last))
    bound = None
    if last is not None:
        bound = max(guess - launched_ns, last - guess, 0) + ranks_error_ns
    how = (
        "the run's start is the median of estimates from its lines of progress; it is bounded by "
        "the launcher's start and by the line after a repetition"
    )
    return Origin(guess, how, bound, _spread(estimates) + ranks_error_ns)


def _spread(estimates: Sequence[int]) -> int:
    """Returns the distance of the quartiles, or of both ends of a few estimates."""
    if len(estimates) < 4:
        return max(estimates) - min(estimates)
    low, _, high = statistics.quantiles(estimates, n=4)
    return round(high - low)
