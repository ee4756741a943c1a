"""A shared file system that counts changes of lock ownership, as a lock manager would see them.

    /run/weir-testbed/locks-data          tmpfs: the program, its counts, and the files themselves
    /run/weir-testbed/locks/client0 …     the same files through one client each
    /run/weir-testbed/locks/own           on a host of the test bed: that host's own client

Parallel file systems let one client at a time write into an extent of a file: Lustre by extent
locks, GPFS by tokens. ``extent_locks.c`` passes all calls on and counts how often a client writes
an extent that another client wrote last. Ranks on host i use client i modulo the number of clients.

If a type is given, each client keeps its own pages. They are written back at fsync and close, and
read again when a file is opened, as by NFS clients (``client_pages.h``); the file system's type is
fuse.TYPE.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from testbed.errors import USAGE, TestbedError
from testbed.journal import FOLDER, Journal, Resource
from testbed.mounts import is_mounted
from testbed.programs import require_programs, run, start, wait_for

PART = "locks"
SOURCES = [Path(__file__).parent / name for name in ("extent_locks.c", "client_pages.c")]
DATA = FOLDER / "locks-data"
CLIENTS = FOLDER / "locks"
OWN = CLIENTS / "own"
TMPFS_SOURCE = "weir-testbed-locks-data"
FUSE_SOURCE = "weir-testbed-locks"
MOST_CLIENTS = 64
SLOTS = 1 << 20
HEAD = struct.Struct("=QQQQQ")
"""Head of the counts: bytes per extent, slots, calls that wrote, extents claimed, changes."""
MOUNT_SECONDS = 30.0


@dataclass(frozen=True)
class Locks:
    """A file system that is up."""

    clients: list[str]
    own: str
    extent_bytes: int


@dataclass(frozen=True)
class Counts:
    """What the clients have done so far, or since ``clear``."""

    writes: int
    extents: int
    changes: int


def require() -> None:
    """Raises an error that names what this machine lacks."""
    require_programs(["cc", "pkg-config", "mount", "umount"])
    if not Path("/dev/fuse").exists():
        raise TestbedError("this kernel has no FUSE: /dev/fuse does not exist")
    try:
        run(["pkg-config", "--exists", "fuse3"])
    except TestbedError:
        raise TestbedError(
            "no headers of FUSE 3; on Debian: apt-get install libfuse3-dev"
        ) from None


def up(
    journal: Journal, clients: int, extent_bytes: int, size_bytes: int, pages_of: str | None = None
) -> Locks:
    """Mounts the file system once for each client; the files may use `size_bytes` of memory.

    With `pages_of` clients keep pages, and the file system's type is fuse.`pages_of`.
    """
    require()
    if not 1 <= clients <= MOST_CLIENTS:
        raise TestbedError(f"{clients} clients asked for; 1 to {MOST_CLIENTS} can be", USAGE)
    if extent_bytes < 1:
        raise TestbedError("--extent must be at least 1 byte", USAGE)
    journal.begin(PART)
    FOLDER.mkdir(exist_ok=True)
    _make_folder(journal, DATA)
    journal.enter(PART, Resource("mount", str(DATA)))
    size = size_bytes + HEAD.size + 8 * SLOTS + (1 << 20)
    run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", TMPFS_SOURCE, DATA])
    program, files = DATA / "extent_locks", DATA / "files"
    flags = run(["pkg-config", "--cflags", "--libs", "fuse3"]).split()
    run(["cc", "-O2", "-o", program, *SOURCES, *flags])
    files.mkdir()
    files.chmod(0o1777)
    _counts().write_bytes(HEAD.pack(extent_bytes, SLOTS, 0, 0, 0) + bytes(8 * SLOTS))
    _make_folder(journal, CLIENTS)
    _make_folder(journal, OWN)
    made = [CLIENTS / f"client{number}" for number in range(clients)]
    for number, point in enumerate(made):
        _make_folder(journal, point)
        journal.enter(PART, Resource("mount", str(point)))
        with (DATA / f"client{number}.output").open("wb") as output:
            words = [str(program), str(_counts()), str(number + 1), str(files), str(point)]
            start([*words, *([pages_of] if pages_of else [])], output.fileno())
        wait_for(f"{point} to be mounted", MOUNT_SECONDS, partial(is_mounted, point))
    locks = Locks([str(point) for point in made], str(OWN), extent_bytes)
    journal.set_facts(PART, {"clients": locks.clients, "own": locks.own, "extent": extent_bytes})
    return locks


def counted(journal: Journal) -> Counts:
    """Returns what the clients have done; raises an error if the file system is not up."""
    _require_up(journal)
    with _counts().open("rb") as file:
        _, _, writes, claims, changes = HEAD.unpack(file.read(HEAD.size))
    return Counts(writes, claims, changes)


def clear(journal: Journal) -> None:
    """Resets owners and counts; no client may write meanwhile."""
    locks = _require_up(journal)
    # Write in place, because the clients have mapped the file.
    with _counts().open("r+b") as file:
        file.write(HEAD.pack(locks.extent_bytes, SLOTS, 0, 0, 0) + bytes(8 * SLOTS))


def from_facts(facts: dict[str, Any]) -> Locks:
    """Returns the file system that the journal describes."""
    return Locks(facts["clients"], facts["own"], facts["extent"])


def _require_up(journal: Journal) -> Locks:
    facts = journal.facts(PART)
    if facts is None:
        raise TestbedError("no file system with locks is up; make one with: locks up", USAGE)
    return from_facts(facts)


def _make_folder(journal: Journal, folder: Path) -> None:
    journal.enter(PART, Resource("directory", str(folder)))
    folder.mkdir(mode=0o755)


def _counts() -> Path:
    return DATA / "counts"
