"""Clients that keep pages and do not see each other's writes, as NFS's do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from testbed import locks
from testbed_calls import MakeHosts, call_json, library_ranks, needs_library, skip_without

PROGRAM = Path(__file__).parent / "pages_program.py"
ROWS, COLUMNS = 61, 333
"""As in pages_program.py."""


def make_clients(clients: int, pages_of: str) -> list[Path]:
    skip_without(locks.require)
    words = ["locks", "up", "--clients", str(clients), "--pages-of", pages_of, "--json"]
    return [Path(client) for client in call_json(*words)["clients"]]


def run_program(strategy: str) -> subprocess.CompletedProcess[str]:
    """Eight ranks on four hosts, each host with its own client."""
    return subprocess.run(
        library_ranks(8, PROGRAM, str(locks.OWN), strategy),
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_changes_of_one_page_undo_each_other(testbed: None) -> None:  # noqa: ARG001
    first, second = make_clients(2, "sshfs")
    with (first / "file").open("wb", buffering=0) as file:
        file.write(bytes(8192))
        file.write(b"end")
        assert (second / "file").read_bytes() == b""  # not written back before it is closed
    assert (second / "file").stat().st_size == 8195
    with (
        (first / "file").open("r+b", buffering=0) as one,
        (second / "file").open("r+b", buffering=0) as other,
    ):
        one.write(b"11")
        other.seek(2)
        other.write(b"22")
        assert one.read(2) == bytes(2)
        os.fsync(one.fileno())
        os.fsync(other.fileno())
    # The whole page of the one that came last.
    assert (locks.DATA / "files/file").read_bytes()[:4] == b"\0\00022"
    assert (first / "file").read_bytes()[:4] == b"\0\00022"
    assert "fuse.sshfs" in Path("/proc/self/mounts").read_text()


@needs_library
@pytest.mark.parametrize("strategy", ["automatic", "two-phase", "server-directed"])
def test_arrays_and_files_are_right_all_the_same(hosts: MakeHosts, strategy: str) -> None:
    """The library knows the type, so one host moves what is in files that are written."""
    make_clients(4, "sshfs")
    hosts(4)
    done = run_program(strategy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("verified") == 8
    whole = np.fromfile(locks.DATA / "files/whole", dtype="float64")
    np.testing.assert_array_equal(whole, np.arange(ROWS * COLUMNS) + 1.0)


@needs_library
def test_strategies_of_several_hosts_are_refused(hosts: MakeHosts) -> None:
    make_clients(4, "sshfs")
    hosts(4)
    done = run_program("direct")
    assert done.returncode != 0
    assert "nodes do not see each other's writes" in done.stdout + done.stderr


@needs_library
def test_they_would_be_wrong_otherwise(hosts: MakeHosts) -> None:
    """A type that the library takes to be coherent shows that the tests above can fail."""
    make_clients(4, "unknown")
    hosts(4)
    done = run_program("direct")
    assert done.returncode != 0
    assert "Arrays are not equal" in done.stdout + done.stderr
