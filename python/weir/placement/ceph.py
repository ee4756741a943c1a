"""CephFS: from the layout of a file to its objects, their placement groups and their OSDs.

``ceph.file.layout`` has how a file is cut into objects, which are called by the number of the inode
and their own, both hexadecimal. An object's group is a hash of its name (``rjenkins``, as in Ceph's
ceph_hash.cc) modulo the number of groups, folded as ceph_stable_mod does. Which OSD serves a group
only the cluster tells, by ``ceph pg ls-by-pool``: the first of ``acting``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from weir.placement.layouts import Layout, Piece

ATTRIBUTE = "ceph.file.layout"
MOST_OBJECTS = 1 << 16
GOLDEN = 0x9E3779B9
WORD = 0xFFFFFFFF
SHIFTS = ((13, 8, 13), (12, 16, 5), (3, 10, 15))


def parse_file_layout(text: str) -> dict[str, str]:
    """Returns the words of ``stripe_unit=… stripe_count=… object_size=… pool=…`` by name."""
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def primaries_of(text: str) -> list[str]:
    """Returns the OSD that serves each placement group of a pool, in order of their numbers."""
    told: Any = json.loads(text)
    groups = told["pg_stats"] if isinstance(told, dict) else told
    found = {int(one["pgid"].partition(".")[2], 16): one["acting"] for one in groups}
    if sorted(found) != list(range(len(found))) or not all(found.values()):
        raise ValueError("the pool has groups without an OSD")
    return [f"osd.{found[number][0]}" for number in range(len(found))]


def hosts_of(text: str) -> dict[str, str]:
    """Returns the host of each OSD from ``ceph osd metadata``."""
    return {f"osd.{one['id']}": one["hostname"] for one in json.loads(text) if "hostname" in one}


def layout_of(
    inode: int, words: Mapping[str, str], primaries: Sequence[str], file_bytes: int
) -> Layout | None:
    """Returns where a file of so many bytes lies; None if it has too many objects."""
    unit, count = int(words["stripe_unit"]), int(words["stripe_count"])
    object_bytes = int(words["object_size"])
    sets = max(1, -(-file_bytes // (object_bytes * count)))
    if sets * count > MOST_OBJECTS:
        return None
    targets = [
        primaries[group_of(f"{inode:x}.{number:08x}", len(primaries))]
        for number in range(sets * count)
    ]
    if count == 1:
        return Layout((Piece(0, sets * object_bytes, object_bytes, tuple(targets)),))
    bytes_of_set = object_bytes * count
    return Layout(
        tuple(
            Piece(
                number * bytes_of_set,
                (number + 1) * bytes_of_set,
                unit,
                tuple(targets[number * count : (number + 1) * count]),
            )
            for number in range(sets)
        )
    )


def group_of(name: str, groups: int) -> int:
    """Returns the placement group of an object."""
    mask = (1 << (groups - 1).bit_length()) - 1
    found = hash_of(name.encode())
    return found & mask if found & mask < groups else found & (mask >> 1)


def hash_of(name: bytes) -> int:
    """Returns Robert Jenkins' hash of 1996 of a name."""
    a = b = GOLDEN
    c = 0
    whole = len(name) - len(name) % 12
    for place in range(0, whole, 12):
        x, y, z = (int.from_bytes(name[place + at : place + at + 4], "little") for at in (0, 4, 8))
        a, b, c = _mixed(a + x, b + y, c + z)
    rest = name[whole:]
    # The lowest byte of the third word is the length.
    a += int.from_bytes(rest[0:4], "little")
    b += int.from_bytes(rest[4:8], "little")
    c += len(name) + (int.from_bytes(rest[8:11], "little") << 8)
    return _mixed(a, b, c)[2]


def _mixed(a: int, b: int, c: int) -> tuple[int, int, int]:
    a, b, c = a & WORD, b & WORD, c & WORD
    for first, second, third in SHIFTS:
        a = ((a - b - c) & WORD) ^ (c >> first)
        b = ((b - c - a) & WORD) ^ ((a << second) & WORD)
        c = ((c - a - b) & WORD) ^ (b >> third)
    return a, b, c
