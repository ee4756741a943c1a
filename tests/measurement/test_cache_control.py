"""What keeps memory from answering for storage, and whether the verdict tells."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bench_runs import BRIEF, SMALL, Done

pytestmark = pytest.mark.alone

Bench = Callable[..., Done]
SYNC = "posix-unique-sync"


def file_system_of(folder: Path) -> str:
    command = ["stat", "--file-system", "--format=%T", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(autouse=True)
def on_a_disk(tmp_path: Path) -> None:
    if file_system_of(tmp_path) in ("tmpfs", "ramfs", "overlayfs"):
        pytest.skip(f"{tmp_path} is not on a disk's own file system")


def verdicts(done: Done, slug: str = SYNC) -> dict[tuple[str, str], str]:
    (repetition,) = done.run(slug).repetitions
    return {(phase.function, phase.direction): phase.cache.verdict for phase in repetition.phases}


def test_pages_just_written_are_read_from_memory(bench: Bench) -> None:
    found = verdicts(bench(*SMALL, *BRIEF))
    assert found["W", "read"] == "memory"
    assert found["C", "read"] == "memory"
    assert found["S", "write"] == "storage"  # fsync is part of the write


def test_dropped_pages_are_read_from_storage(bench: Bench) -> None:
    found = verdicts(bench(*SMALL, *BRIEF, "--drop-cache"))
    assert found["W", "read"] == "storage"
    assert found["C", "read"] == "storage"


def test_direct_transfers_reach_storage(bench: Bench) -> None:
    found = verdicts(bench(*SMALL, *BRIEF, "--direct"))
    assert set(found.values()) == {"storage"}


def test_writes_without_a_sync_are_not_said_to_reach_storage(bench: Bench) -> None:
    found = verdicts(bench(*SMALL, *BRIEF, "--sync", "none"))
    assert found["S", "write"] != "storage"


def test_a_hog_is_taken_and_given_back(bench: Bench) -> None:
    done = bench(*SMALL, *BRIEF, "--memory-hog", "64m", "--rank-shift", "1")
    run = done.run(SYNC)
    assert run.status == "complete"
    assert run.parameters["memory-hog"].value == "64m"
    assert run.verification.bytes_verified == 2 * 4 * 256 * 256 * 8


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    folder = Path("/dev/shm") / f"weir-test-{tmp_path.name}"
    if file_system_of(folder.parent) != "tmpfs":
        pytest.skip("/dev/shm is no tmpfs here")
    folder.mkdir()
    yield folder
    folder.rmdir()


def test_a_file_system_in_memory_is_said_to_be_memory(bench: Bench, in_memory: Path) -> None:
    found = verdicts(bench(*SMALL, *BRIEF, "--directory", str(in_memory)))
    assert set(found.values()) == {"memory"}
