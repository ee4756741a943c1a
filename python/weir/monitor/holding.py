"""Finds the counters of what holds the files of some directories."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from weir.monitor.counters import Key
from weir.monitor.diskstats import SOURCE as BLOCK_DEVICES
from weir.monitor.nfs import SOURCE as NFS

DEVICES = Path("/sys/dev/block")
MOUNTS = Path("/proc/self/mountinfo")


def counters_holding(
    directories: Sequence[str], devices: Path = DEVICES, mounts: Path = MOUNTS
) -> list[Key]:
    """Returns the block devices, or the mounts of NFS, on which the directories lie.

    A partition stands for its whole device. Directories of other file systems have no counter at
    this host that only their files use.
    """
    found = []
    for directory in directories:
        with contextlib.suppress(OSError):
            number = _existing(Path(directory)).stat().st_dev
            key = _counter_of(f"{os.major(number)}:{os.minor(number)}", devices, mounts)
            if key is not None and key not in found:
                found.append(key)
    return found


def _existing(path: Path) -> Path:
    """Returns the directory itself, or the next one above that exists already."""
    whole = path.absolute()
    return next(one for one in (whole, *whole.parents) if one.exists())


def _counter_of(number: str, devices: Path, mounts: Path) -> Key | None:
    link = devices / number
    if link.exists():
        device = link.resolve()
        if (device / "partition").exists():
            device = device.parent
        return Key("target", BLOCK_DEVICES, device.name)
    for line in mounts.read_text(errors="replace").splitlines():
        left, _, right = line.partition(" - ")
        words = left.split()
        if len(words) > 4 and words[2] == number and right.startswith("nfs"):
            point = words[4].encode().decode("unicode_escape")
            return Key("client", NFS, point)
    return None
