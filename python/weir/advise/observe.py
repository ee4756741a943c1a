"""Running a command so that its processes leave records of what they ask the file system for."""

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
    """Run the command with records going to `folder`; its exit status, as a shell gives it.

    Raises LibraryError, and OSError when the command cannot be started.
    """
    library = find(LIBRARY, PATH_VARIABLE)
    already = os.environ.get("LD_PRELOAD")
    environment = os.environ | {
        "LD_PRELOAD": f"{library}:{already}" if already else str(library),
        FOLDER_VARIABLE: str(folder.resolve()),
    }
    # A batch script has that of its node's first task; srun gives each task its own.
    environment.pop("SLURM_PROCID", None)
    # Ctrl-C is the command's: it ends, and what it did until then is still told. A handler, as the
    # command would inherit that the signal is ignored.
    before = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    try:
        status = subprocess.run(command, env=environment, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)
    return status if status >= 0 else 128 - status
