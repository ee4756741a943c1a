"""GlusterFS over bricks: data comes back, lies where the volume's kind says, and goes away."""

from __future__ import annotations

import os
import shutil
import subprocess
from itertools import chain
from pathlib import Path

import pytest

from testbed.gluster import Gluster, require
from testbed_calls import MakeTargets, call, call_json, kill_up, skip_without
from testbed_traces import files_below, machine_state
from watched_servers import watched_run
from weir.results.placements import read_placements

SYSTEM_FOLDERS = ["/run/gluster", "/run/glusterd.socket", "/var/lib/glusterd", "/var/log/glusterfs"]


@pytest.fixture
def _can_run(testbed: None) -> None:  # noqa: ARG001
    skip_without(require)


def gluster_up(*options: str) -> Gluster:
    return Gluster(**call_json("gluster", "up", *options, "--json"))


def write_and_compare(folder: Path, files: int, size: int) -> None:
    contents = {f"file{number}": os.urandom(size) for number in range(files)}
    for name, content in contents.items():
        with (folder / name).open("wb") as file:
            file.write(content)
            os.fsync(file.fileno())
    assert {name: (folder / name).read_bytes() for name in contents} == contents


def file_sizes(brick: str, pattern: str) -> list[int]:
    return [path.stat().st_size for path in Path(brick).glob(pattern) if path.is_file()]


@pytest.mark.usefixtures("_can_run")
def test_files_are_distributed_to_bricks_whole() -> None:
    # The first start on a machine, and after it was booted, makes folders that stay.
    if not all(map(os.path.exists, ("/var/lib/glusterd/geo-replication", "/run/gluster"))):
        gluster_up("--bricks", "2")
        call("gluster", "down")
    before = machine_state(), files_below(SYSTEM_FOLDERS)
    volume = gluster_up("--bricks", "3")
    write_and_compare(Path(volume.directory), 24, 300_000)
    on_bricks = [file_sizes(brick, "file*") for brick in volume.bricks]
    assert all(on_bricks)
    assert list(chain(*on_bricks)) == [300_000] * 24
    assert "GlusterFS, distribute" in call("status").stdout
    call("gluster", "down")
    assert (machine_state(), files_below(SYSTEM_FOLDERS)) == before


@pytest.mark.usefixtures("_can_run")
def test_a_sharded_file_lies_on_all_bricks() -> None:
    volume = gluster_up("--volume", "shard", "--shard-size", "4MiB")
    write_and_compare(Path(volume.directory), 1, 128 << 20)
    pieces = [file_sizes(brick, ".shard/*") for brick in volume.bricks]
    assert all(pieces)
    assert sum(chain(*pieces)) == (128 - 4) << 20


@pytest.mark.usefixtures("_can_run")
def test_bricks_on_targets_of_set_speed(targets: MakeTargets) -> None:
    made = targets("100MB/s", options="--count 2", size="128MiB")
    volume = gluster_up("--on-targets")
    assert volume.bricks == [f"{target.directory}/gluster-brick" for target in made]
    write_and_compare(Path(volume.directory), 8, 100_000)
    call("down")
    assert call_json("status", "--json") == {}


def reach_of_server(folder: Path) -> str:
    """Returns words that run a command where the servers are, as a shell on their host would.

    The test bed's servers have a network and folders of their own, and their socket is not where
    the command ``gluster`` looks by itself.
    """
    data = Path("/run/weir-testbed/gluster-data")
    server = int((data / "glusterd.pid").read_text())
    tool = folder / "gluster"
    socket = data / "glusterd.socket"
    tool.write_text(f'#!/bin/sh\nexec {shutil.which("gluster")} --glusterd-sock={socket} "$@"\n')
    tool.chmod(0o755)
    enter = f"nsenter --mount=/proc/{server}/ns/mnt --net=/proc/{server}/ns/net"
    return f"{enter} env PATH={folder}:{os.environ['PATH']}"


@pytest.mark.usefixtures("_can_run")
def test_a_monitor_on_the_server_watches_the_bricks_of_the_jobs_files(tmp_path: Path) -> None:
    volume = gluster_up("--bricks", "2")
    reach = reach_of_server(tmp_path)
    started = ["gluster", "--mode=script", "volume", "profile", "weir-testbed", "start"]
    subprocess.run([*reach.split(), *started], check=True, capture_output=True, timeout=60)
    # A repetition that ends before its files are looked at leaves no placements: these are longer.
    words = ["stream", "-n", "2", "-t", "256k", "-b", "128m", "-i", "4", "-F", "-w", "-e"]
    run, monitor = watched_run(words, volume.directory, tmp_path / "results", reach, {})
    bricks = [one for one in monitor.counters if one.source == "gluster"]
    assert {one.name.partition(":")[2] for one in bricks} <= set(volume.bricks)
    assert any(one.holds_files for one in bricks)
    assert sum(one.operations for one in bricks) > 0
    assert all(one.busy_seconds > 0 for one in bricks if one.operations)
    placed = {row.target for row in read_placements(run)}
    assert placed == {one.name for one in bricks if one.holds_files}


@pytest.mark.usefixtures("_can_run")
@pytest.mark.parametrize("delay", [0.3, 2.0])
def test_down_after_up_was_killed(delay: float) -> None:
    before = machine_state()
    kill_up(delay, "gluster", "up")
    assert machine_state() == before


@pytest.mark.usefixtures("_can_run")
def test_down_without_the_journal() -> None:
    before = machine_state()
    gluster_up("--bricks", "2")
    Path("/run/weir-testbed/journal.json").unlink()
    call("down")
    assert machine_state() == before
