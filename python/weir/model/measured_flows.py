"""Turns finished runs into samples of the path: each phase's flow and the time it took.

A sample is one phase of one run: the flow according to the plan, and the median over the measured
repetitions of the time from the first rank's start to the last rank's end. Runs with the same
configuration have the same ``configuration``, so that a fit is never tested on a configuration that
it used.

Left out, and counted with the reason, are asynchronous runs, whose transfers share their time with
computation; output that stagers stored, since its time to storage includes the hand-over and the
wait for the files before it; bytes that were dropped; runs that did not complete; files in several
directories; and phases whose bytes, by the run's own evidence, took another route than the flow
assumes.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weir.analysis.settings import settings_that_matter
from weir.model.flow import Flow
from weir.model.flow_of_plan import (
    Planned,
    Surroundings,
    is_dropped,
    is_staged,
    planned_flow,
)
from weir.results.platform import Platform
from weir.results.schema import Phase, PlannedPhase, Run
from weir.results.statistics import predicted_by_the_others


@dataclass(frozen=True)
class Measured:
    """One phase of one run. ``seconds`` is the median repetition's time for all operations."""

    job: str
    label: str
    function: str
    configuration: str
    flow: Flow
    turns: int
    seconds: float
    repeated: tuple[float, ...] = ()
    """The times of the single repetitions."""

    @property
    def total_bytes(self) -> float:
        return self.flow.total_bytes * self.turns


@dataclass(frozen=True)
class Samples:
    """Samples from finished runs, and the number of phases left out for each reason."""

    measured: list[Measured]
    left_out: dict[str, int]


def samples_of_runs(runs: Sequence[tuple[Path, Run]]) -> Samples:
    """Returns the samples of run folders.

    Raises ``ValueError`` for a switch that is neither on nor off.
    """
    measured: list[Measured] = []
    left_out: Counter[str] = Counter()
    for folder, run in runs:
        reason = _unsuitable(run)
        for phase in run.plan.phases:
            if phase.bytes_total == 0:
                continue
            found = reason or _sample(folder, run, phase)
            if isinstance(found, str):
                left_out[found] += 1
            else:
                measured.append(found)
    return Samples(measured, dict(left_out))


def repeatability(samples: Sequence[Measured]) -> list[float]:
    """Returns how far each repetition is from the median of the others of its configuration.

    This is what no model can predict better, in the form of held-out errors: a repetition is
    predicted by the others, |predicted/measured - 1|. Runs of one configuration count together.
    """
    times: dict[tuple[str, str, str], list[float]] = {}
    for one in samples:
        key = (one.configuration, one.function, one.flow.direction)
        times.setdefault(key, []).extend(one.repeated)
    return [error for alike in times.values() for error in predicted_by_the_others(alike)]


def _unsuitable(run: Run) -> str | None:
    if run.status != "complete":
        return "run did not complete"
    if any(rate.headline and rate.metric == "foreground" for rate in run.rates):
        return "asynchronous"
    if is_staged(run.parameters):
        return "stagers stored the files"
    if is_dropped(run.parameters):
        return "the bytes were dropped"
    if run.plan.targets:
        return "files in several directories"
    return None


def _sample(folder: Path, run: Run, phase: PlannedPhase) -> Measured | str:
    repeated = [
        one
        for repetition in run.repetitions
        if not repetition.warmup
        for one in repetition.phases
        if (one.function, one.direction) == (phase.function, phase.direction)
    ]
    times = [
        one.bytes / one.rate_span_bytes_per_second
        for one in repeated
        if one.rate_span_bytes_per_second
    ]
    if not times:
        return "not measured"
    planned = _planned(run, phase)
    if not _came_from_there(planned, repeated):
        return f"{planned.flow.direction} did not go the way of {planned.flow.route}"
    return Measured(
        folder.parent.name,
        run.label,
        phase.function,
        _configuration(run),
        planned.flow,
        planned.turns,
        statistics.median(times),
        tuple(times),
    )


def _planned(run: Run, phase: PlannedPhase) -> Planned:
    hosts = {node.host: len(node.ranks) for node in run.nodes}
    here = Platform(
        format="weir-platform",
        format_version=1,
        name="where the run was",
        hosts=max(1, len(hosts)),
        ranks_per_host=max(hosts.values(), default=run.plan.ranks),
        topology={"ranks_by_host": hosts},
        stages=[],
    )
    return planned_flow(phase, run.plan, run.parameters, Surroundings(here, {}))


def _came_from_there(planned: Planned, phases: Sequence[Phase]) -> bool:
    """Returns whether the evidence is compatible with the flow's route; unknown evidence is."""
    verdicts = {phase.cache.verdict for phase in phases}
    if planned.flow.route == "cached" and planned.flow.direction == "read":
        return "storage" not in verdicts
    if planned.flow.route in ("dropped", "direct", "durable"):
        return "memory" not in verdicts
    return True


def _configuration(run: Run) -> str:
    chosen = settings_that_matter(run)
    return f"{run.workload} {run.label} {chosen} {run.plan.model_dump_json()}"
