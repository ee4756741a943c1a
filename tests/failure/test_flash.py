"""``weir-bench flash`` when storage fails or lies."""

from __future__ import annotations

from pathlib import Path

import pytest
from failing_runs import BRIEF, assert_ended_cleanly, run
from mpi_launcher import needs_pnetcdf

# A rank has two or three blocks of 64 numbers.
FLASH = ("flash", "--blocks", "2.5", "--nxb", "4", "--nyb", "4", "--nzb", "4", *BRIEF)


@pytest.mark.parametrize(
    ("api", "lost"),
    [
        ("weir-hdf5", "rank=1,call=pwrite,nth=1"),
        ("weir-cdf5", "rank=1,call=pwrite,nth=1"),
        ("hdf5", "rank=0,call=pwrite,nth=2"),
        pytest.param("pnetcdf", "rank=0,call=pwrite,nth=2", marks=needs_pnetcdf),
        ("mpiio", "rank=0,call=pwrite,nth=2"),
    ],
)
def test_a_write_that_is_lost_is_found(tmp_path: Path, api: str, lost: str) -> None:
    """By Weir every rank writes its own blocks; MPI-IO lets rank 0 write those of all."""
    ended = run(
        *(tmp_path, "--api", api),
        workload=FLASH,
        fault=f"{lost},effect=drop,tree=sedov",
        wrapper=("env", "WEIR_STRATEGY=direct"),
    )
    record = assert_ended_cleanly(ended)
    assert record.failure is not None


@pytest.mark.parametrize("api", ["weir-hdf5", "weir-cdf5"])
def test_a_bit_that_flips_on_the_way_back_is_found(tmp_path: Path, api: str) -> None:
    """Every rank moves its own blocks, and rank 0 alone reads headers."""
    ended = run(
        *(tmp_path, "--api", api),
        workload=FLASH,
        fault="rank=1,call=pread,nth=1,effect=flip,tree=sedov",
        wrapper=("env", "WEIR_STRATEGY=direct"),
    )
    record = assert_ended_cleanly(ended)
    assert record.failure is not None
    assert (record.failure.rank, record.failure.cause) == (1, "corrupt_data")
    (error,) = record.verification.errors
    assert (error.rank, error.function) == (1, "checkpoint")


@pytest.mark.parametrize("api", ["weir-hdf5", "weir-cdf5"])
def test_a_full_disk_is_named(tmp_path: Path, api: str) -> None:
    ended = run(
        tmp_path,
        "--api",
        api,
        workload=FLASH,
        fault="rank=0,call=pwrite,nth=3,error=ENOSPC,tree=sedov",
    )
    record = assert_ended_cleanly(ended)
    assert record.failure is not None
    assert "No space left" in record.failure.message
