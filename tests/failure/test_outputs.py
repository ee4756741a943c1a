"""``weir-bench flash`` and ``weir-bench s3d`` when storage fails or lies."""

from __future__ import annotations

from pathlib import Path

import pytest
from failing_runs import BRIEF, assert_ended_cleanly, run
from mpi_marks import needs_pnetcdf

from weir.results.schema import Run

WORDS = {
    # A rank has two or three blocks of 64 numbers.
    "flash": ("flash", "--blocks", "2.5", "--nxb", "4", "--nyb", "4", "--nzb", "4", *BRIEF),
    # Four ranks write boxes of which two ranks read two each.
    "s3d": ("s3d", "--nx", "3", "--ny", "5", "--nz", "2", "--steps", "2", *BRIEF),
}
FILES = {"flash": "sedov", "s3d": "field"}
"""What the names of a workload's files begin with."""


def failed_run(workload: str, api: str, folder: Path, fault: str) -> Run:
    """Runs a workload that a fault in its files ends; every rank moves its own blocks."""
    ended = run(
        *(folder, "--api", api),
        workload=WORDS[workload],
        fault=f"{fault},tree={FILES[workload]}",
        wrapper=("env", "WEIR_STRATEGY=direct"),
    )
    return assert_ended_cleanly(ended)


@pytest.mark.parametrize(
    ("workload", "api", "lost"),
    [
        ("flash", "weir-hdf5", "rank=1,call=pwrite,nth=1"),
        ("flash", "weir-cdf5", "rank=1,call=pwrite,nth=1"),
        ("flash", "hdf5", "rank=0,call=pwrite,nth=2"),
        pytest.param("flash", "pnetcdf", "rank=0,call=pwrite,nth=2", marks=needs_pnetcdf),
        ("flash", "mpiio", "rank=0,call=pwrite,nth=2"),
        ("s3d", "mpiio", "rank=0,call=pwrite,nth=1"),
    ],
)
def test_a_write_that_is_lost_is_found(workload: str, api: str, lost: str, tmp_path: Path) -> None:
    """By Weir every rank writes its own blocks; MPI-IO lets rank 0 write those of all."""
    record = failed_run(workload, api, tmp_path, f"{lost},effect=drop")
    assert record.failure.cause in ("corrupt_data", "io")


@pytest.mark.parametrize("workload", WORDS)
@pytest.mark.parametrize("api", ["weir-hdf5", "weir-cdf5"])
def test_a_bit_that_flips_on_the_way_back_is_found(workload: str, api: str, tmp_path: Path) -> None:
    """Rank 1 finds it in its own blocks of flash, and in what ranks 1 and 3 wrote of s3d."""
    record = failed_run(workload, api, tmp_path, "rank=1,call=pread,nth=1,effect=flip")
    assert (record.failure.rank, record.failure.cause) == (1, "corrupt_data")
    (error,) = record.verification.errors
    assert (error.rank, error.function) == (1, "checkpoint")


@pytest.mark.parametrize("api", ["weir-hdf5", "weir-cdf5"])
def test_a_full_disk_is_named(tmp_path: Path, api: str) -> None:
    ended = run(
        tmp_path,
        "--api",
        api,
        workload=WORDS["flash"],
        fault="rank=0,call=pwrite,nth=3,error=ENOSPC,tree=sedov",
    )
    record = assert_ended_cleanly(ended)
    assert record.failure is not None
    assert "No space left" in record.failure.message
