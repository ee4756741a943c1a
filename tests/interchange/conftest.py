"""Files of each format by Weir, written once for all tests that read them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import stored_cases


@pytest.fixture(scope="session")
def weir_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For each format a file that Weir wrote, with all that the format can express."""
    folder = tmp_path_factory.mktemp("weir-files")
    paths = {}
    for name in stored_cases.FORMATS:
        paths[name] = folder / f"by-weir.{stored_cases.SUFFIXES[name]}"
        stored_cases.write(paths[name], name)
    return paths
