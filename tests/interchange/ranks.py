"""Running collective_program.py on several ranks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

LAUNCHER = ["mpiexec", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
PROGRAM = Path(__file__).parent / "collective_program.py"


def there_are_ranks() -> bool:
    return shutil.which("mpiexec") is not None


def run_on_ranks(ranks: int, what: str, folder: Path) -> str:
    """What the ranks print."""
    environment = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    done = subprocess.run(
        [*LAUNCHER, "--timeout", "60", "-n", str(ranks), sys.executable, PROGRAM, what, folder],
        env=environment, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
