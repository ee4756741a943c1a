"""The options by which commands say how weir-bench is started."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from weir.bench.errors import USAGE, BenchError
from weir.bench.job import Job
from weir.bench.launcher import found_launcher, given_launcher
from weir.bench.program import find_program, mpi_of

Ranks = Annotated[int | None, typer.Option("-n", "--ranks", min=1, envvar="WEIR_RANKS")]
LauncherText = Annotated[str | None, typer.Option("--launcher", envvar="WEIR_LAUNCHER")]
PlatformText = Annotated[str | None, typer.Option("--platform", envvar="WEIR_PLATFORM")]


def find_job(ranks: int | None, launcher: str | None, *, default_ranks: int | None = None) -> Job:
    """Finds weir-bench and the launcher for it.

    Without `ranks`, as many are started as a SLURM allocation has tasks, or `default_ranks`. Raises
    BenchError when none of the three says how many.
    """
    program = find_program(os.environ)
    mpi = mpi_of(program)
    if launcher is not None:
        return Job(program, given_launcher(launcher, ranks, mpi))
    allocated = os.environ.get("SLURM_NTASKS", "")
    if ranks is None:
        ranks = int(allocated) if allocated.isdigit() else default_ranks
    if ranks is None:
        raise BenchError("the number of ranks is missing: give it, for example -n 4", USAGE)
    return Job(program, found_launcher(ranks, os.environ, mpi))
