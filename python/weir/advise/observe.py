"""Runs a command so that its processes record which operations they request of file systems."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from weir._core.shared_library import find

LIBRARY = "libweir_calls.so.0"
PATH_VARIABLE = "WEIR_CALLS_LIBRARY"
FOLDER_VARIABLE = "WEIR_CALLS_FOLDER"


def observe(command: Sequence[str], folder: Path) -> int:
    """Runs the command with records written to `folder`; returns its exit status as a shell does.

    Raises LibraryError, and OSError when the command cannot be started.
    """
    library = find(LIBRARY, PATH_VARIABLE)
    already = os.environ.get("LD_PRELOAD")
    environment = os.environ | {
        "LD_PRELOAD": f"{library}:{already}" if already else str(library),
        FOLDER_VARIABLE: str(folder.resolve()),
    }
    # In a batch script this is the number of the node's first task; srun sets it for each task
    # anew.
    environment.pop("SLURM_PROCID", None)
    # Ctrl-C ends the command, and Weir still reports what it did until then. A handler is set
    # because the command would inherit an ignored signal.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        status = subprocess.run(command, env=environment, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)
    return status if status >= 0 else 128 - status
