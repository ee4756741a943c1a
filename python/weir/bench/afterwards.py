"""Gives runs of another launcher the expectation that they began without, from a description.

``weir bench`` makes an expectation before each run. A run that was started with ``srun`` and the
like has none. A description of the platform is independent of that run's result if it was measured
before, so what the path model says by it is an expectation all the same. It is marked as computed
after the run, and one that was made before the run is never replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from weir.bench.errors import BenchError
from weir.bench.job import can_be_expected, expectations
from weir.bench.platforms import described_here, find_platform, places_of
from weir.bench.program import PlannedConfiguration, PlannedJob
from weir.bench.second_opinion import with_a_priori
from weir.results.expectations import Expectation
from weir.results.finalize import Expect
from weir.results.platform import Platform
from weir.results.schema import Run


def expecting_by(named: str | None) -> Expect:
    """Returns a function that gives a run its expectation.

    It uses the named description or, without a name, the latest one below ``platforms/`` of the
    run's directory that was measured before the run. It raises ``BenchError`` if a named
    description is not about the run, and returns None if there is none.
    """
    given = None if named is None else find_platform(named)

    def expectation_of(run: Run) -> Expectation | None:
        if run.imported is not None:
            return None
        planned = _planned_again(run)
        for platform in [given] if given is not None else _measured_before(run, planned):
            if not can_be_expected(planned, platform):
                continue
            try:
                places = places_of(platform, planned)
                made = expectations(planned, platform, places, _variables_of(run))
            except BenchError:
                if given is not None:
                    raise
                continue
            made = with_a_priori(planned, platform, made)
            return made[run.id].model_copy(update={"after_run": True})
        return None

    return expectation_of


def _directory_of(run: Run) -> str:
    """Returns the directory of the test files, where possible as the run itself resolved it."""
    parameter = run.parameters.get("directory")
    given = str(parameter.value) if parameter is not None else "."
    made = run.environment.file_system.get("directory") if run.environment is not None else None
    # The folder of the test files was made in the directory that the user gave.
    return given if Path(given).is_absolute() or not made else str(Path(made).parent)


def _measured_before(run: Run, planned: PlannedJob) -> Iterator[Platform]:
    for _, platform, _ in described_here(planned):
        if platform.measured_utc is not None and platform.measured_utc < run.started_utc:
            yield platform


def _variables_of(run: Run) -> Mapping[str, str]:
    """Returns the variables with which the run was started, as far as they were kept."""
    return run.start.environment if run.start is not None else {}


def _planned_again(run: Run) -> PlannedJob:
    """Returns the job of one run as weir-bench planned it."""
    configuration = PlannedConfiguration(
        label=run.label,
        slug=run.id,
        asynchronous=any(rate.headline and rate.metric == "foreground" for rate in run.rates),
        parameters=run.parameters,
        plan=run.plan,
    )
    largest = max((phase.bytes_per_operation for phase in run.plan.phases), default=0)
    return PlannedJob(
        configurations=[configuration],
        directory=_directory_of(run),
        striping=[],
        transfer_bytes=largest,
    )
