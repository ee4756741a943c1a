"""CephFS over OSDs: data comes back, layouts are honoured, and everything goes away."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from shutil import which

import pytest
from mpi_launcher import environment, launcher

from testbed.ceph import Ceph, require
from testbed_calls import WEIR_BENCH, MakeTargets, call, call_json, kill_up, skip_without
from testbed_traces import files_below, machine_state
from watched_servers import watched_run
from weir.results.placements import read_placements

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


def test_a_monitor_on_the_server_watches_the_osds_of_the_jobs_files(tmp_path: Path) -> None:
    """The test bed's servers have a network and folders of their own, as servers elsewhere have."""
    made = ceph_up("--osds", "2")
    started = f"ceph-osd -f -i 0 -c {made.configuration}".encode().replace(b" ", b"\0")
    (server,) = (one.parent for one in Path("/proc").glob("[0-9]*/cmdline") if has(one, started))
    tool = tmp_path / "ceph"
    entering = f"nsenter --net={server}/ns/net"
    tool.write_text(f'#!/bin/sh\nexec {entering} {which("ceph")} -c {made.configuration} "$@"\n')
    tool.chmod(0o755)
    words = ["stream", "-n", "2", "-t", "256k", "-b", "2m", "-i", "4", "-F", "-w", "-e"]
    reach = f"nsenter --mount={server}/ns/mnt --net={server}/ns/net"
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    run, monitor = watched_run(words, made.directory, tmp_path / "results", reach, path)
    counted = {one.name: one for one in monitor.counters if one.source == "ceph"}
    osds = [one for one in counted.values() if one.kind == "target"]
    assert {one.name for one in osds} <= {"osd.0", "osd.1"}
    assert sum(one.bytes_written for one in osds) >= 4 * 2 * (2 << 20)
    assert all(one.busy_seconds > 0 for one in osds if one.operations)
    assert counted["mds.a"].operations > 0
    assert {one.name for one in osds if one.holds_files} == {
        row.target for row in read_placements(run)
    }


def has(command: Path, words: bytes) -> bool:
    try:
        return words in command.read_bytes()
    except OSError:  # The process has ended.
        return False


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
