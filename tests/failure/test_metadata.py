"""``weir-bench metadata`` where files run out: one line says so, and nothing is left."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from failing_runs import Ended, assert_ended_cleanly, run

ONCE = ("--warmups", "0", "--repetitions", "1", "--max-repetitions", "1")
RANKS = 2
MANY_ITEMS = 600
WITHOUT_IO_URING = """
import ctypes, os, struct, sys
if os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK")) == "1":
    load, is_setup, refuse, allow = (
        struct.pack("HBBI", *one)
        for one in ((0x20, 0, 0, 0), (0x15, 0, 1, 425), (6, 0, 0, 0x50026), (6, 0, 0, 0x7FFF0000))
    )  # io_uring_setup is call 425 of every kind of processor; ENOSYS is 38
    program = ctypes.create_string_buffer(load + is_setup + refuse + allow)
    libc = ctypes.CDLL(None, use_errno=True)
    head = struct.pack("HxxxxxxP", 4, ctypes.addressof(program))
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, head, 0, 0) != 0:
        sys.exit("seccomp is refused")
os.execv(sys.argv[1], sys.argv[1:])
"""


def metadata(tmp_path: Path, directory: Path, *arguments: str) -> Ended:
    workload = ("metadata", "--actions", "create", *ONCE)
    return run(tmp_path, *arguments, workload=workload, ranks=RANKS, directory=directory)


def test_what_a_small_file_system_cannot_hold(tmp_path: Path, small_file_system: Path) -> None:
    """Blocks, which files that do not fill their last one use up unseen by the plan; inodes."""
    asked = [("--items", "520", "--bytes", "3073")]
    if os.statvfs(small_file_system).f_favail < RANKS * MANY_ITEMS:
        asked.append(("--items", str(MANY_ITEMS)))
    for number, arguments in enumerate(asked):
        folder = tmp_path / str(number)
        folder.mkdir()
        failure = assert_ended_cleanly(metadata(folder, small_file_system, *arguments)).failure
        assert failure is not None
        assert (failure.cause, failure.operation) == ("ENOSPC", "create")
        assert failure.file is not None
        assert Path(failure.file).is_relative_to(small_file_system)


def test_a_tree_of_an_earlier_run_is_left_alone(tmp_path: Path) -> None:
    """What --keep has left is not made again and not removed."""
    directory = tmp_path / "directory"
    directory.mkdir()
    folders = [tmp_path / name for name in ("kept", "again")]
    for folder in folders:
        folder.mkdir()
    kept = metadata(folders[0], directory, "--items", "5", "--keep")
    assert kept.status == 0, kept.stderr
    there = sorted(path.relative_to(directory) for path in directory.rglob("file.*"))
    assert len(there) == 5 * RANKS
    again = metadata(folders[1], directory, "--items", "5", "--keep")
    assert again.status != 0
    assert "already exists, from an earlier run" in again.stderr
    assert sorted(path.relative_to(directory) for path in directory.rglob("file.*")) == there


def test_the_cause_is_told_where_one_node_alone_has_no_io_uring(tmp_path: Path) -> None:
    """By the one line that rank 0 prints, which has it itself."""
    ended = run(
        tmp_path,
        *("--api", "io_uring"),
        workload=("metadata", "--actions", "create", *ONCE),
        ranks=RANKS,
        wrapper=(sys.executable, "-c", WITHOUT_IO_URING),
    )
    assert ended.status != 0
    (message,) = ended.messages
    assert "--api IO_URING: " in message
    assert "use --api POSIX or AT" in message
