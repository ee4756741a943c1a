"""Finds the command that starts an MPI job: mpirun, mpiexec, srun, or the user's own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from weir.bench.errors import USAGE, BenchError
from weir.results.schema import Run

VERSION_SECONDS = 30.0
ALLOCATIONS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE")
OPEN_MPI, MPICH = "Open MPI", "MPICH"
_WORDS_OF_FAMILIES = {
    OPEN_MPI: ("Open MPI", "OpenRTE", "PRRTE", "prterun"),
    MPICH: ("MPICH", "HYDRA", "MVAPICH", "Intel(R) MPI"),
}
_NAMES_BESIDE = {OPEN_MPI: "openmpi", MPICH: "mpich"}
"""Suffixes of Debian's launchers if several are installed, as in mpirun.mpich."""
_PLACING_OPTIONS = (
    "--map-by",
    "-map-by",
    "-ppn",
    "--ppn",
    "-perhost",
    "--ntasks-per-node",
    "-npernode",
)
_COUNT_OPTIONS = ("-n", "-np", "--n", "--np", "--ntasks")


@dataclass(frozen=True)
class Launcher:
    """The start of the command line, the number of ranks, and the launcher's variables."""

    command: tuple[str, ...]
    ranks: int
    environment: dict[str, str]
    is_local: bool = False
    """Whether it was found on a machine without an allocation, which has one node."""


