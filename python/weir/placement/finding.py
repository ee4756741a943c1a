"""Asks the file system of a folder where the files in it lie."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from weir.placement import beegfs, ceph, gluster, lustre
from weir.placement.layouts import Layout, on_one

MOUNTS = Path("/proc/self/mountinfo")
DEVICES = Path("/sys/dev/block")
LUSTRE_ROOTS = ("/sys/fs/lustre", "/proc/fs/lustre")
ANSWER_SECONDS = 20.0


class Mount(NamedTuple):
    """A line of /proc/self/mountinfo."""

    point: str
    kind: str
    source: str


class Finder(Protocol):
    """Knows one file system; ``at_a_time`` files can be asked for without a disturbance."""

    at_a_time: int

    @property
    def source(self) -> str:
        """Which file system it is."""

    def layout(self, path: Path) -> Layout | None:
        """Returns where a file lies; None if the file system does not tell."""

    def servers(self) -> Mapping[str, str]:
        """Returns the server of each target, so far as it is known."""


def finder_for(folder: Path, file_bytes: int, mounts: Path = MOUNTS) -> Finder | None:
    """Returns what knows the file system of a folder, in which files have about so many bytes."""
    mount = mount_of(folder, mounts)
    if mount is None:
        return None
    finder: Finder | None = None
    if mount.kind == "lustre":
        finder = _Lustre(mount)
    elif mount.kind in ("ceph", "fuse.ceph-fuse", "fuse.ceph"):
        finder = _Ceph(file_bytes)
    elif mount.kind in ("fuse.glusterfs", "glusterfs"):
        finder = _Gluster(Path(mount.point), file_bytes)
    elif mount.kind == "beegfs":
        finder = _BeeGfs()
    elif mount.kind.startswith("nfs"):
        finder = _OnOne("nfs", mount.point, mount.source.rpartition(":/")[0])
    elif device := device_of(folder):
        finder = _OnOne("device", device, None)
    return finder


def mount_of(folder: Path, mounts: Path = MOUNTS) -> Mount | None:
    """Returns the mount on which a folder lies: the last of those whose point is the longest."""
    found: Mount | None = None
    whole = folder.resolve()
    for line in mounts.read_text(errors="replace").splitlines():
        left, _, right = line.partition(" - ")
        words, about = left.split(), right.split()
        if len(words) < 5 or len(about) < 2:
            continue
        point = words[4].encode().decode("unicode_escape")
        inside = whole == Path(point) or Path(point) in whole.parents
        if inside and (found is None or len(point) >= len(found.point)):
            found = Mount(point, about[0], about[1])
    return found


def device_of(path: Path, devices: Path = DEVICES) -> str | None:
    """Returns the whole block device on which a path lies."""
    number = path.stat().st_dev
    link = devices / f"{os.major(number)}:{os.minor(number)}"
    if not link.exists():
        return None
    device = link.resolve()
    return device.parent.name if (device / "partition").exists() else device.name


class _OnOne:
    """All files lie on one target."""

    at_a_time = 100_000

    def __init__(self, source: str, target: str, server: str | None) -> None:
        self.source = source
        self._target = target
        self._server = server

    def layout(self, path: Path) -> Layout | None:
        del path
        return on_one(self._target)

    def servers(self) -> Mapping[str, str]:
        return {self._target: self._server} if self._server else {}


class _Lustre:
    source = "lustre"
    at_a_time = 2000

    def __init__(self, mount: Mount) -> None:
        # The name in "10.0.0.1@tcp:10.0.0.2@tcp:/scratch/folder" follows ":/".
        self._name = mount.source.rpartition(":/")[2].partition("/")[0]

    def layout(self, path: Path) -> Layout | None:
        return lustre.parse_layout(self._name, os.getxattr(path, lustre.ATTRIBUTE))

    def servers(self) -> Mapping[str, str]:
        found = {}
        for root in LUSTRE_ROOTS:
            for file in Path(root).glob(f"osc/{self._name}-OST*-osc-*/ost_conn_uuid"):
                with contextlib.suppress(OSError):
                    found[file.parent.name.partition("-osc-")[0]] = file.read_text().strip()
        return found


class _Gluster:
    source = "gluster"
    at_a_time = 500

    def __init__(self, mount: Path, file_bytes: int) -> None:
        self._file_bytes = file_bytes
        self._shard_bytes = gluster.shard_bytes_of(mount)

    def layout(self, path: Path) -> Layout | None:
        # Further shards lie on any brick, and the attribute tells that of the first one alone.
        whole = self._shard_bytes
        if whole is not None and max(self._file_bytes, path.stat().st_size) > whole:
            return None
        for name in gluster.ATTRIBUTES:
            with contextlib.suppress(OSError):
                return gluster.parse_pathinfo(os.getxattr(path, name).decode(errors="replace"))
        return None

    def servers(self) -> Mapping[str, str]:
        return {}  # The name of a brick begins with its host.


class _BeeGfs:
    source = "beegfs"
    at_a_time = 16

    def __init__(self) -> None:
        self._tool = shutil.which("beegfs-ctl")
        self._servers: dict[str, str] = {}

    def layout(self, path: Path) -> Layout | None:
        if self._tool is None:
            return None
        found = beegfs.parse_entry(_said([self._tool, "--getentryinfo", str(path)]))
        if found is None:
            return None
        layout, servers = found
        self._servers.update(servers)
        return layout

    def servers(self) -> Mapping[str, str]:
        return self._servers


class _Ceph:
    source = "ceph"
    at_a_time = 2000

    def __init__(self, file_bytes: int) -> None:
        self._file_bytes = file_bytes
        self._tool = shutil.which("ceph")
        self._primaries: dict[str, list[str]] = {}

    def layout(self, path: Path) -> Layout | None:
        if self._tool is None:
            return None
        words = ceph.parse_file_layout(os.getxattr(path, ceph.ATTRIBUTE).decode())
        about = path.stat()  # The file may be gone when the cluster has answered, seconds later.
        pool = words["pool"]
        if pool not in self._primaries:
            self._primaries[pool] = []  # A cluster that refuses is not asked for each file.
            said = _said([self._tool, "pg", "ls-by-pool", pool, "--format=json"])
            self._primaries[pool] = ceph.primaries_of(said)
        primaries = self._primaries[pool]
        if not primaries:
            return None
        size = max(self._file_bytes, about.st_size)
        return ceph.layout_of(about.st_ino, words, primaries, size)

    def servers(self) -> Mapping[str, str]:
        if self._tool is None or not any(self._primaries.values()):
            return {}
        return ceph.hosts_of(_said([self._tool, "osd", "metadata", "--format=json"]))


def _said(command: list[str]) -> str:
    """Returns what a program prints; raises OSError if it fails."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_SECONDS,
            check=True,
        )
    except subprocess.SubprocessError as error:
        raise OSError(f"{command[0]} failed: {error}") from None
    return done.stdout
