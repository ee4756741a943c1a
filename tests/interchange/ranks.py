"""Running collective_program.py, or another program, on several ranks."""

from __future__ import annotations

import subprocess
from pathlib import Path

from mpi_launcher import environment, launcher
from rank_process import python

PROGRAM = Path(__file__).parent / "collective_program.py"


def run_on_ranks(ranks: int, what: str, folder: Path, *, program: Path = PROGRAM) -> str:
    """What the ranks print."""
    done = subprocess.run(
        [*launcher(deadline_seconds=60), "-n", str(ranks), *python(), program, what, folder],
        env=environment({}), capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
