"""A process that runs another MPI than libweir was built for gets a line, not a crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mpi_launcher import environment, is_open_mpi

PROGRAM = """
from mpi4py import MPI
import weir
weir.Session(MPI.COMM_WORLD)
"""
OTHER, ITS_NAME, LIBRARY = (
    ("mpich", "libmpi.so.12", "libmpich.so.12")
    if is_open_mpi()
    else ("openmpi", "libmpi.so.40", "libmpi.so.40")
)


def library_of_the_other() -> Path | None:
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True)
    found = (line.split() for line in listed.stdout.splitlines())
    return next((Path(words[-1]) for words in found if words[:1] == [LIBRARY]), None)


def test_a_process_with_another_mpi_is_refused(tmp_path: Path) -> None:
    library = library_of_the_other()
    if library is None:
        pytest.skip(f"{OTHER} is not installed beside the MPI that Weir was built for")
    (tmp_path / ITS_NAME).symlink_to(library)
    other = {"MPI4PY_MPIABI": OTHER, "LD_LIBRARY_PATH": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**environment({}), **other}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    # The loader bound libweir's calls to its own MPI, which nobody has started, or to the other.
    said = ended.stderr.strip().splitlines()[-1]
    assert "is not running: call Session" in said or "libweir was built for " in said
