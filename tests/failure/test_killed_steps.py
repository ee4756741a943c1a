"""Every step that had ended is in the file, wherever a run is killed; killed_steps.py in short."""

from __future__ import annotations

from pathlib import Path

import pytest
from killed_steps import kill_runs


@pytest.mark.parametrize("file_format", ["hdf5", "zarr-encoded", "raw"])
def test_no_step_is_lost(file_format: str, tmp_path: Path) -> None:
    counts = kill_runs(tmp_path, file_format, 2, seed=3)
    assert counts["one rank killed"] + counts["all ranks killed"] == 2