def given_launcher(text: str, ranks: int | None, mpi: str = "") -> Launcher:
    """Returns a launcher in the user's own words, such as ``srun -n 4096``, unchanged.

    The number of ranks is read from it. If it has none, ``-n RANKS`` with ``ranks`` is added.
    ``mpi`` is weir-bench's description of its MPI: an mpirun or mpiexec of another one is refused.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BenchError(
            f"--launcher {text!r} cannot be split into words: {error}", USAGE
        ) from None
    if not words:
        raise BenchError("--launcher is empty: give a command such as 'srun -n 4096'", USAGE)
    if shutil.which(words[0]) is None:
        raise BenchError(f"--launcher: {words[0]} was not found on PATH", USAGE)
    if re.match("mpirun|mpiexec|orterun|prterun", Path(words[0]).name):
        its = _family_of_launcher(words[0])
        if its not in (None, mpi_family(mpi) or its):
            raise _wrong_launcher(words[0], its, mpi)
    stated = _stated_ranks(words)
    if stated is None and ranks is None:
        raise BenchError(f"--launcher {text!r} gives no number of ranks: add -n RANKS", USAGE)
    if stated is not None and ranks is not None and stated != ranks:
        raise BenchError(f"--launcher starts {stated} ranks but --ranks is {ranks}", USAGE)
    if stated is None:
        words += ["-n", str(ranks)]
    return Launcher(tuple(words), stated or ranks or 0, _environment_for_root())


def found_launcher(ranks: int, environment: Mapping[str, str], mpi: str = "") -> Launcher:
    """Returns the launcher of this machine for that many ranks.

    Inside a Slurm allocation srun has precedence, elsewhere mpirun and mpiexec. ``mpi`` is
    weir-bench's description of its MPI. Launchers of another MPI are skipped, because each rank
    that they start would consider itself rank 0 of 1.

    On a machine without an allocation Open MPI may start more ranks than there are cores. It is
    then configured to yield while it waits, since otherwise a barrier takes the scheduler's time
    slice, and not to bind ranks to cores, since background threads that move data would share the
    rank's core.
    """
    family = mpi_family(mpi)
    names = ["mpirun", "mpiexec"]
    if family:
        names += [f"{name}.{_NAMES_BESIDE[family]}" for name in names]
    names = ["srun", *names] if "SLURM_JOB_ID" in environment else [*names, "srun"]
    passed_over = None
    path = environment.get("PATH")
    for found in filter(None, (shutil.which(name, path=path) for name in names)):
        its = None if Path(found).name == "srun" else _family_of_launcher(found)
        if its and family and its != family:
            passed_over = passed_over or _wrong_launcher(found, its, mpi)
            continue
        command = [found, "-n", str(ranks)]
        in_allocation = any(name in environment for name in ALLOCATIONS)
        if its == OPEN_MPI and not in_allocation:
            command += ["--oversubscribe", "--bind-to", "none"]
            if ranks > len(os.sched_getaffinity(0)):
                command += ["--mca", "mpi_yield_when_idle", "1"]
        return Launcher(tuple(command), ranks, _environment_for_root(), not in_allocation)
    raise passed_over or BenchError(
        "no mpirun, mpiexec or srun was found on PATH: load an MPI module, or give --launcher",
        USAGE,
    )


def placed(launcher: Launcher, tasks_per_node: int) -> Launcher:
    """Returns the launcher with options that place so many ranks on each node.

    Slurm, Open MPI and MPICH are known. A machine without an allocation, on which the launcher was
    found by ``found_launcher``, is one node.
    """
    what, ranks = f"tasks-per-node {tasks_per_node}", launcher.ranks
    if ranks % tasks_per_node != 0:
        raise BenchError(
            f"{what}: {ranks} ranks cannot be so many on each node: give a divisor of {ranks}",
            USAGE,
        )
    words = list(launcher.command)
    stated = next((word for word in words if word.partition("=")[0] in _PLACING_OPTIONS), None)
    if stated is not None:
        raise BenchError(
            f"{what}: the launcher places ranks itself, by {stated}: leave one of them out", USAGE
        )
    if launcher.is_local:
        if tasks_per_node == ranks:
            return launcher
        raise BenchError(
            f"{what}: {ranks} ranks need {ranks // tasks_per_node} nodes, and this machine without "
            f"an allocation is one: give tasks-per-node {ranks}, or a --launcher that knows others",
            USAGE,
        )
    name = Path(words[0]).name
    family = None if name == "srun" else _family_of_launcher(words[0])
    if name == "srun":
        words += [f"--nodes={ranks // tasks_per_node}", f"--ntasks-per-node={tasks_per_node}"]
    elif family == OPEN_MPI:
        words += ["--map-by", f"ppr:{tasks_per_node}:node"]
    elif family == MPICH:
        words += ["-ppn", str(tasks_per_node)]
    else:
        raise BenchError(
            f"{what}: it is not known how {name} places ranks: state it in --launcher, and leave "
            "tasks-per-node out",
            USAGE,
        )
    return replace(launcher, command=tuple(words))


def misplaced(runs: Sequence[Run], tasks_per_node: int | None) -> str | None:
    """Returns where runs had another number of ranks on a node than was asked for, or None."""
    if tasks_per_node is None:
        return None
    for node in (node for run in runs for node in run.nodes):
        if len(node.ranks) != tasks_per_node:
            return (
                f"tasks-per-node {tasks_per_node}: the launcher started {len(node.ranks)} ranks on "
                f"{node.host}: its nodes have other numbers of slots, or it has a placement of its "
                "own"
            )
    return None


def mpi_family(text: str) -> str | None:
    """Returns the family of MPI libraries in a version's text; ranks of a family start alike."""
    for family, words in _WORDS_OF_FAMILIES.items():
        if any(word in text for word in words):
            return family
    return None


def _wrong_launcher(launcher: str, family: str, mpi: str) -> BenchError:
    return BenchError(
        f"{launcher} starts ranks of {family}, and weir-bench is linked with {mpi}: put that "
        "MPI's launcher first on PATH, or give it with --launcher",
        USAGE,
    )


def _stated_ranks(words: list[str]) -> int | None:
    for place, word in enumerate(words):
        if word in _COUNT_OPTIONS and place + 1 < len(words) and words[place + 1].isdigit():
            return int(words[place + 1])
        joined = re.fullmatch(r"(?:-n|-np|--n=|--np=|--ntasks=)(\d+)", word)
        if joined:
            return int(joined.group(1))
    return None


def _family_of_launcher(launcher: str) -> str | None:
    try:
        answer = subprocess.run(
            [launcher, "--version"],
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=VERSION_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(
            f"{launcher} --version failed ({error}): give another --launcher"
        ) from None
    return mpi_family(answer.stdout)


def _environment_for_root() -> dict[str, str]:
    if os.geteuid() != 0:
        return {}
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
