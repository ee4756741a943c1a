"""Mounts of NFS: ``/proc/self/mountstats``, as fs/nfs/super.c and net/sunrpc/stats.c print it.

The line ``bytes:`` has eight totals, of which the fifth and sixth are the bytes read from and
written to the server. Each line of ``per-op statistics`` has the number of calls first, and as the
seventh the milliseconds between sending calls and their answers.
"""

from __future__ import annotations

from weir.monitor.counters import Key, Values

SOURCE = "nfs"
MILLISECOND = 1_000_000
READ_AT, WRITTEN_AT = 4, 5
ROUND_TRIPS_AT = 6


def parse_mountstats(text: bytes) -> dict[Key, Values]:
    """Returns the counters of every NFS mount, by its mount point."""
    found: dict[Key, Values] = {}
    key: Key | None = None
    in_calls = False
    for line in text.split(b"\n"):
        if line.startswith(b"device "):
            key, in_calls = _mount_of(line), False
            if key is not None:
                found[key] = Values()
        elif key is None:
            continue
        elif line.lstrip().startswith(b"bytes:"):
            words = line.split()[1:]
            if len(words) > WRITTEN_AT:
                found[key] = Values(int(words[READ_AT]), int(words[WRITTEN_AT]))
        elif line.strip() == b"per-op statistics":
            in_calls = True
        elif in_calls:
            words = line.partition(b":")[2].split()
            if len(words) > ROUND_TRIPS_AT:
                own = found[key]
                found[key] = own._replace(
                    operations=own.operations + int(words[0]),
                    busy_ns=own.busy_ns + int(words[ROUND_TRIPS_AT]) * MILLISECOND,
                )
    return found


def _mount_of(line: bytes) -> Key | None:
    """Returns the key of "device server:/export mounted on /mnt with fstype nfs4 statvers=1.1"."""
    device, _, rest = line.partition(b" mounted on ")
    point, _, kind = rest.rpartition(b" with fstype ")
    if not device or not point or not kind.startswith(b"nfs") or b"statvers" not in kind:
        return None
    return Key("client", SOURCE, point.decode(errors="replace"))
