"""The options by which commands say how weir-bench is started, and what runs beside it."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from weir.bench.errors import USAGE, BenchError
from weir.bench.job import Job
from weir.bench.launcher import Launcher, found_launcher, given_launcher, placed
from weir.bench.program import find_program, mpi_of
from weir.campaign.file import read_duration
from weir.monitor.sampler import LONGEST_SECONDS, SHORTEST_SECONDS

Ranks = Annotated[
    int | None,
    typer.Option("-n", "--ranks", min=1, envvar="WEIR_RANKS", help="Ranks that a job starts."),
]
TasksPerNode = Annotated[
    int | None, typer.Option("--tasks-per-node", min=1, envvar="WEIR_TASKS_PER_NODE")
]
LauncherText = Annotated[
    str | None,
    typer.Option(
        "--launcher",
        envvar="WEIR_LAUNCHER",
        help="Command that starts the ranks, instead of mpirun, mpiexec or srun: 'srun -n 4096'.",
    ),
]
PlatformText = Annotated[
    str | None,
    typer.Option(
        "--platform",
        metavar="FILE|NAME",
        envvar="WEIR_PLATFORM",
        help="Take expectations from this description of the machine instead of a calibration.",
    ),
]
MonitorText = Annotated[
    str | None,
    typer.Option(
        "--monitor",
        metavar="[INTERVAL]",
        help="Watch targets, servers and links beside each job, every 100ms or as given.",
    ),
]
INTERVAL = "100ms"
_INTERVAL = re.compile(r"\d+(\.\d+)?(ms|s)")


class MonitoringCommand(TyperCommand):
    """A command whose option ``--monitor`` may stand without its interval."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_interval(args))


def with_interval(words: Sequence[str]) -> list[str]:
    """Returns the words with an interval for each ``--monitor`` that no interval follows."""
    return [
        f"{word}={INTERVAL}" if word == "--monitor" and not _INTERVAL.fullmatch(after) else word
        for word, after in itertools.zip_longest(words, words[1:], fillvalue="")
    ]


def read_interval(text: str) -> float:
    """Returns the seconds of a sampling interval; raises BenchError if it is out of range."""
    try:
        seconds = read_duration(text)
    except ValueError as error:
        raise BenchError(f"the interval is wrong: {error}", USAGE) from None
    if not isinstance(seconds, float) or not SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS:
        raise BenchError(
            f"the interval {text} is out of range: give 50ms to {LONGEST_SECONDS:.0f}s", USAGE
        )
    return seconds


def find_job(
    ranks: int | None,
    launcher: str | None,
    *,
    default_ranks: int | None = None,
    tasks_per_node: int | None = None,
) -> Job:
    """Finds weir-bench and the launcher for it.

    Without `ranks`, as many are started as a SLURM allocation has tasks, or `default_ranks`. Raises
    BenchError when none of the three says how many, or if the launcher cannot place
    `tasks_per_node` ranks on each node.
    """
    program = find_program(os.environ)
    found = _find_launcher(ranks, launcher, default_ranks, mpi_of(program))
    return Job(program, found if tasks_per_node is None else placed(found, tasks_per_node))


def _find_launcher(
    ranks: int | None, launcher: str | None, default_ranks: int | None, mpi: str
) -> Launcher:
    if launcher is not None:
        return given_launcher(launcher, ranks, mpi)
    allocated = os.environ.get("SLURM_NTASKS", "")
    if ranks is None:
        ranks = int(allocated) if allocated.isdigit() else default_ranks
    if ranks is None:
        raise BenchError("the number of ranks is missing: give it, for example -n 4", USAGE)
    return found_launcher(ranks, os.environ, mpi)


def words_of(**options: object) -> list[str]:
    """Returns ``--name=value`` for each option of a command to be repeated that has a value."""
    given = {name.replace("_", "-"): value for name, value in options.items() if value is not None}
    return [f"--{name}={value}" for name, value in given.items()]
