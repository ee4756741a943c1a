"""The journal of what the test bed has made, written before each act, and the commands' lock.

Invariant: every resource of the kinds in ``removal.py`` that a command of the test bed made is in
the journal from before it was made until after it is gone. The journal may contain a resource that
was never made, if a command was killed in between; removing what does not exist is not an error.

The file is replaced as a whole by rename, so a killed command leaves the old or the new one. The
lock is an abstract socket: the kernel releases it when the process ends, and it leaves no file.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.errors import TestbedError
from testbed.programs import HELD

FOLDER = Path("/run/weir-testbed")
"""Folder of the journal, the images and, by default, the mount points."""

JOURNAL = FOLDER / "journal.json"
LOCK_NAME = "\0weir-testbed"
PARTS = ("targets", "hosts", "gluster", "ceph", "locks")


@dataclass(frozen=True)
class Resource:
    """A resource that was made: its kind and name (see ``removal.py``), and what identifies it."""

    kind: str
    name: str
    detail: str = ""


class Journal:
    """The parts that are up or partly made, with resources in the order of making, and facts."""

    def __init__(self) -> None:
        self._boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        try:
            stored = json.loads(JOURNAL.read_text())
        except FileNotFoundError:
            stored = {}
        except (OSError, ValueError) as error:
            raise TestbedError(f"{JOURNAL} cannot be read ({error}); remove it, then: down") from (
                None
            )
        self._parts: dict[str, dict[str, Any]] = stored.get("parts", {})
        self.is_of_this_boot = stored.get("boot", self._boot) == self._boot

    def parts(self) -> list[str]:
        """Returns the parts that have entries, in the order of ``PARTS``."""
        return [part for part in PARTS if part in self._parts]

    def resources(self, part: str) -> list[Resource]:
        """Returns the resources that the part made or was about to make, in that order."""
        return [Resource(*entry) for entry in self._parts.get(part, {}).get("made", [])]

    def facts(self, part: str) -> dict[str, Any] | None:
        """Returns the facts of a complete part; None for one that is not up or only partly made."""
        facts: dict[str, Any] | None = self._parts.get(part, {}).get("facts")
        return facts

    def begin(self, part: str) -> None:
        """Opens a part; raises an error if it is up already, or was left partly made."""
        if self.facts(part) is not None:
            raise TestbedError(f"{part} are up already; take them away with: testbed {part} down")
        if part in self._parts:
            raise TestbedError(f"{part} were left half made; take them away with: testbed down")
        self._parts[part] = {"made": []}
        self._store()

    def enter(self, part: str, resource: Resource) -> None:
        """Records a resource; call this before the resource is made."""
        self._parts[part]["made"].append([resource.kind, resource.name, resource.detail])
        self._store()

    def strike(self, part: str, resource: Resource) -> None:
        """Removes a resource from the journal; call this after the resource is gone."""
        self._parts[part]["made"].remove([resource.kind, resource.name, resource.detail])
        self._store()

    def set_facts(self, part: str, facts: dict[str, Any]) -> None:
        """Declares the part complete with these facts, or changes its facts."""
        self._parts[part]["facts"] = facts
        self._store()

    def end(self, part: str) -> None:
        """Closes a part whose resources are gone; after the last part it removes the journal."""
        self._parts.pop(part, None)
        if self._parts:
            self._store()
            return
        JOURNAL.unlink(missing_ok=True)
        JOURNAL.with_suffix(".new").unlink(missing_ok=True)
        if FOLDER.is_dir() and not any(FOLDER.iterdir()):
            FOLDER.rmdir()

    def _store(self) -> None:
        FOLDER.mkdir(mode=0o755, parents=True, exist_ok=True)
        new = JOURNAL.with_suffix(".new")
        new.write_text(json.dumps({"boot": self._boot, "parts": self._parts}, indent=1) + "\n")
        new.replace(JOURNAL)


@contextmanager
def locked(seconds: float = 0.0) -> Iterator[None]:
    """Excludes other commands of the test bed; waits up to `seconds` for a running one."""
    end = time.monotonic() + seconds
    with socket.socket(socket.AF_UNIX) as lock:
        while True:
            try:
                lock.bind(LOCK_NAME)
                break
            except OSError:
                if time.monotonic() >= end:
                    raise TestbedError(
                        f"another testbed command runs{_holder()}; wait for it to end"
                    ) from None
                time.sleep(0.1)
        lock.listen()
        HELD.append(lock.fileno())
        try:
            yield
        finally:
            HELD.remove(lock.fileno())


def _holder() -> str:
    """Returns `` (process N)`` for the process that has the lock, if it can be determined."""
    with socket.socket(socket.AF_UNIX) as question:
        question.settimeout(1.0)
        try:
            question.connect(LOCK_NAME)
            credentials = question.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
            )
        except OSError:
            return ""
    pid = int(struct.unpack("3i", credentials)[0])
    return f" (process {pid})" if pid != os.getpid() else ""
