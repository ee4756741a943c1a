"""Steps that are ended, given up or dropped, and arrays that are added, while something fails.

Each call of the file system that such a change makes fails once, and some kill the rank; calls of
MPI fail on the first rank and on the last: what is there then is the file of before or of after,
and takes a step more (changing_ranks.py).
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from failing_runs import FAULTY_IO, environment, launcher
from mpi_launcher import SMALL_BUFFERS
from rank_process import aborting_python

PROGRAM = Path(__file__).with_name("changing_ranks.py")
RUN_SECONDS = 250  # less than a test's own deadline, so that the launcher ends a job that hangs
KILLED_AT = [("pwrite", 1), ("pwrite", 2), ("ftruncate", 1), ("fsync", 1), ("fdatasync", 1)]
FAULTY_MPI = FAULTY_IO.with_name("faulty_mpi.so")


def run(
    folder: Path, *arguments: str, ranks: int = 2, faulty: Path = FAULTY_IO
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*launcher(deadline_seconds=RUN_SECONDS), "-n", str(ranks), *aborting_python(faulty),
         PROGRAM, folder, *arguments],
        env=environment(SMALL_BUFFERS), capture_output=True, text=True, timeout=RUN_SECONDS + 15,
        check=False,
    )  # fmt: skip


@pytest.mark.sampled(7, by=("file_format", "what"))
@pytest.mark.parametrize(
    ("what", "file_format"),
    [
        (what, file_format)
        for what in ("end", "abort", "drop", "extend")
        for file_format in ("hdf5", "zarr", "raw", "cdf5")
        if (what, file_format) != ("extend", "cdf5")  # a CDF file with steps gets no array
    ],
)
def test_a_failed_call_leaves_the_file_of_before_or_after(
    memory: Path, what: str, file_format: str
) -> None:
    folder = memory / "weir-test"
    folder.mkdir()
    ended = run(folder, file_format, what)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert int(ended.stdout.split()[0]) > 0, ended.stdout


@pytest.mark.sampled(5, by=("file_format", "what"))
@pytest.mark.parametrize("file_format", ["hdf5", "zarr", "raw"])
@pytest.mark.parametrize("what", ["end", "abort", "drop", "extend"])
def test_a_killed_rank_leaves_the_file_of_before_or_after(
    memory: Path, what: str, file_format: str
) -> None:
    killed = 0
    for call, nth in KILLED_AT:
        folder = memory / f"weir-{call}-{nth}"
        folder.mkdir()
        ended = run(folder, file_format, what, call, str(nth))
        killed += ended.returncode != 0
    assert killed > 0
    looked = run(memory, file_format, what, "look")
    assert looked.returncode == 0, looked.stdout + looked.stderr


@pytest.mark.sampled(4, by=("file_format", "what"))
@pytest.mark.parametrize("file_format", ["hdf5", "raw"])
@pytest.mark.parametrize("what", ["end", "abort", "drop", "extend"])
def test_a_failed_message_is_an_error_on_every_rank(
    memory: Path, what: str, file_format: str
) -> None:
    folder = memory / "weir-test"
    folder.mkdir()
    ended = run(folder, file_format, what, "messages", ranks=3, faulty=FAULTY_MPI)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert int(ended.stdout.split()[0]) > 4, ended.stdout
