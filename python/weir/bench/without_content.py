"""Measures what a file or a message takes beside its bytes, by a run of the job without content.

Opening a file, agreeing on its plan, and closing it take the same time whatever the file's size. A
calibration by plain calls has none of it. So the job itself is run beforehand, with the same
interfaces, stagers, ranks and launcher, but with files of a few hundred bytes, or messages of one:
the plan has the arguments for that.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weir.bench.cleanup import finish_broken_job
from weir.bench.errors import BenchError
from weir.bench.failure import failure_of
from weir.bench.messages import StandardError
from weir.bench.process import run_child
from weir.bench.program import PlannedJob
from weir.model.flow_of_plan import output_of, setting, way_of
from weir.results.calibration import OperationTrials, Trials
from weir.results.errors import ResultError
from weir.results.folder import find_run_folders, load_run
from weir.results.schema import Phase, Run

if TYPE_CHECKING:
    from weir.bench.job import Job

DEADLINE_SECONDS = 300.0
TRIALS = 7
"""Repetitions of the run without content; one more does not count."""
MOST_SECONDS = 20.0
"""After this time it begins no further repetition of a configuration that has one."""
MOST_WORK_SECONDS = 0.2
"""Ranks compute before each file as they do in the job, at most for this time. Where processors are
shared, a rank that has just computed waits longer for one."""
ARRAYS = ("variables", "species", "service")
"""Settings that decide how many arrays a file has, or how large their elements are, and which
stagers of the user's take it over."""


def has_run_without_content(planned: PlannedJob) -> bool:
    """Returns whether the workload is one of which a run without content says something."""
    return bool(planned.few_bytes)


def ways_of(planned: PlannedJob) -> tuple[tuple[str, ...], ...]:
    """Returns what the times depend on, beside the ranks: work, ways of the files, their arrays."""
    if not has_run_without_content(planned):
        return ()
    ways = {
        (*map(str, way_of(one.parameters)), *(setting(one.parameters, name, "") for name in ARRAYS))
        for one in planned.configurations
    }
    return ((planned.arguments[0], *_work(planned)), *sorted(ways))


def arguments_of(planned: PlannedJob, output: Path) -> list[str]:
    """Returns the arguments of the run without content; of two values the last counts."""
    repetitions = ("--warmups=1", f"--repetitions={TRIALS}", f"--max-repetitions={TRIALS}")
    limit = f"--time-limit={MOST_SECONDS:g}"
    own = ("--no-verify", "--memory-hog=0", "--progress=none", f"--output={output}")
    return [*planned.arguments, *planned.few_bytes, *_work(planned), *repetitions, limit, *own]


def _work(planned: PlannedJob) -> list[str]:
    asked = [output_of(one.parameters) for one in planned.configurations]
    seconds = [one.computing_seconds for one in asked if one is not None]
    return [f"--work={min(MOST_WORK_SECONDS, *seconds):g}"] if seconds else []


def run_without_content(
    job: Job, planned: PlannedJob, folder: Path, tell: Callable[[str], None]
) -> list[OperationTrials]:
    """Runs the job without content; leaves nothing in ``folder``."""
    output = folder / "without-content"
    said = StandardError(on_progress=lambda _: None, on_line=tell)
    ending = run_child(
        job.command(arguments_of(planned, output)),
        job.environment(),
        DEADLINE_SECONDS,
        on_stdout=lambda _: None,
        on_stderr=said.line,
        inherited=job.inherited,
    )
    try:
        if not ending.succeeded:
            finish_broken_job(output, ending.describe())
            raise failure_of("the run without content", ending, said)
        return operations_of([load_run(one) for one in find_run_folders(output)])
    except ResultError as error:
        raise BenchError(f"the run without content wrote no usable result: {error}") from None
    finally:
        shutil.rmtree(output, ignore_errors=True)


def operations_of(runs: Sequence[Run]) -> list[OperationTrials]:
    """Returns the times of a file or a message by each way, from runs without content."""
    found: dict[tuple[str, str, int], OperationTrials] = {}
    for run in runs:
        phases = [
            phase
            for repetition in run.repetitions
            if not repetition.warmup
            for phase in repetition.phases
            if phase.operations and phase.rate_span_bytes_per_second
        ]
        if not phases:
            continue
        number = {one.function: one.operations_per_rank for one in run.plan.phases}
        way = way_of(run.parameters)
        found[way] = OperationTrials(
            api=way[0],
            staging=way[1],
            aggregators=way[2],
            blocked_seconds=_trials(
                [one.foreground_seconds.max / number[one.function] for one in phases]
            ),
            stored_seconds=_trials([_span_seconds(one) / number[one.function] for one in phases]),
        )
    return list(found.values())


def _span_seconds(phase: Phase) -> float:
    return phase.bytes / rate if (rate := phase.rate_span_bytes_per_second) else 0.0


def _trials(values: Sequence[float]) -> Trials:
    return Trials(
        median=statistics.median(values), low=min(values), high=max(values), values=list(values)
    )
