"""Limits block devices by the kernel's block throttling, cgroup version 1.

Limits are set in the root group. They apply to every process of that group, to O_DIRECT and to
buffered data, because data that the kernel's own threads write back belongs to the root group too.
Version 2 has no limits on its root group, and a limit on a child group there does not apply to
other processes' data, so it is not used. Limits do not apply to processes in child groups of
version 1; ``require`` refuses to continue from such a process.

The kernel accounts in slices of 20 or 100 ms: over some seconds a rate is accurate to about 2 %.
"""

from __future__ import annotations

from pathlib import Path

from testbed.errors import TestbedError
from testbed.mounts import mounted

KINDS = ("read_bps", "write_bps", "read_iops", "write_iops")
"""Bytes per second, and operations per second: requests that reach the device."""


def folder() -> Path:
    """Returns the root group of block throttling; raises an error if the kernel has none."""
    for mount in mounted():
        if mount.kind == "cgroup" and "blkio" in mount.options:
            if (mount.point / "blkio.throttle.write_bps_device").exists():
                return mount.point
            break
    raise TestbedError(
        "this kernel offers no limits on block devices: the blkio controller of cgroup version 1 "
        "is not mounted or lacks throttling (CONFIG_BLK_DEV_THROTTLING)"
    )


def require() -> None:
    """Raises an error if limits cannot be set, or would not apply to what this shell starts."""
    folder()
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "blkio" in controllers.split(",") and path != "/":
            raise TestbedError(
                f"this shell is in the blkio group {path}, where limits of the root group do not "
                f"hold; move it first: echo $$ > {folder()}/cgroup.procs"
            )


def set_limit(device: str, kind: str, value: int | None) -> None:
    """Limits a device, given as MAJOR:MINOR; None removes the limit."""
    path = folder() / f"blkio.throttle.{kind}_device"
    try:
        path.write_text(f"{device} {value or 0}\n")
    except OSError as error:
        if value is None and device not in limited_devices():
            return  # The device itself is gone, and its limits with it.
        raise TestbedError(f"{path}: {device} {value}: {error.strerror}") from None


def lift(device: str) -> None:
    """Removes every limit of a device."""
    if device in limited_devices():
        for kind in KINDS:
            set_limit(device, kind, None)


def limited_devices() -> set[str]:
    """Returns the devices, as MAJOR:MINOR, that have a limit in the root group."""
    lines = [
        line
        for kind in KINDS
        for line in (folder() / f"blkio.throttle.{kind}_device").read_text().splitlines()
    ]
    return {line.split()[0] for line in lines}
