"""Runs ``weir-bench probe`` under the launcher; it leaves no test files, however it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import ValidationError

from weir.bench.cleanup import remove_unfinished
from weir.bench.errors import FAILED, INTERRUPTED, USAGE, BenchError
from weir.bench.job import Job
from weir.bench.messages import Progress, StandardError
from weir.bench.process import Ending, run_child
from weir.results.errors import ResultError
from weir.results.folder import describe_validation
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
        raise _failure(ending, said)
    return load_probe(output)


def load_probe(path: Path) -> Probe:
    """Reads and validates a probe.json; raises ``ResultError`` that says where the fault is."""
    try:
        return Probe.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise ResultError(f"{path}: {describe_validation(error)}") from None


def _failure(ending: Ending, said: StandardError) -> BenchError:
    if ending.asked_by is not None:
        return BenchError(f"the probe failed: {ending.describe()}", INTERRUPTED)
    status = USAGE if ending.status == USAGE else FAILED
    if said.told and not ending.timed_out:
        return BenchError("", status)
    reason = said.reason()
    return BenchError(
        f"the probe failed: {ending.describe()}" + (f"; {reason}" if reason else ""), status
    )
