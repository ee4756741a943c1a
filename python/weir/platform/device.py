"""What this machine's kernel tells about the way to a directory's storage: ceilings of its rate.

    PCI Express     current speed and lanes of each link between processor and device
    SATA            negotiated speed of the link
    network         speed of the fastest card in use, for file systems reached over a network

The kernel knows no rate of a virtual disk, nor of the media behind a link.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from weir.model.a_priori import Ceiling
from weir.model.calibration_platform import IN_MEMORY

SYSTEM = Path("/sys")
MOUNTS = Path("/proc/self/mountinfo")
OVER_NETWORK = re.compile(r"nfs|lustre|ceph|beegfs|gpfs|gluster|cifs|smb|panfs|orangefs|pvfs", re.I)
LONGEST_CHAIN = 8
"""Loop devices on files on loop devices are followed this far."""
FORWARD_ERROR_CORRECTED = 64.0
"""From this number of GT/s a PCI Express link carries 242 bytes of each 256 (version 6)."""


@dataclass(frozen=True)
class Way:
    """What limits the way to a directory, and whether it ends in this machine's memory."""

    ceilings: tuple[Ceiling, ...] = ()
    in_memory: bool = False


def way_to(directory: Path, file_system: str, system: Path = SYSTEM, mounts: Path = MOUNTS) -> Way:
    """Returns what the kernel of this machine tells about a directory; nothing if it tells none."""
    if file_system in IN_MEMORY:
        return Way(in_memory=True)
    if OVER_NETWORK.search(file_system):
        card = _fastest_card(system)
        return Way(() if card is None else (card,))
    try:
        number = _existing(directory).stat().st_dev
    except OSError:
        return Way()
    return _way_of_device(number, system, mounts, LONGEST_CHAIN)


def _existing(path: Path) -> Path:
    whole = path.absolute()
    return next(one for one in (whole, *whole.parents) if one.exists())


def _way_of_device(number: int, system: Path, mounts: Path, left: int) -> Way:
    named = f"{os.major(number)}:{os.minor(number)}"
    link = system / "dev/block" / named
    if not link.exists():
        return Way(in_memory=_file_system_of(named, mounts) in IN_MEMORY)
    device = link.resolve()
    if (device / "partition").exists():
        device = device.parent
    image = _text(device / "loop/backing_file")
    if image and left > 0:
        try:
            below = Path(image).stat().st_dev
        except OSError:
            return Way()
        return _way_of_device(below, system, mounts, left - 1)
    return Way(tuple(_links_of(device, system)))


def _file_system_of(number: str, mounts: Path) -> str:
    """Returns the type of the file system that has this device number, or nothing."""
    for line in _text(mounts).splitlines():
        left, _, right = line.partition(" - ")
        if left.split()[2:3] == [number]:
            return right.partition(" ")[0]
    return ""


def _links_of(device: Path, system: Path) -> Iterator[Ceiling]:
    for part in (device, *device.parents):
        if part == system:
            return
        rate = _pci_express(part)
        if rate is not None:
            yield Ceiling(
                f"PCI Express link of {device.name}", "device link", rate, f"{part.name} in /sys"
            )
        for speed in part.glob("link*/ata_link/link*/sata_spd"):
            told = re.match(r"([0-9.]+) Gbps", _text(speed))
            if told:
                # Each byte is 10 bits on the link.
                rate = float(told[1]) * 1e9 / 10
                yield Ceiling(
                    f"SATA link of {device.name}", "device link", rate, f"{speed.name} in /sys"
                )


def _pci_express(part: Path) -> float | None:
    speed = re.match(r"([0-9.]+) GT/s", _text(part / "current_link_speed"))
    lanes = _text(part / "current_link_width")
    if speed is None or not lanes.isdigit() or int(lanes) == 0:
        return None
    transfers = float(speed[1])
    # 8 of 10 bits up to version 2, 128 of 130 up to version 5.
    share = 0.8 if transfers <= 5 else 128 / 130
    if transfers >= FORWARD_ERROR_CORRECTED:
        share = 242 / 256
    return transfers * 1e9 * share * int(lanes) / 8


def _fastest_card(system: Path) -> Ceiling | None:
    found = []
    for card in sorted((system / "class/net").glob("*")):
        speed = _text(card / "speed")
        used = _text(card / "operstate") == "up" and (card / "device").exists()
        if used and speed.isdigit() and int(speed) > 0:
            found.append((int(speed) * 1e6 / 8, card.name))
    for port in sorted((system / "class/infiniband").glob("*/ports/*")):
        told = re.match(r"([0-9.]+) Gb/sec", _text(port / "rate"))
        if told and "ACTIVE" in _text(port / "state"):
            found.append((float(told[1]) * 1e9 / 8, port.parent.parent.name))
    if not found:
        return None
    rate, name = max(found)
    return Ceiling(f"network card {name}", "node link", rate, "speed in /sys")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
