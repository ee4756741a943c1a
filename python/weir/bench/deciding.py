"""Settings that weir-bench decides by what it finds on the nodes: pixels that fill the memory.

``--plan`` without MPI knows only the node on which it runs. So the plan of such a job is made once
more by the job's own ranks, and what they have decided becomes part of the arguments. Expectation,
run and a repetition of the run then have the same values.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from weir.bench.errors import BenchError
from weir.bench.failure import failure_of
from weir.bench.job import Job
from weir.bench.messages import StandardError
from weir.bench.process import run_child
from weir.bench.program import PlannedJob, plan_job
from weir.bench.words import without_settings

PLAN_SECONDS = 120.0


def plan_decided(job: Job, arguments: Sequence[str]) -> tuple[PlannedJob, list[str]]:
    """Returns the plan, and the arguments with the values that weir-bench has decided.

    Starts the ranks if there is something to decide. Raises ``BenchError`` with weir-bench's own
    line.
    """
    return decided(job, arguments, plan_job(job.program, arguments, job.launcher.ranks))


def decided(
    job: Job, arguments: Sequence[str], planned: PlannedJob
) -> tuple[PlannedJob, list[str]]:
    """Returns what ``plan_decided`` returns; ``planned`` is the plan that was made without MPI."""
    if not planned.decided:
        return planned, list(arguments)
    on_nodes = _plan_on_nodes(job, arguments)
    words = without_settings(arguments, on_nodes, list(on_nodes.decided))
    words += [f"--{name}={value}" for name, value in on_nodes.decided.items()]
    return on_nodes.model_copy(update={"arguments": words}), words


def _plan_on_nodes(job: Job, arguments: Sequence[str]) -> PlannedJob:
    printed: list[str] = []
    said = StandardError(on_progress=lambda _: None, on_line=lambda _: None)
    ending = run_child(
        job.command([*arguments, "--plan"]),
        job.environment(),
        PLAN_SECONDS,
        on_stdout=printed.append,
        on_stderr=said.line,
        inherited=job.inherited,
    )
    if not ending.succeeded:
        error = failure_of("the plan on the nodes", ending, said)
        raise BenchError(str(error) or said.reason() or "", error.exit_status)
    try:
        return PlannedJob.model_validate_json("\n".join(printed))
    except ValidationError:
        raise BenchError(
            f"the ranks printed no plan: check that the launcher {job.launcher.command[0]} passes "
            "on what they print, and nothing else"
        ) from None
