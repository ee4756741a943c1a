"""``weir-bench stream`` when storage fails or lies, and command lines that it refuses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from failing_runs import WEIR_BENCH, Ended, assert_ended_cleanly, run
from mpi_launcher import environment, launcher

from weir.results.schema import PayloadError

TRANSFER_BYTES = 65536
STREAM = ("stream", "-t", "64k", "-b", "256k", "-s", "2", "-i", "2")


def stream(tmp_path: Path, *arguments: str, fault: str, directory: Path | None = None) -> Ended:
    return run(tmp_path, *arguments, workload=STREAM, fault=fault, directory=directory)


@pytest.mark.parametrize("files", [(), ("-F",)])
@pytest.mark.parametrize(
    ("call", "error", "operation"),
    [
        ("pwrite", "EIO", "write"),
        ("pwrite", "ENOSPC", "write"),
        ("pread", "EIO", "read"),
        ("fsync", "EIO", "fsync"),
        ("open", "EACCES", "open"),
    ],
)
def test_an_error_of_a_call_is_named_with_rank_and_file(
    tmp_path: Path, call: str, error: str, operation: str, files: tuple[str, ...]
) -> None:
    ended = stream(tmp_path, "-e", *files, fault=f"rank=2,call={call},nth=1,error={error}")
    failure = assert_ended_cleanly(ended).failure
    assert failure is not None
    assert (failure.rank, failure.cause, failure.operation) == (2, error, operation)
    assert failure.file is not None
    assert Path(failure.file).is_relative_to(ended.directory)


def test_the_offset_of_a_failed_transfer_is_named(tmp_path: Path) -> None:
    """The second transfer of rank 1's first block of four."""
    failure = assert_ended_cleanly(
        stream(tmp_path, fault="rank=1,call=pwrite,nth=2,error=EIO")
    ).failure
    assert failure is not None
    assert failure.offset_bytes == 5 * TRANSFER_BYTES


def test_a_full_file_system_is_refused_beforehand(small_file_system: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [*launcher(), "-n", "4", str(WEIR_BENCH), "stream", "-b", "4m", "-w"],
        cwd=small_file_system,
        env=environment({"WEIR_OUTPUT": str(tmp_path / "results")}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "weir-bench: " in done.stderr
    assert list(small_file_system.iterdir()) == []


def test_a_file_system_that_fills_up_ends_the_run(tmp_path: Path, small_file_system: Path) -> None:
    ended = stream(
        tmp_path, "-e", fault="rank=0,call=pwrite,nth=2,effect=fill", directory=small_file_system
    )
    for filler in small_file_system.rglob("filler"):
        filler.unlink()
    assert ended.status != 0
    assert "No space left on device" in ended.messages[0]


def only_error(ended: Ended) -> PayloadError:
    record = assert_ended_cleanly(ended)
    assert record.failure is not None
    assert record.failure.cause == "corrupt_data"
    assert record.verification.performed
    return record.verification.errors[0]


@pytest.mark.parametrize("files", [(), ("-F",)])
@pytest.mark.parametrize(
    ("effect", "kind"),
    [("flip", "flipped_bit"), ("swap", "swapped_block"), ("zeros", "zeros"), ("drop", "zeros")],
)
def test_wrong_data_are_found_and_named(
    tmp_path: Path, effect: str, kind: str, files: tuple[str, ...]
) -> None:
    """In the third transfer of rank 1, inside the pages as well as at their stamps."""
    error = only_error(stream(tmp_path, *files, fault=f"rank=1,call=pwrite,nth=3,effect={effect}"))
    begin = (2 if files else 4 + 2) * TRANSFER_BYTES
    assert error.kind == kind
    assert error.rank == 1
    assert error.function == "read"
    assert begin <= error.offset_bytes < begin + TRANSFER_BYTES


def test_a_bit_that_flips_on_the_way_back_is_found(tmp_path: Path) -> None:
    error = only_error(stream(tmp_path, fault="rank=3,call=pread,nth=5,effect=flip"))
    assert (error.kind, error.rank) == ("flipped_bit", 3)


def test_a_write_that_reads_back_wrong_fails_without_a_read_phase(tmp_path: Path) -> None:
    error = only_error(stream(tmp_path, "-w", fault="rank=0,call=pwrite,nth=1,effect=zeros"))
    assert (error.kind, error.function) == ("zeros", "write")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-y",), "unknown option -y"),
        (("-wy",), "unknown option -y"),
        (("-f", "script"), "-f (scriptFile in IOR) is not supported: write a campaign file"),
        (("-O", "lustreStripeCount=4"), "use --stripe-count"),
        (("-a", "RADOS"), "'RADOS' is not a list of POSIX"),
        (("-t", "1m", "-b", "100k"), "must be a multiple of the transfer size"),
        (("-o", "/nowhere/at/all"), "directory /nowhere/at"),
        (("-c",), "POSIX has no collective calls"),
        (("-b", "8e"), "is not a list of numbers or sizes"),
        (("-b", "100t", "-s", "1t"), "exceed 2^63 bytes"),
        (("-b", "4t", "-s", "1k"), "--directory"),
    ],
)
def test_refused_in_one_line(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    done = subprocess.run(
        [*launcher(), "-n", "2", str(WEIR_BENCH), "stream", *arguments],
        cwd=tmp_path,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("weir-bench: ")]
    assert len(lines) == 1, done.stderr
    assert says in lines[0]
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == []
