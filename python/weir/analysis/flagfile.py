"""What pollers cost other ranks: runs of the workload flagfile beside the run without pollers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weir.results.schema import Run


@dataclass(frozen=True)
class PolledLine:
    """One run; rates are operations per second of all ranks that did the operations."""

    label: str
    pollers: int
    others_rate: float
    share: float | None
    """Fraction of the rate without pollers; None if no run is without pollers."""
    polls_rate: float | None
    notice_seconds: float | None


def polled_lines(runs: Sequence[Run]) -> list[PolledLine]:
    """Returns the complete runs, by number of pollers; empty for other workloads."""
    found = [(run.flag, run) for run in runs if run.flag is not None and run.status == "complete"]
    found.sort(key=lambda one: one[0].pollers)
    alone = next((_rate(run, "stat") for flag, run in found if flag.pollers == 0), None)
    lines = []
    for flag, run in found:
        others = _rate(run, "stat") or 0.0
        lines.append(
            PolledLine(
                label=run.label,
                pollers=flag.pollers,
                others_rate=others,
                share=others / alone if alone else None,
                polls_rate=_rate(run, "poll"),
                notice_seconds=None if flag.notice is None else flag.notice.median_seconds,
            )
        )
    return lines


def _rate(run: Run, action: str) -> float | None:
    return next(
        (
            rate.median_per_second
            for result in run.metadata
            if result.action == action
            for rate in result.rates
            if rate.headline
        ),
        None,
    )
