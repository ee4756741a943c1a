"""Targets: mounted file systems of set speed, on loop devices over images in memory.

An image is in a tmpfs, and all its memory is allocated at the start, so that no write waits for new
pages. The file system is initialized completely at once (no lazy initialization) and without
discard: a target does no I/O besides what programs request. ``throttle.py`` sets the limits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from testbed import throttle
from testbed.errors import USAGE, TestbedError
from testbed.journal import FOLDER, Journal, Resource
from testbed.mounts import device_number, loop_of
from testbed.programs import require_programs, run

PART = "targets"
IMAGES = FOLDER / "images"
TMPFS_SOURCE = "weir-testbed-images"
NAME_PATTERN = r"target\d+"
IMAGE_PATTERN = rf"weir-testbed-{NAME_PATTERN}\.image"

FILE_SYSTEMS = {
    "ext4": ("mkfs.ext4", "-q", "-m", "0",
             "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"),
    "xfs": ("mkfs.xfs", "-q", "-K"),
}  # fmt: skip
SMALLEST = {"ext4": 16 << 20, "xfs": 300 << 20}
MOST_TARGETS = 64
MEMORY_SHARE = 0.75
"""Fraction of the available memory that images may take."""


@dataclass(frozen=True)
class Limits:
    """Bytes and operations per second; None means no limit."""

    read_rate: int | None = None
    write_rate: int | None = None
    read_iops: int | None = None
    write_iops: int | None = None

    def by_kind(self) -> dict[str, int | None]:
        """The values by the names that ``throttle.set_limit`` takes."""
        return {
            "read_bps": self.read_rate,
            "write_bps": self.write_rate,
            "read_iops": self.read_iops,
            "write_iops": self.write_iops,
        }


@dataclass(frozen=True)
class Target:
    """A target that is up: its name, mount point, block device and limits."""

    name: str
    directory: str
    device: str
    device_number: str
    file_system: str
    size_bytes: int
    direct_io: bool
    limits: Limits


def up(
    journal: Journal, limits: list[Limits], size_bytes: int, file_system: str, root: Path
) -> list[Target]:
    """Makes one target for each of `limits`; their mount points are ``root/target0`` and so on."""
    _check(limits, size_bytes, file_system, root)
    journal.begin(PART)
    FOLDER.mkdir(exist_ok=True)
    journal.enter(PART, Resource("directory", str(IMAGES)))
    IMAGES.mkdir(mode=0o700)
    journal.enter(PART, Resource("mount", str(IMAGES)))
    # Add room for index pages, which tmpfs counts too.
    room = len(limits) * (size_bytes + (1 << 20))
    run(["mount", "-t", "tmpfs", "-o", f"size={room},mode=700", TMPFS_SOURCE, IMAGES])
    targets = [
        _target_up(journal, f"target{number}", its_limits, size_bytes, file_system, root)
        for number, its_limits in enumerate(limits)
    ]
    journal.set_facts(PART, {"targets": [asdict(target) for target in targets]})
    return targets


def require(file_system: str) -> None:
    """Raises an error that names what this machine lacks for targets."""
    require_programs([FILE_SYSTEMS[file_system][0], "losetup", "mount", "umount"])
    known = Path("/proc/filesystems").read_text().split()
    if file_system not in known:
        raise TestbedError(f"this kernel has no {file_system}; choose another --file-system")
    if not Path("/dev/loop-control").exists():
        raise TestbedError("this kernel has no loop devices: /dev/loop-control does not exist")
    throttle.require()


def _check(limits: list[Limits], size_bytes: int, file_system: str, root: Path) -> None:
    if not 1 <= len(limits) <= MOST_TARGETS:
        raise TestbedError(f"{len(limits)} targets asked for; 1 to {MOST_TARGETS} can be", USAGE)
    if size_bytes < SMALLEST[file_system]:
        smallest = SMALLEST[file_system] >> 20
        raise TestbedError(f"{file_system} needs a --size of at least {smallest}MiB", USAGE)
    require(file_system)
    if root != FOLDER and not root.is_dir():
        raise TestbedError(f"--root {root} is no folder", USAGE)
    require_memory(len(limits) * size_bytes)


def _target_up(
    journal: Journal, name: str, limits: Limits, size_bytes: int, file_system: str, root: Path
) -> Target:
    image = IMAGES / f"weir-testbed-{name}.image"
    with image.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)
    journal.enter(PART, Resource("loop", str(image)))
    direct_io = _attach(image)
    loop = loop_of(image)
    if loop is None:
        raise TestbedError(f"no loop device holds {image}, though losetup said so")
    device = Path("/dev") / loop
    run([*FILE_SYSTEMS[file_system], device])
    directory = root / name
    journal.enter(PART, Resource("directory", str(directory)))
    try:
        directory.mkdir()
    except FileExistsError:
        journal.strike(PART, Resource("directory", str(directory)))
        raise TestbedError(f"{directory} exists already; remove it or choose a --root") from None
    journal.enter(PART, Resource("mount", str(directory)))
    run(["mount", "-o", "noatime", device, directory])
    directory.chmod(0o1777)
    target = Target(
        name, str(directory), str(device), device_number(loop), file_system, size_bytes,
        direct_io, Limits(),
    )  # fmt: skip
    journal.enter(PART, Resource("limit", target.device_number))
    return limited(target, limits)


def _attach(image: Path) -> bool:
    """Attaches the image to a loop device, which bypasses the page cache if the kernel can do that.

    Kernels before 6.6 have no direct I/O on tmpfs. The image is in memory in both cases.
    """
    try:
        run(["losetup", "--find", "--direct-io=on", image])
    except TestbedError:
        if loop_of(image) is None:
            run(["losetup", "--find", image])
    loop = loop_of(image)
    state = Path(f"/sys/block/{loop}/loop/dio")
    return state.exists() and state.read_text().strip() == "1"


def limited(target: Target, limits: Limits) -> Target:
    """Sets the limits on the target's device."""
    for kind, value in limits.by_kind().items():
        if value is not None or target.limits.by_kind()[kind] is not None:
            throttle.set_limit(target.device_number, kind, value)
    return replace(target, limits=limits)


