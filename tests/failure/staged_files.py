"""Ranks that write files through a stager, and what is in these files afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from failing_runs import environment, launcher
from mpi_launcher import SMALL_BUFFERS
from own_stager import Stager, start
from rank_process import aborting_python
from staged_values import counts, density

import weir
from weir.check import check

PROGRAM = Path(__file__).with_name("staged_ranks.py")
RUN_SECONDS = 240
wherever = pytest.mark.parametrize("stager", ["node", "service"], indirect=True)
"""Runs a test with the stager of the node, and with one that is reached over a network."""
LOST_LINE = "weir: a stager was lost: from now on the ranks write without stagers"


def run(
    stager: Stager,
    what: str,
    folder: Path,
    file_format: str,
    *arguments: str,
    ranks: int = 3,
    ranks_per_node: int = 1,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    own = stager.variables() | SMALL_BUFFERS | {"PYTHONPATH": str(PROGRAM.parents[1])}
    if stager.others:
        own["WEIR_RANKS_PER_NODE"] = str(ranks_per_node)
    return subprocess.run(
        [*launcher(deadline_seconds=RUN_SECONDS), "-n", str(ranks), *aborting_python(),
         PROGRAM, what, folder, file_format, *arguments],
        env=environment(own), capture_output=True, text=True,
        timeout=RUN_SECONDS + 15, check=False, cwd=cwd,
    )  # fmt: skip


def steps_in(path: Path, *, with_remains: bool = False) -> int:
    """Checks the file, and that all steps in it are right; returns how many there are.

    `with_remains`: the file may have remains of a step that did not end.
    """
    wrong = check(path).findings
    if with_remains:
        unfinished = ("a step that was not committed", "a commit that did not finish")
        wrong = [line for line in wrong if not line.endswith(unfinished)]
    assert wrong == []
    with weir.open(path) as file:
        for step in range(file.steps):
            assert (file["density"][step] == density(step)).all()
            assert (file["counts"][step] == counts(step)).all()
        return file.steps


def bytes_below(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    return {str(one.relative_to(path)): one.read_bytes() for one in files}


def ended_without_stager(
    path: Path,
    pause: float,
    *words: str | Path,
    one: Stager | None = None,
    victim: Stager | None = None,
) -> tuple[int, str, str]:
    """Kills the stager of two ranks `pause` seconds after their file has its name.

    `victim`: the one of several that is killed alone; None: all are killed.

    Returns the ranks' exit status and what they printed.
    """
    one = one or start("--stager-memory", "16m")
    own = one.variables() | SMALL_BUFFERS | {"PYTHONPATH": str(PROGRAM.parents[1])}
    writer = subprocess.Popen(
        [*launcher(deadline_seconds=RUN_SECONDS), "-n", "2", *aborting_python(), PROGRAM, *words],
        env=environment(own), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + RUN_SECONDS
    while not path.exists() and writer.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(pause)
    if victim is None:
        one.kill()
    else:
        os.kill(victim.pid, signal.SIGKILL)
    told, said = writer.communicate(timeout=RUN_SECONDS)
    return writer.returncode, told, said
