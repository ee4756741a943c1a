"""What a source says of the nodes: the type that all sources share."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

Subject = Literal["way to storage", "network"]


class Certainty(IntEnum):
    """How a source knows; a larger value is more certain."""

    MEASURED = 1
    NAMED = 2
    STATED = 3
    SEEN = 4

    @property
    def text(self) -> str:
        return _TEXTS[self]


_TEXTS = {
    Certainty.MEASURED: "concluded from measured times",
    Certainty.NAMED: "concluded from names",
    Certainty.STATED: "stated by the administrator",
    Certainty.SEEN: "reported by the system itself",
}


@dataclass(frozen=True)
class Place:
    """Where a node is."""

    group: str
    """Name of what it shares with the other nodes of its group."""
    coordinates: tuple[tuple[str, str], ...] = ()
    """Kind and name of each level, the outermost first: ``("switch", "s2"), ("switch", "s0")``."""


@dataclass(frozen=True)
class Link:
    """Connections in parallel between two parts of the network."""

    from_: str
    to: str
    count: int
    bytes_per_second: float | None = None
    """The rate of one connection; None: the source does not say."""


@dataclass(frozen=True)
class Finding:
    """What one source says. Without places it only says how nodes are connected."""

    source: str
    certainty: Certainty
    unit: str
    """What the nodes of a group share, such as ``leaf switch``."""
    places: dict[str, Place] = field(default_factory=dict)
    subject: Subject = "network"
    links: tuple[Link, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> dict[str, list[str]]:
        """The nodes of each group, by the group's name."""
        found: dict[str, list[str]] = {}
        for node, place in self.places.items():
            found.setdefault(place.group, []).append(node)
        return found


@dataclass(frozen=True)
class Missing:
    """A source that says nothing, and why."""

    source: str
    why: str


def short_name(host: str) -> str:
    """Returns the name without its domain, by which sources are matched; addresses stay whole."""
    return host if host.replace(".", "").isdigit() else host.partition(".")[0]
