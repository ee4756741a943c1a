"""Keeps how a run was started in its ``run.json``, so that it can be started again from there."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from weir.bench.errors import USAGE, BenchError
from weir.bench.job import PREPARING, Job
from weir.results.folder import find_run_folders, load_run, write_run
from weir.results.schema import Run, Start
from weir.results.secrets import may_be_secret

KEPT = re.compile(
    r"(OMPI_(MCA|ALLOW)|PMIX_MCA|PRTE_MCA|UCX|MPICH|MPIR_CVAR|I_MPI|FI|ROMIO|HDF5|PNETCDF|WEIR)_"
    r"|OMP_NUM_THREADS$|LD_(PRELOAD|LIBRARY_PATH)$"
)
"""Variables that control MPI, the I/O libraries and Weir; no others are recorded."""


def kept_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that a result keeps: those on an allow-list, but no possible secret."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if KEPT.match(name) and not may_be_secret(name)
    }


def start_of(job: Job, arguments: list[str], typed: list[str], platform: str | None) -> Start:
    """Returns how a job is started here: ``arguments`` are weir-bench's, ``typed`` is the command.

    ``platform`` is what ``--platform`` names.
    """
    return Start(
        command_by_user=typed,
        arguments=arguments,
        launcher=list(job.launcher.command),
        ranks=job.launcher.ranks,
        directory=str(Path.cwd()),
        platform=platform,
        environment=kept_variables(os.environ),
    )


def record_start(output: Path, start: Start) -> None:
    """Records in every run below ``output`` how its job was started.

    The command of weir-bench names files of the preparation, which now lie in ``output``: it names
    them there, so that it can be given again.
    """
    for folder in find_run_folders(output):
        run = load_run(folder)
        command = [_where_it_is_now(word, output) for word in run.command]
        write_run(folder, run.model_copy(update={"start": start, "command": command}))


def _where_it_is_now(word: str, output: Path) -> str:
    path = Path(word)
    is_prepared = path.parent.name.startswith(f"{PREPARING}{output.name}-")
    return str(output / path.name) if is_prepared else word


def start_again(run: Run) -> Start:
    """Returns what starts the run again, with its seed among the arguments."""
    if run.start is None:
        raise BenchError(
            f"run {run.id} does not say how it was started (no weir bench, or an older one); "
            f"it ran: {' '.join(run.command)}",
            USAGE,
        )
    arguments = list(run.start.arguments)
    if not any(re.match(r"--seed(=|$)", word) for word in arguments):
        arguments.append(f"--seed={int(run.verification.seed, 16)}")
    return run.start.model_copy(update={"arguments": arguments})


def enter(start: Start) -> None:
    """Gives this process the working directory and the variables with which the run was started."""
    try:
        os.chdir(start.directory)
    except OSError as error:
        raise BenchError(
            f"the run was started in {start.directory}, which cannot be entered: {error.strerror}",
            USAGE,
        ) from None
    for name in kept_variables(os.environ):
        if name not in start.environment:
            del os.environ[name]
    os.environ.update(start.environment)
