"""Removes resources, by their kinds; a resource that does not exist counts as removed.

| kind             | name                                                        |
|------------------|-------------------------------------------------------------|
| limit            | MAJOR:MINOR                                                 |
| mount            | mount point                                                 |
| loop             | image of the loop device                                    |
| file             | path                                                        |
| directory        | path, removed if empty                                      |
| namespace        | network namespace; the processes in it are ended            |
| processor group  | path of a cgroup; its processes continue at full speed      |
| namespace folder | folder of namespaces of ``ip netns``; removed if empty      |
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from testbed import throttle
from testbed.errors import TestbedError
from testbed.journal import Resource
from testbed.mounts import command_of, is_mounted, loop_of, users_of
from testbed.programs import run, wait_for
from testbed.slow import remove_group

NAMESPACES = Path("/run/netns")
BUSY_SECONDS = 3.0
"""Seconds for which a mount may stay busy before its users are named."""
LEAVING_SECONDS = 30.0
"""Seconds for which it may stay so, and a loop device, without a user that could be named.

A process that was ended keeps its files while it gives back its memory, and on a busy machine that
takes long.
"""
FLUSH_SECONDS = 120.0
"""Seconds that unmounting may need to write back the page cache."""
TERM_SECONDS = 5.0
"""Seconds in which a process may end by itself after SIGTERM, before it gets SIGKILL."""
KILL_SECONDS = 60.0
"""Seconds in which a process must have ended after SIGKILL.

A server that held gigabytes gives them back first, and on a busy machine that takes long.
"""


def remove(resource: Resource, *, of_this_boot: bool = True, end_users: bool = False) -> None:
    """Removes the resource.

    `of_this_boot` is false for an entry of a journal that was written under an earlier boot. With
    `end_users` processes that keep a mount busy are ended; otherwise the error names them.
    """
    if resource.kind not in _REMOVE:
        raise TestbedError(f"the journal names a resource of unknown kind {resource.kind!r}")
    if of_this_boot or resource.kind in ("file", "directory"):
        _REMOVE[resource.kind](resource, end_users)


def _remove_limit(resource: Resource, _end_users: bool) -> None:
    throttle.lift(resource.name)


def _remove_mount(resource: Resource, end_users: bool) -> None:
    point = Path(resource.name)
    start = time.monotonic()
    while is_mounted(point):
        try:
            run(["umount", point], seconds=FLUSH_SECONDS)
        except TestbedError as error:
            users = users_of(point)
            if users and end_users:
                end_processes([int(user.name) for user in users])
            elif time.monotonic() - start > (BUSY_SECONDS if users else LEAVING_SECONDS):
                if not users:
                    raise
                names = ", ".join(command_of(user) for user in users)
                raise TestbedError(
                    f"{point} is in use by {names}; end them, or: testbed down --kill"
                ) from error
            time.sleep(0.1)


def _remove_loop(resource: Resource, _end_users: bool) -> None:
    image = Path(resource.name)
    loop = loop_of(image)
    if loop is not None:
        run(["losetup", "--detach", f"/dev/{loop}"])
        wait_for(
            f"/dev/{loop} to let go of {image}", LEAVING_SECONDS, lambda: loop_of(image) is None
        )


def _remove_file(resource: Resource, _end_users: bool) -> None:
    Path(resource.name).unlink(missing_ok=True)


def _remove_directory(resource: Resource, end_users: bool) -> None:
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            Path(resource.name).rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise TestbedError(
                    f"{resource.name} is left: {error.strerror}; look what is in it"
                ) from None
            # A mount that was interrupted may have completed meanwhile.
            _remove_mount(resource, end_users)
            time.sleep(0.1)
        else:
            return


def _remove_processor_group(resource: Resource, _end_users: bool) -> None:
    remove_group(Path(resource.name))


def _remove_namespace(resource: Resource, _end_users: bool) -> None:
    if (NAMESPACES / resource.name).exists():
        # A namespace with processes continues to exist without a name, so they must end first.
        pids = run(["ip", "netns", "pids", resource.name]).split()
        end_processes([int(pid) for pid in pids])
        run(["ip", "netns", "delete", resource.name])


def _remove_namespace_folder(resource: Resource, end_users: bool) -> None:
    # `ip netns add` creates the folder and mounts it on itself.
    folder = Path(resource.name)
    if folder.is_dir() and not any(folder.iterdir()):
        _remove_mount(resource, end_users)
        folder.rmdir()


_REMOVE: dict[str, Callable[[Resource, bool], None]] = {
    "limit": _remove_limit,
    "mount": _remove_mount,
    "loop": _remove_loop,
    "file": _remove_file,
    "directory": _remove_directory,
    "namespace": _remove_namespace,
    "processor group": _remove_processor_group,
    "namespace folder": _remove_namespace_folder,
}


def end_processes(pids: list[int]) -> None:
    """Ends processes by SIGTERM, and after ``TERM_SECONDS`` by SIGKILL."""
    start = time.monotonic()
    sent = signal.SIGTERM
    remaining = pids
    while remaining:
        elapsed = time.monotonic() - start
        if elapsed > TERM_SECONDS + KILL_SECONDS:
            raise TestbedError(f"processes do not end: {', '.join(map(str, remaining))}")
        if elapsed > TERM_SECONDS:
            sent = signal.SIGKILL
        for pid in remaining:
            with suppress(ProcessLookupError):
                os.kill(pid, sent)
        time.sleep(0.05)
        remaining = [pid for pid in remaining if is_running(pid)]


def is_running(pid: int) -> bool:
    """Returns whether the process exists and is not a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")
