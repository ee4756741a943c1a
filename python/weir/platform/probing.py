"""Runs ``weir-bench probe`` under the launcher; it leaves no test files, however it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from weir.bench.cleanup import remove_unfinished
from weir.bench.failure import failure_of
from weir.bench.job import Job
from weir.bench.messages import Progress, StandardError
from weir.bench.process import run_child
from weir.results.folder import load_record
from weir.results.probe import Probe

ALLOWANCE_SECONDS = 300.0
"""Seconds beyond ``--seconds`` for the start of the ranks and for very slow storage."""


def run_probe(
    job: Job,
    directories: Sequence[str],
    seconds: float,
    output: Path,
    *,
    on_progress: Callable[[Progress], None],
    tell: Callable[[str], None],
) -> Probe:
    """Runs the probe; afterwards ``output`` contains probe.json.

    Raises ``BenchError`` when the job failed or was interrupted. No test files are left then.
    """
    arguments = ["probe", "--directory", ",".join(directories), "--seconds", f"{seconds:g}"]
    arguments += ["--output", str(output), "--progress", "json"]
    said = StandardError(on_progress=on_progress, on_line=tell)
    ending = run_child(
        job.command(arguments),
        job.environment(),
        seconds + ALLOWANCE_SECONDS,
        on_stdout=lambda _: None,
        on_stderr=said.line,
    )
    if not ending.succeeded:
        removed = remove_unfinished(output)
        if removed:
            tell(f"removed {len(removed)} folders of test files that the job left behind")
        raise failure_of("the probe", ending, said)
    return load_record(output, Probe)
