"""What was measured, as points: the levels of the factors, and a rate with its spread."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from weir.analysis.settings import OF_NO_CONSEQUENCE
from weir.results.campaign import Campaign, CampaignFactor, Value
from weir.results.expectations import Direction
from weir.results.figures import Figure, headlines_of
from weir.results.record import Quantity
from weir.results.schema import Run
from weir.results.statistics import median_interval

RANKS = "ranks"
RECORDED = {"block_bytes": "block", "transfer_bytes": "transfer"}
"""Parameters whose name in ``run.json`` is not that of the option (workload stream)."""
LEAST_DEVIATION = 0.02
"""No machine repeats a rate more closely than this, whatever a few values say."""
UNKNOWN_SPREAD = 0.15
"""Spread of rates where no test was repeated (``weir.model.interval``, FLOOR)."""


@dataclass(frozen=True)
class Point:
    """One rate at one combination of levels."""

    settings: Mapping[str, Value]
    line: str
    """What distinguishes it from other rates of the same runs: configuration and direction."""
    direction: Direction
    values: tuple[float, ...]
    """Medians of the runs; of a single run, its repetitions."""
    median: float
    low: float
    high: float
    verdicts: tuple[str, ...]
    expected: Quantity | None
    seconds: float
    """Wall time of one run."""
    runs: tuple[str, ...]

    @property
    def spread(self) -> float | None:
        """Standard deviation of the values' logarithms; None for fewer than two."""
        logs = [math.log(value) for value in self.values if value > 0]
        return statistics.stdev(logs) if len(logs) > 1 else None

    @property
    def undecided(self) -> int:
        return sum(word == "not decided" for word in self.verdicts)


@dataclass(frozen=True)
class Measured:
    """Points with the factors that were varied and the settings that were the same."""

    workload: str
    factors: tuple[CampaignFactor, ...]
    fixed: Mapping[str, Value]
    points: tuple[Point, ...]
    left_out: int
    """Number of runs that are not complete or have no rate."""

    @property
    def noise(self) -> float:
        """Standard deviation of one run's logarithmic rate, over all points that were repeated.

        Repetitions within a run share its moment, so they count only if no run was repeated.
        """
        again = [one for one in self.points if len(one.runs) > 1]
        spreads = [one.spread for one in again or self.points]
        known = [spread for spread in spreads if spread is not None]
        if not known:
            return UNKNOWN_SPREAD
        return max(LEAST_DEVIATION, math.sqrt(statistics.fmean(one**2 for one in known)))


@dataclass(frozen=True)
class _Taken:
    """A run with its levels, and the seconds that it took."""

    settings: Mapping[str, Value]
    run: Run
    seconds: float


def points_of_campaign(
    campaign: Campaign,
    finished: Mapping[int, Sequence[tuple[Path, Run]]],
    fixed: Mapping[str, Value],
    took: Mapping[int, float],
) -> Measured:
    """Returns a campaign's points; its factors are those of its design.

    ``took`` gives the seconds of each run with its set-up, by its number.
    """
    runs = [
        _Taken(
            campaign.combinations[planned.combination],
            run,
            took.get(planned.number, _seconds(run)),
        )
        for planned in campaign.runs
        for _, run in finished.get(planned.number, [])
    ]
    return _measured(campaign.workload, tuple(campaign.factors), fixed, runs)


