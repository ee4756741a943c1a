"""The system refuses an operation: the run ends with one line that names rank, file and cause."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest
from failing_runs import (
    BRIEF,
    ENDLESS,
    SHARE_BYTES,
    assert_ended_cleanly,
    ranks_under_way,
    run,
)
from mpi_launcher import is_open_mpi

FAULTS = [
    ("pwrite", "EIO", "Input/output error", "write"),
    ("pwrite", "ENOSPC", "No space left on device", "write"),
    ("pwrite", "EDQUOT", "Disk quota exceeded", "write"),
    ("fsync", "EIO", "Input/output error", "fsync"),
    ("fsync", "EDQUOT", "Disk quota exceeded", "fsync"),
    ("pread", "EIO", "Input/output error", "read"),
    ("open", "EACCES", "Permission denied", "open"),
]


@pytest.mark.parametrize("file_type", ["UNIQUE", "SHARED"])
@pytest.mark.parametrize(("call", "error", "text", "operation"), FAULTS)
def test_an_error_of_a_call_is_named_with_rank_and_file(
    tmp_path: Path, call: str, error: str, text: str, operation: str, file_type: str
) -> None:
    fault = f"rank=2,call={call},nth=2,error={error}"
    ended = run(tmp_path, *BRIEF, "--filetype", file_type, fault=fault)
    failure = assert_ended_cleanly(ended).failure
    assert failure is not None
    assert failure.rank == 2
    assert failure.cause == error
    assert failure.operation == operation
    assert failure.file is not None
    assert Path(failure.file).is_relative_to(ended.directory)
    assert text in ended.messages[0]
    assert "rank 2" in ended.messages[0]
    assert failure.file in ended.messages[0]


@pytest.mark.parametrize("call", ["pwrite", "pread"])
def test_the_offset_of_a_failed_transfer_is_named(tmp_path: Path, call: str) -> None:
    """The third matrix of a file per rank lies behind two others."""
    ended = run(tmp_path, *BRIEF, fault=f"rank=1,call={call},nth=3,error=EIO")
    failure = assert_ended_cleanly(ended).failure
    assert failure is not None
    assert failure.offset_bytes == 2 * SHARE_BYTES
    assert f"offset {2 * SHARE_BYTES}" in ended.messages[0]


def test_fdatasync_fails_like_fsync(tmp_path: Path) -> None:
    fault = "rank=3,call=fdatasync,nth=1,error=EIO"
    failure = assert_ended_cleanly(
        run(tmp_path, *BRIEF, "--sync", "fdatasync", fault=fault)
    ).failure
    assert failure is not None
    assert (failure.rank, failure.operation, failure.cause) == (3, "fdatasync", "EIO")


def test_every_rank_failing_at_once_is_one_message(tmp_path: Path) -> None:
    record = assert_ended_cleanly(run(tmp_path, *BRIEF, fault="call=pwrite,nth=1,error=EIO"))
    assert record.failure is not None
    assert record.failure.rank == 0


def test_rank_0_failing_is_reported_as_others_are(tmp_path: Path) -> None:
    record = assert_ended_cleanly(run(tmp_path, *BRIEF, fault="rank=0,call=pwrite,nth=5,error=EIO"))
    assert record.failure is not None
    assert record.failure.rank == 0


def test_a_failure_under_turns_does_not_hold_the_token(tmp_path: Path) -> None:
    """With RMOD and WMOD, ranks wait for the token of one that has failed."""
    arguments = ("--read-modulus", "4", "--write-modulus", "4")
    record = assert_ended_cleanly(
        run(tmp_path, *BRIEF, *arguments, fault="rank=1,call=pwrite,nth=2,error=EIO")
    )
    assert record.failure is not None
    assert record.failure.rank == 1


def test_a_failure_in_one_gang_ends_the_others(tmp_path: Path) -> None:
    record = assert_ended_cleanly(
        run(tmp_path, *BRIEF, "--gangs", "4", fault="rank=3,call=pwrite,nth=7,error=EIO")
    )
    assert record.failure is not None
    assert record.failure.rank == 3


def test_the_configurations_of_a_job_fail_together(tmp_path: Path) -> None:
    """A job of two configurations: neither run is left as running."""
    ended = run(
        tmp_path,
        *BRIEF,
        *("--filetype", "UNIQUE,SHARED"),
        fault="rank=2,call=pwrite,nth=11,error=EIO",
    )
    assert ended.status != 0
    runs = sorted(ended.results.glob("*/run.json"))
    assert len(runs) == 2
    for path in runs:
        text = path.read_text()
        assert '"status": "running"' not in text
        assert "Input/output error" in text


def test_a_file_system_that_fills_up(tmp_path: Path, small_file_system: Path) -> None:
    """The space is there when the run starts and gone when rank 1 writes its second matrix."""
    directory = small_file_system / "directory"
    directory.mkdir()
    ended = run(tmp_path, *BRIEF, directory=directory, fault="rank=1,call=pwrite,nth=2,effect=fill")
    filler = directory / "filler"
    assert filler.stat().st_size > 0
    filler.unlink()
    failure = assert_ended_cleanly(ended).failure
    assert failure is not None
    assert failure.cause == "ENOSPC"
    assert failure.operation in {"write", "fsync"}
    assert "No space left on device" in ended.messages[0]


def test_a_file_system_that_is_too_small_is_refused(
    tmp_path: Path, small_file_system: Path
) -> None:
    (small_file_system / "others").write_bytes(bytes(3 << 20))
    directory = small_file_system / "directory"
    directory.mkdir()
    ended = run(tmp_path, *BRIEF, "--bins", "16", directory=directory)
    assert ended.status == 2
    (message,) = ended.messages
    assert "the run needs" in message
    assert str(directory) in message
    assert list(directory.iterdir()) == []


ENGINES = [("POSIX", "SYNC"), ("POSIX", "ASYNC"), ("MPI", "SYNC"), ("MPI", "ASYNC")]


@pytest.mark.parametrize(("method", "mode"), ENGINES)
@pytest.mark.parametrize("file_type", ["UNIQUE", "SHARED"])
def test_the_limit_of_a_file_size(tmp_path: Path, method: str, mode: str, file_type: str) -> None:
    """A refusal by the kernel itself, which reaches io_uring and MPI-IO too.

    The limit comes when the ranks are under way: MPI maps files of its own when it starts.
    """
    if (method, mode) == ("MPI", "ASYNC") and not is_open_mpi():
        pytest.skip("in MPICH a nonblocking write that fails never completes (its aio_poll_fn)")
    limit_bytes = 400 * 1024  # of 512 KiB that a file per rank has; the run's record stays below

    def limit(_: subprocess.Popen[str]) -> None:
        for process in ranks_under_way(tmp_path).values():
            resource.prlimit(process, resource.RLIMIT_FSIZE, (limit_bytes, resource.RLIM_INFINITY))

    options = ("--bins", "16", "--iomethod", method, "--iomode", mode, "--filetype", file_type)
    failure = assert_ended_cleanly(run(tmp_path, *ENDLESS, *options, while_running=limit)).failure
    assert failure is not None
    assert failure.rank is not None
    assert failure.file is not None
    assert failure.offset_bytes is not None
    if method == "POSIX":
        assert (failure.operation, failure.cause) == ("write", "EFBIG")
    else:
        # MPI-IO has no class of errors for it; MPICH's text names an error of input and output.
        assert failure.operation.startswith("MPI_File_")
        assert "write" in failure.operation
        assert failure.cause in {"io", "short_transfer", "EIO"}
