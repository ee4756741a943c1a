"""``weir-bench s3d`` when storage lies. What it shares with flash is tested in test_flash.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from failing_runs import BRIEF, assert_ended_cleanly, run

# Four ranks write boxes of which two ranks read two each.
S3D = ("s3d", "--nx", "3", "--ny", "5", "--nz", "2", "--steps", "2", *BRIEF)


@pytest.mark.parametrize("api", ["weir-hdf5", "weir-cdf5"])
def test_a_bit_that_flips_on_the_way_back_is_found_by_a_rank_that_restarts(
    tmp_path: Path, api: str
) -> None:
    """The elements that rank 1 reads were written by ranks 1 and 3."""
    ended = run(
        *(tmp_path, "--api", api),
        workload=S3D,
        fault="rank=1,call=pread,nth=1,effect=flip,tree=field",
        wrapper=("env", "WEIR_STRATEGY=direct"),
    )
    record = assert_ended_cleanly(ended)
    assert record.failure is not None
    assert (record.failure.rank, record.failure.cause) == (1, "corrupt_data")
    (error,) = record.verification.errors
    assert (error.rank, error.function) == (1, "checkpoint")


def test_an_element_that_mpi_io_did_not_write_is_found(tmp_path: Path) -> None:
    ended = run(
        *(tmp_path, "--api", "mpiio"),
        workload=S3D,
        fault="rank=0,call=pwrite,nth=1,effect=drop,tree=field",
    )
    record = assert_ended_cleanly(ended)
    assert record.failure is not None
    assert record.failure.cause in ("corrupt_data", "io")