def points_of_runs(runs: Sequence[Run]) -> Measured:
    """Returns the points of any runs of one workload; what differs between them are the factors.

    Raises ``ValueError`` for runs of several workloads.
    """
    workloads = sorted({run.workload for run in runs})
    if len(workloads) != 1:
        raise ValueError(f"the runs are of {', '.join(workloads)}: give runs of one workload")
    settings = [_settings(run) for run in runs]
    first = settings[0]
    alike = {name for name in first if all(one.get(name) == first[name] for one in settings)}
    given = {
        setting_of(name)
        for run in runs
        for name, parameter in run.parameters.items()
        if parameter.origin != "default"
    }
    # A parameter that differs though nobody gave it follows from another one: workload sink sends
    # fewer messages where they are larger.
    names = [
        name
        for name in first
        if name not in alike
        and name not in OF_NO_CONSEQUENCE
        and (name in given or name == RANKS)
        and all(name in one for one in settings)
    ] or [RANKS]
    fixed = {name: first[name] for name in sorted((given | {RANKS}) & alike - set(names))}
    factors = tuple(
        CampaignFactor(names=[name], levels=_levels([one[name] for one in settings]))
        for name in names
    )
    chosen = [{name: one[name] for name in names} for one in settings]
    taken = [_Taken(place, run, _seconds(run)) for place, run in zip(chosen, runs, strict=True)]
    return _measured(workloads[0], factors, fixed, taken)


def setting_of(parameter: str) -> str:
    """Returns the option of weir-bench whose value ``run.json`` has under a name."""
    return RECORDED.get(parameter, parameter).replace("_", "-")


def _settings(run: Run) -> dict[str, Value]:
    found: dict[str, Value] = {
        setting_of(name): parameter.value for name, parameter in sorted(run.parameters.items())
    }
    return {**found, RANKS: run.plan.ranks}


def _levels(values: Sequence[Value]) -> list[list[Value]]:
    distinct = list(dict.fromkeys(values))
    numbers = [one for one in distinct if is_number(one)]
    if len(numbers) == len(distinct):
        distinct.sort(key=float)
    return [[one] for one in distinct]


def is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _measured(
    workload: str,
    factors: tuple[CampaignFactor, ...],
    fixed: Mapping[str, Value],
    runs: Sequence[_Taken],
) -> Measured:
    labels: dict[tuple[tuple[str, Value], ...], set[str]] = {}
    for one in runs:
        labels.setdefault(_key(one.settings), set()).add(one.run.label)
    grouped: dict[tuple[tuple[tuple[str, Value], ...], str], list[tuple[_Taken, Figure]]] = {}
    left_out = 0
    for taken in runs:
        settings, run = taken.settings, taken.run
        figures = [
            one
            for one in (headlines_of(run) if run.status == "complete" else [])
            if one.unit == "bytes/s" and one.direction is not None and one.series.median > 0
        ]
        left_out += not figures
        several = len(labels[_key(settings)]) > 1
        for figure in figures:
            line = f"{run.label} {figure.name}" if several else figure.name
            grouped.setdefault((_key(settings), line), []).append((taken, figure))
    points = [_point(dict(key), line, found) for (key, line), found in grouped.items()]
    return Measured(workload, factors, fixed, tuple(points), left_out)


def _key(settings: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    return tuple(settings.items())


def _point(
    settings: Mapping[str, Value], line: str, found: Sequence[tuple[_Taken, Figure]]
) -> Point:
    first = found[0][1]
    assert first.direction is not None
    series = first.series
    values = list(series.values)
    median, low, high = series.median, series.low, series.high
    if len(found) > 1:
        values = [figure.series.median for _, figure in found]
        median, low, high, _ = median_interval(values)
    made = [figure.expected.quantity for _, figure in found if figure.expected is not None]
    return Point(
        settings=settings,
        line=line,
        direction=first.direction,
        values=tuple(values),
        median=median,
        low=low,
        high=high,
        verdicts=tuple(figure.verdict.verdict for _, figure in found if figure.verdict),
        expected=next((one for one in made if one is not None), None),
        seconds=statistics.median(taken.seconds for taken, _ in found),
        runs=tuple(taken.run.id for taken, _ in found),
    )


def _seconds(run: Run) -> float:
    """Returns the wall time of a job and of its calibration, to the second; at least one."""
    if run.finished_utc is None:
        return 1.0
    began, ended = (datetime.fromisoformat(one) for one in (run.started_utc, run.finished_utc))
    made = run.expectation.calibration.get("seconds", 0.0) if run.expectation else 0.0
    return max(1.0, (ended - began).total_seconds() + float(made))
