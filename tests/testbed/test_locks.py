"""Extents that one client at a time may write: what is counted, and what Weir's plans ask for."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from testbed import locks
from testbed_calls import MakeHosts, call, call_json, library_ranks, needs_library, skip_without

PROGRAM = Path(__file__).parent / "lock_program.py"
EXTENT = 1 << 20
STEPS = 3


def make_locks(clients: int) -> list[Path]:
    skip_without(locks.require)
    made = call_json("locks", "up", "--clients", str(clients), "--json")
    return [Path(client) for client in made["clients"]]


def counted() -> dict[str, Any]:
    return call_json("locks", "count", "--json")


def test_changes_of_owner_are_counted(testbed: None) -> None:  # noqa: ARG001
    first, second = make_locks(2)
    with (first / "file").open("wb", buffering=0) as file:
        file.write(bytes(4 * EXTENT))
    assert counted()["extents"] == 4
    assert counted()["changes"] == 0
    with (second / "file").open("r+b", buffering=0) as file:
        assert file.read(EXTENT) == bytes(EXTENT)  # reading takes nothing away
        file.seek(EXTENT - 1)
        file.write(b"ab")  # the last byte of the first extent, the first of the second
        file.seek(EXTENT)
        file.write(b"c")  # that one is its own by now
    assert counted()["changes"] == 2
    with (first / "file").open("rb") as file:
        file.seek(EXTENT - 1)
        assert file.read(2) == b"ac"
    (first / "file").unlink()
    assert not (second / "file").exists()
    call("locks", "clear")
    assert counted() == {"writes": 0, "extents": 0, "changes": 0}


def changes_by(strategy: str, lock_bytes: int) -> int:
    """Writes an array by eight ranks on four hosts, each with its own client."""
    call("locks", "clear")
    words = [f"{locks.OWN}/{strategy}", strategy, str(lock_bytes), str(STEPS)]
    done = subprocess.run(
        library_ranks(8, PROGRAM, *words),
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("verified") == 8
    return int(counted()["changes"])


@needs_library
def test_aggregators_keep_their_extents(hosts: MakeHosts) -> None:
    """As good as disjoint domains: no extent is ever written by two hosts."""
    make_locks(4)
    hosts(4)
    # Each row of 64 KiB is of all ranks, so ranks that write by themselves take turns in all of the
    # 16 extents, in each step.
    assert changes_by("direct", EXTENT) > 16 * STEPS
    assert changes_by("two-phase", EXTENT) == 0
    assert changes_by("server-directed", EXTENT) == 0
