"""Finds mounts, the loop device of an image, and the processes that keep a mount busy."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DELETED = " (deleted)"


@dataclass(frozen=True)
class Mounted:
    """A line of mountinfo."""

    point: Path
    kind: str
    source: str
    options: tuple[str, ...]


def mounted() -> list[Mounted]:
    """Returns the mounts that this process sees, in the order of mounting."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        first, _, second = line.partition(" - ")
        kind, source, options = second.split(" ", 2)
        point = Path(_unescaped(first.split(" ")[4]))
        found.append(Mounted(point, kind, _unescaped(source), tuple(options.split(","))))
    return found


def is_mounted(point: Path) -> bool:
    """Returns whether something is mounted on the folder itself."""
    return any(mount.point == point for mount in mounted())


def loops() -> dict[str, Path]:
    """Returns the loop devices in use (``loop0``) and their images."""
    found = {}
    for folder in sorted(Path("/sys/block").glob("loop*/loop")):
        try:
            image = (folder / "backing_file").read_text().rstrip("\n")
        except OSError:
            continue  # It was released at this moment.
        found[folder.parent.name] = Path(image.removesuffix(DELETED))
    return found


def loop_of(image: Path) -> str | None:
    """Returns the loop device of the image, as ``loop0``."""
    return next((loop for loop, held in loops().items() if held == image), None)


def device_number(loop: str) -> str:
    """Returns MAJOR:MINOR of a block device."""
    return Path(f"/sys/block/{loop}/dev").read_text().strip()


def processes() -> Iterator[Path]:
    """Yields the /proc folders of all processes except this one."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            yield folder


def command_of(process: Path) -> str:
    """Returns a process as ``1234 (dd)``."""
    try:
        name = (process / "comm").read_text().strip()
    except OSError:
        name = "ended"
    return f"{process.name} ({name})"


def users_of(point: Path) -> list[Path]:
    """Returns the processes with an open file or their working directory below `point`."""
    return [process for process in processes() if _uses(process, point)]


def _uses(process: Path, point: Path) -> bool:
    # Links are read but not followed, because a file system that hangs must not block this.
    try:
        links = [process / name for name in ("cwd", "root", "exe")]
        links += [*(process / "fd").iterdir(), *(process / "map_files").iterdir()]
    except OSError:
        return False
    for link in links:
        try:
            target = os.readlink(link)  # noqa: PTH115  the text is wanted, whatever it names
        except OSError:
            continue
        if target == str(point) or target.startswith(f"{point}/"):
            return True
    return False


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
