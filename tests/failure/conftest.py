"""The modules beside this file are importable; stagers; places where storage is small or full."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from own_stager import Stager, start, start_for_nodes, start_service

sys.path.insert(0, str(Path(__file__).parent))

SMALL_FILE_SYSTEM_BYTES = 4 << 20


def mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cannot mount a small file system here: {done.stderr.strip()}")


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory, where thousands of states are quickly made."""
    place = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=place if os.access(place, os.W_OK) else None) as folder:
        yield Path(folder).resolve()


@pytest.fixture(params=["tmpfs", "ext4"])
def small_file_system(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB, in memory or on a loop device."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    point = tmp_path / "small"
    point.mkdir()
    if request.param == "tmpfs":
        mount("-t", "tmpfs", "-o", f"size={SMALL_FILE_SYSTEM_BYTES}", "tmpfs", str(point))
    else:
        image = tmp_path / "image"
        with image.open("wb") as file:
            file.truncate(SMALL_FILE_SYSTEM_BYTES)
        format_command = ["mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", str(image)]
        subprocess.run(format_command, check=True, capture_output=True)
        mount("-o", "loop", str(image), str(point))
        (point / "lost+found").rmdir()
    try:
        yield point
    finally:
        subprocess.run(["umount", "--lazy", str(point)], check=True, capture_output=True)


@pytest.fixture
def folder_with_quota(tmp_path: Path) -> Iterator[Path]:
    """A folder that may hold 4 MiB of a larger file system; the quota of Btrfs binds root, too."""
    if os.geteuid() != 0 or shutil.which("mkfs.btrfs") is None:
        pytest.skip("a quota needs root and btrfs-progs")
    point, image = tmp_path / "quota", tmp_path / "image"
    point.mkdir()
    with image.open("wb") as file:
        file.truncate(128 << 20)
    subprocess.run(["mkfs.btrfs", "-q", "-M", str(image)], check=True, capture_output=True)
    mount("-o", "loop", str(image), str(point))
    folder = point / "limited"
    try:
        for command in (
            ["quota", "enable", str(point)],
            ["subvolume", "create", str(folder)],
            ["qgroup", "limit", str(SMALL_FILE_SYSTEM_BYTES), str(folder)],
        ):
            done = subprocess.run(["btrfs", *command], check=False, capture_output=True, text=True)
            if done.returncode != 0:
                pytest.skip(f"this system has no quotas of Btrfs: {done.stderr.strip()}")
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(point)], check=True, capture_output=True)


@pytest.fixture
def read_only_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that not even root can write to: a read-only mount."""
    folder = tmp_path / "readonly"
    folder.mkdir()
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)
        return
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a read-only file system here: {mounted.stderr!r}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def stager(request: pytest.FixtureRequest) -> Iterator[Stager]:
    """The stager of the node, or one that is reached over a network (`wherever`)."""
    of_node = getattr(request, "param", "node") == "node"
    one = start("--stager-memory", "64m") if of_node else start_service(1, "--stager-memory", "64m")
    yield one
    one.kill()


@pytest.fixture(
    params=[(start_for_nodes, 1), (start_for_nodes, 2), (start_service, 2)],
    ids=["one-node", "two-nodes", "service-of-two"],
)
def stagers(request: pytest.FixtureRequest) -> Iterator[Stager]:
    """The stager of rank 0, with another one or without."""
    start_them, count = request.param
    one = start_them(count, "--stager-memory", "64m")
    yield one
    one.kill()
