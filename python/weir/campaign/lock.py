"""Limits a machine to one campaign at a time, by a lock on a file that all its users share.

The kernel holds the lock (flock) and releases it when the last process that has the file open is
gone, however it ended. The file itself remains and names its last holder. The launcher of a run
inherits the open file, so the lock outlives a killed ``weir`` until its run ends.

A lock on another user's file needs no write permission; only the note of its holder does.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from weir.bench.errors import BenchError

LOCK_NAME = "weir-campaign.lock"
PLACES = ("/run/lock", "/tmp")
LONGEST_NOTE = 4096
ORPHAN_SECONDS = 60.0
POLL_SECONDS = 0.2


def lock_file() -> Path:
    """Returns the lock file: in WEIR_LOCK_DIRECTORY, /run/lock or /tmp, the first that exists."""
    named = os.environ.get("WEIR_LOCK_DIRECTORY")
    places = [named] if named else PLACES
    for place in places:
        if Path(place).is_dir() and (
            os.access(place, os.W_OK) or (Path(place) / LOCK_NAME).exists()
        ):
            return Path(place) / LOCK_NAME
    raise BenchError(
        f"the machine's lock cannot be created: no folder of {', '.join(places)} can be written to"
    )


@contextlib.contextmanager
def machine_lock(
    campaign: str, tell: Callable[[str], None], *, side_by_side: bool = False
) -> Iterator[int]:
    """Holds the lock; yields the descriptor that children must inherit.

    With ``side_by_side`` other tasks that pass it share the lock. Raises ``BenchError`` that names
    the holder. If the process that took the lock is gone and only its run is still ending, the
    function waits for at most a minute.
    """
    file = lock_file()
    descriptor = _open(file)
    try:
        kind = fcntl.LOCK_SH if side_by_side else fcntl.LOCK_EX
        deadline = time.monotonic() + ORPHAN_SECONDS
        told = False
        while not _taken(descriptor, kind):
            holder = _note(descriptor)
            orphaned = holder is not None and not _is_alive(holder["pid"])
            if not orphaned or time.monotonic() > deadline:
                raise BenchError(f"another campaign is running on this machine: {describe(holder)}")
            if not told:
                tell(
                    "waiting for the remaining processes of a campaign that was ended: "
                    f"{describe(holder)}"
                )
                told = True
            time.sleep(POLL_SECONDS)
        _write_note(descriptor, campaign)
        os.set_inheritable(descriptor, True)
        yield descriptor
    finally:
        os.close(descriptor)


def holder_of_machine() -> str | None:
    """Describes the campaign that runs on this machine now; None if there is none."""
    try:
        descriptor = os.open(lock_file(), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (OSError, BenchError):
        return None
    try:
        return None if _taken(descriptor, fcntl.LOCK_SH) else describe(_note(descriptor))
    finally:
        os.close(descriptor)


def describe(holder: dict[str, object] | None) -> str:
    """Formats the note of a holder as a clause."""
    if holder is None:
        return "its owner is unknown"
    return (
        f"{holder['campaign']}, of {holder['user']}, process {holder['pid']}, "
        f"since {holder['since']}"
    )


def _open(file: Path) -> int:
    """Opens the lock file or creates it; refuses links and files that are not regular."""
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    # In a folder that all users may write to, opening another user's file with O_CREAT fails
    # (fs.protected_regular), so creating and opening the file are separate steps.
    for attempt in (os.O_RDWR, os.O_RDONLY, os.O_RDWR | os.O_CREAT | os.O_EXCL, os.O_RDONLY):
        try:
            descriptor = os.open(file, flags | attempt, 0o666)
        except (FileNotFoundError, FileExistsError, PermissionError):
            continue
        except OSError as error:
            raise BenchError(f"the machine's lock {file} cannot be opened: {error}") from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise BenchError(f"the machine's lock {file} is not a regular file: remove it")
        with contextlib.suppress(PermissionError):
            os.fchmod(descriptor, 0o666)  # The umask removed permissions that other users need.
        return descriptor
    raise BenchError(f"the machine's lock {file} cannot be made or opened")


def _taken(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_note(descriptor: int, campaign: str) -> None:
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    note = {
        "pid": os.getpid(),
        "user": user,
        "campaign": campaign,
        "since": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    text = json.dumps(note).encode()
    try:
        os.pwrite(descriptor, text.ljust(LONGEST_NOTE)[: max(len(text), 512)], 0)
    except OSError:
        return  # The file is another user's and open for reading: the lock holds without a note.


def _note(descriptor: int) -> dict[str, object] | None:
    try:
        note = json.loads(os.pread(descriptor, LONGEST_NOTE, 0))
    except (OSError, ValueError):
        return None
    keys = ("pid", "user", "campaign", "since")
    return note if isinstance(note, dict) and all(key in note for key in keys) else None


def _is_alive(pid: object) -> bool:
    return Path(f"/proc/{pid}").exists()
