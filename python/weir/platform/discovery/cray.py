"""Cray's names of nodes, which say where they are.

c1-0c2s15n3      XT, XE, XC: cabinet 1 of row 0, chassis 2, blade (slot) 15, node 3
x1000c0s5b1n0    EX: cabinet 1000, chassis 0, slot 5, board 1, node 0
"""

from __future__ import annotations

import re

from weir.platform.discovery.findings import Certainty, Finding, Missing, Place
from weir.platform.discovery.recording import CRAY_NAME, Node, Recording
from weir.platform.discovery.texts import excerpt

_XC = re.compile(r"(c\d+-\d+)(c\d+)(s\d+)(n\d+)", re.ASCII)
_EX = re.compile(r"(x\d+)(c\d+)(s\d+)(b\d+)(n\d+)", re.ASCII)
_XC_LEVELS = ("cabinet", "chassis", "blade", "node")
_EX_LEVELS = ("cabinet", "chassis", "slot", "board", "node")
LONGEST_NAME = 64


def read_name(name: str) -> Place | None:
    """Returns the place that a name says, with the chassis as group; None for other names."""
    if len(name) > LONGEST_NAME:
        return None
    for form, levels in ((_XC, _XC_LEVELS), (_EX, _EX_LEVELS)):
        found = form.fullmatch(name)
        if found is None:
            continue
        parts = found.groups()
        names = ["".join(parts[: place + 1]) for place in range(len(parts))]
        return Place(names[1], tuple(zip(levels[:-1], names[:-1], strict=True)))
    return None


def from_names(recording: Recording) -> Finding | Missing:
    """Returns each node's chassis by its name."""
    source = "Cray's names of nodes"
    places: dict[str, Place] = {}
    for node in recording.nodes:
        place = _place(node)
        if place is not None:
            places[node.name] = place
    if not places:
        return Missing(
            source, "there is no /proc/cray_xt/cname and no /etc/cray/xname, and no host has one"
        )
    levels = [kind for kind, _ in next(iter(places.values())).coordinates]
    counts = [
        f"{level} {len({place.coordinates[depth] for place in places.values()})}"
        for depth, level in enumerate(levels)
    ]
    note = f"different parts by level: {', '.join(counts)}"
    return Finding(source, Certainty.NAMED, "chassis", places, notes=(note,))


def _place(node: Node) -> Place | None:
    text = node.text(CRAY_NAME)
    if text is None:
        return read_name(node.name)
    written = text.content.strip()
    place = read_name(written)
    if place is None:
        raise text.fault(
            1,
            f"is no name of a Cray node: '{excerpt(written)}'",
            "write c0-0c0s0n0 or x1000c0s0b0n0, or leave the file out",
        )
    return place
