"""What every driver of the monitor counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, Protocol, get_args, runtime_checkable

Kind = Literal["target", "server", "link", "client", "host", "requests"]
"""Where something is counted.

``target``: where the bytes are stored, whoever moved them. ``server``: a server without bytes of
its own, such as one of metadata. ``link``: a network card. ``client``: what this host, or one job,
asked of a file system. ``host``: the processors of this host. ``requests``: how many requests of
one size there were; their bytes are those of a target or a client.
"""
KINDS: tuple[Kind, ...] = get_args(Kind)


class Key(NamedTuple):
    """Which counter it is: a target of this name, counted by this source."""

    kind: Kind
    source: str
    name: str


class Values(NamedTuple):
    """Totals since some moment in the past; they only grow, until the counter begins anew.

    ``busy_ns`` is the time in which the counter's owner was busy: by the clock for block devices,
    otherwise the sum over all requests, which grows faster than the clock. Drivers whose source
    has no such time leave it 0.
    """

    bytes_read: int = 0
    bytes_written: int = 0
    operations: int = 0
    busy_ns: int = 0


NOTHING = Values()


class Driver(Protocol):
    """Reads the counters of one source."""

    @property
    def source(self) -> str:
        """The source's name, which its keys have."""

    def now(self) -> Mapping[Key, Values]:
        """Returns the counters that the source has now.

        Those that have not changed since the last call may be left out, as are lost ones.
        """

    def close(self) -> None:
        """Ends what the driver has open."""


@runtime_checkable
class DelayedDriver(Driver, Protocol):
    """A driver whose counters were read before they are asked for, and not at each sample."""

    @property
    def span_ns(self) -> tuple[int, int]:
        """Between these moments of CLOCK_MONOTONIC the counters of the last ``now`` have grown."""


def grown(before: Values, after: Values) -> Values:
    """Returns what was added; a total that became smaller has begun anew, at 0."""
    return Values(
        *(now - then if now >= then else now for then, now in zip(before, after, strict=True))
    )