def listed(journal: Journal) -> list[Target]:
    """Returns the targets that are up; none if the part is not."""
    facts = journal.facts(PART) or {"targets": []}
    return [_from_facts(entry) for entry in facts["targets"]]


def find(journal: Journal, name: str) -> Target:
    """Returns the target of that name or directory, or raises an error."""
    targets = listed(journal)
    chosen = next((target for target in targets if name in (target.name, target.directory)), None)
    if chosen is None:
        names = ", ".join(target.name for target in targets) or "none"
        raise TestbedError(f"no target {name!r} is up; up are: {names}", USAGE)
    return chosen


def set_limits(journal: Journal, name: str, changes: Mapping[str, int | None]) -> Target:
    """Changes some limits of a target that is up; the keys of `changes` are names of ``Limits``."""
    targets = listed(journal)
    chosen = find(journal, name)
    changed = limited(chosen, replace(chosen.limits, **changes))
    journal.set_facts(PART, {"targets": [asdict(changed if t == chosen else t) for t in targets]})
    return changed


def _from_facts(entry: dict[str, Any]) -> Target:
    return Target(**{**entry, "limits": Limits(**entry["limits"])})


def require_memory(needed: int) -> None:
    """Raises an error if so many bytes would take too much of the machine's memory."""
    available = available_memory()
    if needed > MEMORY_SHARE * available:
        raise TestbedError(
            f"{needed >> 20} MiB of memory are needed and {available >> 20} MiB available; choose "
            "a smaller --size"
        )


def available_memory() -> int:
    """Returns the bytes that new pages may take, by the kernel's own estimate."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    raise TestbedError("/proc/meminfo has no MemAvailable")
