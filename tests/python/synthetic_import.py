"""Run folders of outputs of other benchmarks, for tests."""

from __future__ import annotations

from pathlib import Path

from weir.importing.recognition import read
from weir.importing.run_folders import write


def imported(file: Path, output: Path) -> Path:
    """Returns the folder with the runs of a file, or with its only run."""
    folders = write(read(file), output).folders
    return folders[0] if len(folders) == 1 else folders[0].parent
