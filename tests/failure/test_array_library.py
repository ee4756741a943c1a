"""Arrays written by the library where a rank is killed or hangs, or the file system is full."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from failing_runs import BRIEF, PATIENCE_SECONDS, assert_ended_cleanly, run
from mpi_launcher import BUILD, environment
from mpi_launcher import launcher as mpi_launcher
from mpi_marks import needs_survivors

from conftest import mount

ARRAYS_TEST = BUILD / "tests" / "arrays" / "arrays_test"
# 2 x 2 blocks of 64 x 64, through buffers of 16 rows.
ARRAY = ("array", "--api", "weir", "--shape", "128x128", "--buffer", "16k", *BRIEF)
WAYS = [("direct",), ("node", "--aggregators", "4"), ("two-phase", "--aggregators", "4")]


@needs_survivors
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


def run_arrays_test(tmp_path: Path, name: str, folder: Path, **variables: str) -> None:
    """One test of arrays_test, on files of its own in a folder."""
    done = subprocess.run(
        [*(*mpi_launcher(), "-n", "4", str(ARRAYS_TEST), str(folder)), f"--gtest_filter={name}"],
        cwd=tmp_path,
        env=environment(variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout
    assert "SKIPPED" not in done.stdout


def test_a_full_file_system(tmp_path: Path, small_file_system: Path) -> None:
    """Errors of the system, not injected ones: arrays_test writes more than there is room for."""
    run_arrays_test(tmp_path, "OnRanks.AFullFileSystem", small_file_system)


@pytest.mark.parametrize("engine", ["posix", "direct-io"])
def test_a_full_file_system_in_a_step(tmp_path: Path, small_file_system: Path, engine: str) -> None:
    """Steps are written until there is no room: those that were committed stay whole."""
    run_arrays_test(
        tmp_path,
        "BrokenSteps.AreNotInAFileForWhichThereIsNoRoom",
        tmp_path,
        WEIR_TEST_FILE_SYSTEM=str(small_file_system),
        WEIR_TEST_ENGINE=engine,
    )


def test_a_quota_that_is_used_up_in_a_step(tmp_path: Path, folder_with_quota: Path) -> None:
    """As on a full file system, by the system's own quota."""
    run_arrays_test(
        tmp_path,
        "BrokenSteps.AreNotInAFileForWhichThereIsNoRoom",
        tmp_path,
        WEIR_TEST_FILE_SYSTEM=str(folder_with_quota),
        WEIR_TEST_ENGINE="posix",
        WEIR_TEST_REASON="Disk quota exceeded",
    )


def copy_of(image: Path) -> Path:
    """A file with the same content, so that mounting it makes a new file system in the kernel.

    A mount namespace that another test has made meanwhile may still have the file system that was
    shut down, and mounting its image again would then give that one.
    """
    return shutil.copyfile(image, image.with_suffix(f"{image.suffix}.again"))


def test_a_device_that_fails_in_a_step(tmp_path: Path) -> None:
    """The device is a file of a file system that is shut down; each call then gives EIO."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    images = [tmp_path / "below.image", tmp_path / "below" / "image"]
    points = [tmp_path / "below", tmp_path / "point"]
    variables = {
        "WEIR_TEST_FILE_SYSTEM": str(points[1]),
        "WEIR_TEST_FILE_SYSTEM_BELOW": str(points[0]),
        "WEIR_TEST_ENGINE": "posix",
    }
    fails = {"WEIR_TEST_REASON": "Input/output error"}
    for name, more in (
        ("AreNotInAFileWhoseFileSystemIsLost", fails),
        ("LeaveThoseBeforeThem", {}),
    ):
        if images[0].exists():
            images[0] = copy_of(images[0])
        with contextlib.ExitStack() as mounted:
            for image, point, mebibytes in zip(images, points, (64, 32), strict=True):
                if not image.exists():
                    with image.open("wb") as file:
                        file.truncate(mebibytes << 20)
                    make = ["mkfs.ext4", "-q", "-F", str(image)]
                    subprocess.run(make, check=True, capture_output=True)
                point.mkdir(exist_ok=True)
                mount("-o", "loop", str(image), str(point))
                unmount = ["umount", "--lazy", str(point)]
                mounted.callback(subprocess.run, unmount, check=True, capture_output=True)
            run_arrays_test(tmp_path, f"BrokenSteps.{name}", tmp_path, **variables, **more)


@pytest.mark.parametrize("engine", ["posix", "io_uring"])
def test_a_file_system_that_is_lost_in_a_step(tmp_path: Path, engine: str) -> None:
    """A file system is shut down under an open file; mounted again, the steps before are there."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(32 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
    point = tmp_path / "point"
    point.mkdir()
    variables = {"WEIR_TEST_FILE_SYSTEM": str(point), "WEIR_TEST_ENGINE": engine}
    for name in ("AreNotInAFileWhoseFileSystemIsLost", "LeaveThoseBeforeThem"):
        image = copy_of(image)
        mount("-o", "loop", str(image), str(point))
        try:
            run_arrays_test(tmp_path, f"BrokenSteps.{name}", tmp_path, **variables)
        finally:
            subprocess.run(["umount", str(point)], check=True, capture_output=True)
