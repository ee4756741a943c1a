"""CephFS over OSDs: data comes back, layouts are honoured, and everything goes away."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from mpi_launcher import environment, launcher

from testbed.ceph import Ceph, require
from testbed_calls import WEIR_BENCH, MakeTargets, call, call_json, kill_up, skip_without
from testbed_traces import files_below, machine_state

ARRAYS_TEST = Path(__file__).parents[2] / "build" / "release" / "tests" / "arrays" / "arrays_test"
SYSTEM_FOLDERS = ["/etc/ceph", "/run/ceph", "/var/lib/ceph", "/var/log/ceph"]


@pytest.fixture(autouse=True)
def _can_run(testbed: None) -> None:  # noqa: ARG001
    skip_without(require)


def ceph_up(*options: str) -> Ceph:
    return Ceph(**call_json("ceph", "up", *options, "--json"))


def write_and_compare(path: Path, size: int) -> None:
    content = os.urandom(size)
    with path.open("wb") as file:
        file.write(content)
        os.fsync(file.fileno())
    assert path.read_bytes() == content


def test_files_come_back_in_the_layout_asked_for() -> None:
    before = machine_state(), files_below(SYSTEM_FOLDERS)
    made = ceph_up("--osds", "3")
    folder = Path(made.directory) / "striped"
    folder.mkdir()
    os.setxattr(folder, "ceph.dir.layout.stripe_count", b"2")
    write_and_compare(folder / "file", 20 << 20)
    layout = os.getxattr(folder / "file", "ceph.file.layout").decode()
    assert "stripe_count=2 object_size=4194304" in layout
    assert "CephFS, 3 OSDs" in call("status").stdout
    call("ceph", "down")
    assert (machine_state(), files_below(SYSTEM_FOLDERS)) == before


def test_library_and_workloads_make_files_of_the_layout_asked_for(tmp_path: Path) -> None:
    made = ceph_up("--osds", "3")
    program = [str(ARRAYS_TEST), made.directory, "--gtest_filter=Striping.Of*"]
    done = subprocess.run(
        [*launcher(), "-n", "3", *program],
        env=environment({"WEIR_TEST_STRIPED_FOLDER": made.directory}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    bench = [str(WEIR_BENCH), "stream", "-t", "64k", "-b", "1m", "-i", "1", "--directory"]
    layout = ["--stripe-count", "2", "--stripe-size", "1m", "--output", str(tmp_path / "results")]
    measured = subprocess.run(
        [*launcher(), "-n", "2", *bench, made.directory, *layout],
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    call("ceph", "down")
    assert measured.returncode == 0, measured.stdout + measured.stderr
    (run,) = (tmp_path / "results").glob("*/run.json")
    assert "stripe_unit=1048576 stripe_count=2 " in run.read_text()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout
    assert "SKIPPED" not in done.stdout


def test_osds_on_targets_of_set_speed(targets: MakeTargets) -> None:
    made = targets("100MB/s", options="--count 2", size="768MiB")
    osds = ceph_up("--on-targets").osds
    assert osds == [f"{target.directory}/ceph-osd" for target in made]
    write_and_compare(Path("/run/weir-testbed/ceph/file"), 8 << 20)
    call("down")
    assert call_json("status", "--json") == {}


@pytest.mark.parametrize("delay", [3.0])
def test_down_after_up_was_killed(delay: float) -> None:
    before = machine_state()
    kill_up(delay, "ceph", "up")
    assert machine_state() == before


def test_what_is_refused() -> None:
    assert "OSDs asked for" in call("ceph", "up", "--osds", "17", "--size", "2GiB", status=2).stderr
    assert "larger --size" in call("ceph", "up", "--size", "64MiB", status=2).stderr
    assert "no targets are up" in call("ceph", "up", "--on-targets", status=2).stderr
