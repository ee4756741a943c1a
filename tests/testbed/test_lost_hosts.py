"""Hosts that are lost without a word while arrays are written: every rank gets an error."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.hosts import Host
from testbed_calls import MakeHosts, call, library_ranks, needs_library

PROGRAM = Path(__file__).parent / "lost_host_program.py"
SECONDS = 90.0

pytestmark = needs_library


def wait_for(paths: list[Path]) -> list[str]:
    """Returns the texts of the files, when all are there."""
    end = time.monotonic() + SECONDS
    while not all(path.exists() for path in paths):
        assert time.monotonic() < end, f"not there: {[p.name for p in paths if not p.exists()]}"
        time.sleep(0.05)
    return [path.read_text() for path in paths]


def ends(
    folder: Path,
    ranks: int,
    deadline: float,
    staying: list[int],
    lose: Callable[[list[int]], None],
    launcher_words: tuple[str, ...] = (),
) -> list[str]:
    """How a write ended on the ranks that stay; `lose` is given all processes before it begins."""
    launcher, *words = library_ranks(ranks, PROGRAM, str(folder), str(deadline))
    command = [launcher, *launcher_words, *words]
    job = subprocess.Popen(command, start_new_session=True)
    processes: list[int] = []
    try:
        ready = wait_for([folder / f"ready-{rank}" for rank in range(ranks)])
        processes = [int(process) for process in ready]
        lose(processes)
        (folder / "go.new").write_text(" ".join(map(str, staying)))
        (folder / "go.new").rename(folder / "go")
        return wait_for([folder / f"end-{rank}" for rank in staying])
    finally:
        for process in [*processes, job.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        job.wait()


def test_of_a_host_whose_packets_are_lost(hosts: MakeHosts, tmp_path: Path) -> None:
    """Ranks of the other hosts say which one; its own ranks see that the others are gone."""
    made = hosts(3)
    texts = ends(
        tmp_path, 6, 2.0, list(range(6)), lambda _: call("hosts", "unplug", made[2].name) and None
    )
    assert all("can no longer be reached" in text for text in texts), texts
    assert "on host weir-host2" in texts[0]
    assert "on host weir-host2" not in texts[5]


@pytest.mark.parametrize("ranks", [3, 6])
def test_of_a_host_all_of_whose_ranks_are_stopped(
    hosts: MakeHosts, tmp_path: Path, ranks: int
) -> None:
    """The host's system still answers for its ranks, and says nothing in their stead."""
    hosts(3)
    each = ranks // 3

    def stop(processes: list[int]) -> None:
        for process in processes[-each:]:
            os.kill(process, signal.SIGSTOP)

    texts = ends(tmp_path, ranks, 1.0, list(range(2 * each)), stop)
    for text in texts:
        assert f"rank {2 * each} (process " in text, texts
        assert "on host weir-host2) is stopped" in text, texts


def forbid_connections(hosts: list[Host]) -> tuple[str, ...]:
    """Has the hosts drop what comes by TCP between ports that systems choose.

    So do firewalls that let only MPI's ports pass. Returns what makes MPI use others.
    """
    chosen = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    ports = "-".join(chosen)
    for host in hosts:
        for rule in (
            f"add pref 2 iif eth0 ipproto tcp sport {ports} dport {ports} blackhole",
            "add pref 3 lookup local",
            "del pref 0",
        ):
            subprocess.run(["ip", "-n", host.name, "rule", *rule.split()], check=True)
    return ("--mca", "oob_tcp_dynamic_ipv4_ports", "2000-2999", "--mca", "btl_tcp_port_min_v4",
            "3000", "--mca", "btl_tcp_port_range_v4", "1000")  # fmt: skip


def test_of_a_stopped_host_behind_a_firewall(hosts: MakeHosts, tmp_path: Path) -> None:
    """Nobody can watch it, and so it is waited for a few deadlines."""
    words = forbid_connections(hosts(3))

    def stop(processes: list[int]) -> None:
        os.kill(processes[-1], signal.SIGSTOP)

    texts = ends(tmp_path, 3, 1.0, [0, 1], stop, words)
    assert all("cannot connect to each other" in text for text in texts), texts
