"""Finds what the test bed made by names alone, in case the journal is lost.

Only names of the test bed are searched for, so loop devices, mounts and namespaces of other
programs are never taken for its own. Resources are found in the order in which they must be
removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from testbed import hosts, launching, locks, servers, slow, targets
from testbed.journal import FOLDER, JOURNAL, Resource
from testbed.mounts import device_number, is_mounted, loops, mounted
from testbed.removal import NAMESPACES

SERVER_PARTS = ("gluster", "ceph")


def found_resources() -> Iterator[Resource]:
    """Yields everything with a name of the test bed."""
    yield from _found_clients()
    yield from _found_locks()
    yield from _found_namespaces()
    yield from _found_server_data()
    yield from _found_targets()
    yield from _found_processor_groups()
    yield from _found_files()


def _found_clients() -> Iterator[Resource]:
    for part in SERVER_PARTS:
        if is_mounted(servers.mount_point(part)):
            yield Resource("mount", str(servers.mount_point(part)))
        yield Resource("directory", str(servers.mount_point(part)))


def _found_locks() -> Iterator[Resource]:
    for mount in reversed(mounted()):
        if mount.source in (locks.FUSE_SOURCE, locks.TMPFS_SOURCE):
            yield Resource("mount", str(mount.point))
    for folder in (*locks.CLIENTS.glob("client*"), locks.OWN, locks.CLIENTS, locks.DATA):
        yield Resource("directory", str(folder))


def _found_server_data() -> Iterator[Resource]:
    for part in SERVER_PARTS:
        for mount in reversed(mounted()):
            if mount.kind == "tmpfs" and mount.source == servers.tmpfs_source(part):
                yield Resource("mount", str(mount.point))
        yield Resource("directory", str(servers.data_folder(part)))


def _found_namespaces() -> Iterator[Resource]:
    found = [
        Resource("namespace", path.name)
        for path in NAMESPACES.glob("weir-*")
        if re.fullmatch(hosts.NAME_PATTERN, path.name)
        or path.name.removeprefix("weir-") in SERVER_PARTS
    ]
    if found:
        yield from found
        yield Resource("namespace folder", str(NAMESPACES))
    files = [
        path
        for path in hosts.HOSTS_FILES.glob("weir-*")
        if re.fullmatch(hosts.NAME_PATTERN, path.name)
    ]
    for folder in files:
        yield Resource("file", str(folder / "hosts"))
        yield Resource("directory", str(folder))


def _found_targets() -> Iterator[Resource]:
    ours = {
        loop: image
        for loop, image in loops().items()
        if re.fullmatch(targets.IMAGE_PATTERN, image.name)
    }
    for loop in ours:
        yield Resource("limit", device_number(loop))
    for mount in reversed(mounted()):
        if mount.source.removeprefix("/dev/") in ours:
            yield Resource("mount", str(mount.point))
            if re.fullmatch(targets.NAME_PATTERN, mount.point.name):
                yield Resource("directory", str(mount.point))
    for image in ours.values():
        yield Resource("loop", str(image))
    for mount in reversed(mounted()):
        if mount.kind == "tmpfs" and mount.source == targets.TMPFS_SOURCE:
            yield Resource("mount", str(mount.point))


def _found_processor_groups() -> Iterator[Resource]:
    for mount in mounted():
        if mount.kind == "cgroup" and "cpu" in mount.options:
            for group in mount.point.glob(f"{slow.GROUP_PREFIX}*"):
                yield Resource("processor group", str(group))


def _found_files() -> Iterator[Resource]:
    for name in (targets.IMAGES.name, *(point.name for point in FOLDER.glob("target*"))):
        if re.fullmatch(targets.NAME_PATTERN, name) or name == targets.IMAGES.name:
            yield Resource("directory", str(FOLDER / name))
    for file in (*launching.FILES, *FOLDER.glob(slow.LIBRARY_PATTERN)):
        yield Resource("file", str(file))
    yield Resource("file", str(JOURNAL))
    yield Resource("file", str(Path(JOURNAL).with_suffix(".new")))
    yield Resource("directory", str(FOLDER))
