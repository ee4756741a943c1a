"""Turns a campaign into Slurm array jobs: a script per number of ranks, and one that submits them.

Runs with different numbers of ranks, or of ranks on a node, need allocations of different sizes, so
each number of ranks has its own array. A task makes one run or a chunk of them. It does not repeat
runs that are done, so an interrupted task can be submitted again by its index. All arrays have the
same name and wait for one another (``--dependency=singleton``), and ``%THROTTLE`` limits how many
tasks of an array run at a time, because concurrent runs on one file system would measure each
other.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weir.campaign.estimate import Estimator
from weir.campaign.setup import Setup
from weir.results.errors import ResultError
from weir.results.folder import write_atomically

SCRIPTS_FOLDER = "slurm"
LEAST_SECONDS = 300.0
SAFETY = 2.0


@dataclass(frozen=True)
class ArrayJob:
    """One array: the ranks of its tasks, the runs of each task, and a task's time limit."""

    ranks: int
    tasks: list[list[int]]
    seconds: float
    ranks_per_node: int | None = None
    """None: as Slurm places them."""

    @property
    def where(self) -> str:
        """Returns how its ranks start, in words."""
        placed = "" if self.ranks_per_node is None else f", {self.ranks_per_node} on a node"
        return f"{self.ranks} ranks{placed}"


def array_jobs(
    setup: Setup, estimator: Estimator, chunk: int, done: frozenset[int]
) -> list[ArrayJob]:
    """Returns the arrays for the remaining runs, ``chunk`` runs per task, in the design's order."""
    by_ranks: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for run in setup.campaign.runs:
        if run.number not in done:
            prepared = setup.combinations[run.combination]
            started = (prepared.ranks, prepared.tasks_per_node or 0)
            seconds = estimator.cautious_seconds(run.combination)
            by_ranks.setdefault(started, []).append((run.number, seconds))
    jobs = []
    for (ranks, per_node), runs in sorted(by_ranks.items()):
        chunks = [runs[first : first + chunk] for first in range(0, len(runs), chunk)]
        longest = max(sum(seconds for _, seconds in part) for part in chunks)
        tasks = [[number for number, _ in part] for part in chunks]
        limit = max(LEAST_SECONDS, SAFETY * longest)
        jobs.append(ArrayJob(ranks, tasks, limit, per_node or None))
    return jobs


def script_of(job: ArrayJob, name: str, output: Path, command: Sequence[str], throttle: int) -> str:
    """Returns the text of an array's script; a task runs ``command``, a ``weir campaign``."""
    runs = "\n".join(f'  "{",".join(str(run) for run in task)}"' for task in job.tasks)
    last = len(job.tasks) - 1
    margin = min(60.0, 0.1 * job.seconds)
    own = ["--resume", f"--time-limit={math.floor(job.seconds - margin)}"]
    own += ["--side-by-side"] if throttle > 1 else []
    placed = ""
    if job.ranks_per_node is not None:
        placed = f"#SBATCH --ntasks-per-node={job.ranks_per_node}\n"
    return f"""#!/bin/bash
# Written by: weir campaign --slurm. Submit it, or a part of it, as often as needed:
#   sbatch --array=3 {shlex.quote(str(output / SCRIPTS_FOLDER / script_name(job)))}
# Finished runs are not repeated.
#SBATCH --job-name=weir-{name}
#SBATCH --dependency=singleton
#SBATCH --ntasks={job.ranks}
{placed}#SBATCH --array=0-{last}%{throttle}
#SBATCH --time={slurm_time(job.seconds)}
#SBATCH --output={output}/{SCRIPTS_FOLDER}/%x-{_name(job)}-%a.txt
set -euo pipefail

# The runs of each task, by their numbers in campaign.json.
tasks=(
{runs}
)
cd {shlex.quote(str(Path.cwd()))}
index=${{SLURM_ARRAY_TASK_ID:?start this script with sbatch}}
exec {shlex.join([*command, *own])} --only "${{tasks[index]:?there is no task $index}}"
"""


def script_name(job: ArrayJob) -> str:
    """Returns the file name of an array's script."""
    return f"ranks-{job.ranks:05d}{_per_node(job)}.sh"


def _name(job: ArrayJob) -> str:
    return f"{job.ranks}{_per_node(job)}"


def _per_node(job: ArrayJob) -> str:
    return "" if job.ranks_per_node is None else f"-per-node-{job.ranks_per_node:03d}"


def slurm_time(seconds: float) -> str:
    """Formats ``HH:MM:SS``, rounded up to minutes."""
    minutes = math.ceil(seconds / 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:00"


def write_scripts(
    jobs: Sequence[ArrayJob], name: str, output: Path, command: Sequence[str], throttle: int
) -> list[Path]:
    """Write the scripts and ``submit.sh`` below ``output``; returns them, ``submit.sh`` last."""
    folder = output / SCRIPTS_FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"{folder} cannot be made: {error.strerror}") from None
    written = []
    for job in jobs:
        text = script_of(job, name, output, command, throttle)
        written.append(write_atomically(folder / script_name(job), text))
    lines = "".join(f"sbatch {shlex.quote(str(script))}\n" for script in written)
    submit = f"#!/bin/bash\nset -euo pipefail\n{lines}"
    written.append(write_atomically(folder / "submit.sh", submit))
    for script in written:
        script.chmod(0o755)
    return written
