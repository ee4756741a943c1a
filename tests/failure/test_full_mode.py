"""MADbench2 in full: damaged matrices are found and named, and what cannot be is refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from failing_runs import BRIEF, SHARE_BYTES, WEIR_BENCH, assert_ended_cleanly, run
from mpi_launcher import environment

BLOCK_BYTES = 4096
GOOD = ("128", "4", "1", "32", "4096", "1", "1")


def planned(*arguments: str, workload: str = "madbench") -> subprocess.CompletedProcess[str]:
    """Asks for the plan, for which every rule must hold; nothing is started."""
    return subprocess.run(
        [str(WEIR_BENCH), workload, *arguments, "--plan", "--ranks", "4"],
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


pytestmark = pytest.mark.skipif(
    "without ScaLAPACK" in planned(*GOOD, "--full").stderr, reason="weir-bench has no ScaLAPACK"
)


@pytest.mark.parametrize(
    ("fault", "function", "kind", "matrix", "block"),
    [
        # The second matrix, on the way to the file and back; the flipped byte is in the middle.
        ("rank=2,call=pwrite,nth=2,effect=flip", "W", "foreign", 1, SHARE_BYTES // 2),
        ("rank=2,call=pread,nth=2,effect=flip", "W", "foreign", 1, SHARE_BYTES // 2),
        ("rank=1,call=pwrite,nth=3,effect=zeros", "W", "zeros", 2, 0),
        ("rank=1,call=pwrite,nth=3,effect=swap", "W", "swapped_block", 2, 0),
        # W's results over S's matrices: without the write, C reads S's.
        ("rank=3,call=pwrite,nth=5,effect=drop", "C", "stale_data", 0, 0),
        # C reads each result again for every pair: rank 0's sixth read there is result 2's second.
        ("rank=0,call=pread,nth=10,effect=flip", "C", "foreign", 2, SHARE_BYTES // 2),
    ],
)
def test_damage_is_found_and_named(
    tmp_path: Path, fault: str, function: str, kind: str, matrix: int, block: int
) -> None:
    record = assert_ended_cleanly(run(tmp_path, *BRIEF, "--full", fault=fault))
    assert record.failure is not None
    assert record.failure.cause == "corrupt_data"
    error = record.verification.errors[0]
    assert (error.kind, error.function) == (kind, function)
    assert error.rank == int(fault.removeprefix("rank=")[0])
    assert error.offset_bytes == matrix * SHARE_BYTES + block // BLOCK_BYTES * BLOCK_BYTES


def test_a_full_disk_ends_the_run_with_one_line(tmp_path: Path) -> None:
    ended = run(tmp_path, *BRIEF, "--full", fault="rank=1,call=pwrite,nth=6,error=ENOSPC")
    record = assert_ended_cleanly(ended)
    assert record.failure is not None
    assert record.failure.operation == "write"
    assert record.failure.rank == 1


@pytest.mark.parametrize(
    ("workload", "arguments", "says"),
    [
        ("madbench", ("--full", "--iomode", "NONE"), "IOMODE = NONE transfers nothing"),
        ("madbench", ("--full", "--iomode", "SYNC,NONE"), "IOMODE = NONE transfers nothing"),
        ("madbench", ("--full", "--rank-shift", "1"), "--rank-shift"),
        ("madbench", ("--full", "--compressible", "50"), "--compressible"),
        ("madbench", ("--full", "--busy-work-exponent", "1"), "full mode has no busy work"),
        ("madcap", ("--iomethod", "POSIX,MPI"), "give one IOMETHOD, one FILETYPE and one IOMODE"),
        ("madcap", ("--noise", "0"), "--noise must be above 0"),
        ("madcap", ("--beam", "200"), "--beam must be between 0 and 180"),
        ("madcap", ("--iterations", "1"), "--iterations must be between 2 and 1000"),
        ("madcap", ("--map-seed", "4294967296"), "--map-seed must be between"),
        ("madcap", ("--tolerance", "0"), "--tolerance must be above 0"),
        ("madcap", ("--full",), "--full"),
    ],
)
def test_what_cannot_be_is_refused(workload: str, arguments: tuple[str, ...], says: str) -> None:
    answer = planned(*GOOD, *arguments, workload=workload)
    assert answer.returncode == 2
    (line,) = answer.stderr.splitlines()
    assert says in line


def test_a_share_beyond_scalapacks_counting_is_refused() -> None:
    answer = planned("200000", "4", "4", "32", "4096", "1", "1", "--full")
    assert answer.returncode == 2
    assert "ScaLAPACK's 32-bit integers" in answer.stderr
    assert "40000000000 numbers" in answer.stderr


def test_pixels_that_do_not_determine_the_bins_are_said_to(tmp_path: Path) -> None:
    """Two pixels cannot tell 16 bins apart."""
    few = ("madbench", "2", "16", "1", "1", "4096", "1", "1")
    record = assert_ended_cleanly(run(tmp_path, *BRIEF, "--full", workload=few))
    assert record.failure is not None
    assert "do not determine 16 bins" in record.failure.message
