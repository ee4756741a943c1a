"""Files of each format by Weir, written once for all tests that read them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import mpi_launcher
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import ranks
import stored_cases


def paths_in(folder: Path) -> dict[str, Path]:
    return {name: folder / f"file.{suffix}" for name, suffix in stored_cases.SUFFIXES.items()}


@pytest.fixture(scope="session")
def weir_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For each format a file that Weir wrote, with all that the format can express."""
    paths = paths_in(tmp_path_factory.mktemp("by-one-process"))
    for name, path in paths.items():
        stored_cases.write(path, name)
    return paths


@pytest.fixture(scope="session")
def files_by_ranks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same, written collectively by three ranks, step by step."""
    if not mpi_launcher.there_is_one():
        pytest.skip("there is no MPI launcher")
    folder = tmp_path_factory.mktemp("by-ranks")
    ranks.run_on_ranks(3, "write", folder)
    return paths_in(folder)


@pytest.fixture(params=["weir_files", "files_by_ranks"])
def files(request: Any) -> dict[str, Path]:
    """The files of either maker."""
    paths: dict[str, Path] = request.getfixturevalue(request.param)
    return paths
