"""Decides whether a job goes on with more repetitions, because a wide scatter left it undecided.

Noise must not help a run to pass: a median outside what was expected, whose interval reaches in, is
not decided. The job then runs once more by itself, with more repetitions and the same expectation,
if these fit into the given time. Its results are runs of their own, which name the first ones, so
that nothing is hidden and no repetition is chosen. An expectation that is too wide for a verdict is
another matter: more repetitions would not make it narrower. Nor do they help where a calibration
and the components contradict each other.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from weir.analysis.yardstick import likely_range
from weir.results.figures import headlines_of
from weir.results.purpose import Purpose
from weir.results.schema import Run

DEFAULT_SECONDS = 60.0
LEAST = 2
"""The job goes on only if there is time for this many times its repetitions."""
MOST = 4
"""The job makes at most this many times its repetitions."""


@dataclass(frozen=True)
class More:
    """What to run: so many repetitions of each configuration, and what they are for."""

    repetitions: int
    seconds: float
    """An estimate, by the repetitions before."""
    purpose: Purpose

    def arguments(self, before: Sequence[str], most_seconds: float) -> list[str]:
        """Returns the arguments of the job with more repetitions; of two values the last counts."""
        number = str(self.repetitions)
        more = ["--repetitions", number, "--max-repetitions", number]
        return [*before, *more, "--time-limit", f"{most_seconds:.6g}"]


def left_undecided(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Returns the headline figures that more repetitions may decide, by the run's label."""
    found: dict[str, list[str]] = {}
    for run in runs:
        for figure in headlines_of(run):
            judged = figure.verdict
            made = figure.expected.quantity if figure.expected is not None else None
            if judged is None or made is None or judged.verdict != "not decided":
                continue
            low, high = likely_range(figure.series)
            reaches_in = low <= made.high and high >= made.low
            if reaches_in and not made.low <= figure.series.median <= made.high:
                found.setdefault(run.label, []).append(figure.name)
    return found


def more_of(runs: Sequence[Run], most_seconds: float) -> More | str | None:
    """Returns what to run more of, why that is not done, or None if all is decided."""
    undecided = left_undecided(runs)
    if not undecided:
        return None
    told = "; ".join(f"{label}: {', '.join(names)}" for label, names in undecided.items())
    seconds = sum(_seconds_of_repetition(run) for run in runs)
    before = max(sum(not one.warmup for one in run.repetitions) for run in runs)
    warmups = max(sum(one.warmup for one in run.repetitions) for run in runs)
    fitting = int(most_seconds / seconds) - warmups if seconds > 0 else MOST * before
    if fitting < LEAST * before:
        needed = seconds * (LEAST * before + warmups)
        return (
            f"not decided: {told}; {LEAST * before} repetitions would take about {needed:.0f} s: "
            f"--go-on {needed * 1.2:.0f} allows them (given: {most_seconds:g} s)"
        )
    number = min(fitting, MOST * before)
    return More(
        number,
        seconds * (number + warmups),
        Purpose(
            goal="confirm",
            motivation=f"not decided after {before} repetitions: {told}",
            follows=[run.id for run in runs if run.label in undecided],
        ),
    )


def _seconds_of_repetition(run: Run) -> float:
    return statistics.median(one.seconds for one in run.repetitions) if run.repetitions else 0.0
