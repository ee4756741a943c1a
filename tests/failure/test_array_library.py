"""Arrays written by the library where a rank is killed or hangs, or the file system is full."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from failing_runs import BRIEF, BUILD, PATIENCE_SECONDS, assert_ended_cleanly, environment, run
from failing_runs import launcher as mpi_launcher

ARRAYS_TEST = BUILD / "tests" / "arrays" / "arrays_test"
# 2 x 2 blocks of 64 x 64, through buffers of 16 rows.
ARRAY = ("array", "--api", "weir", "--shape", "128x128", "--buffer", "16k", *BRIEF)
WAYS = [("direct",), ("node", "--aggregators", "4"), ("two-phase", "--aggregators", "4")]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[0])
def test_a_rank_killed_in_a_write(tmp_path: Path, way: tuple[str, ...]) -> None:
    fault = "rank=2,call=pwrite,nth=1,effect=kill"
    ended = run(tmp_path, "--strategy", *way, workload=ARRAY, fault=fault)
    failure = assert_ended_cleanly(ended).failure
    assert failure is not None
    assert (failure.rank, failure.cause) == (2, "lost_rank")


def test_a_call_that_never_returns(tmp_path: Path) -> None:
    """The library's own deadline is that of the run; whichever comes first ends it."""
    fault = "rank=1,call=pwrite,nth=1,effect=hang"
    arguments = ("--strategy", *WAYS[1], "--deadline", "3")
    ended = run(tmp_path, *arguments, workload=ARRAY, fault=fault)
    failure = assert_ended_cleanly(ended).failure
    assert failure is not None
    assert failure.cause == "deadline"


def test_a_full_file_system(tmp_path: Path, small_file_system: Path) -> None:
    """Errors of the system, not injected ones: arrays_test writes more than there is room for."""
    done = subprocess.run(
        [
            *(*mpi_launcher(), "-n", "4", str(ARRAYS_TEST), str(small_file_system)),
            "--gtest_filter=OnRanks.AFullFileSystem",
        ],
        cwd=tmp_path,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout
    assert "SKIPPED" not in done.stdout
