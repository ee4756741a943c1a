"""What ``run.json`` has of a monitor that ran beside the job; its samples are in a file of theirs.

All figures but those of the clock are of the whole job, which may consist of several runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from weir.results.expectations import Direction
from weir.results.record import Count, NonNegative, Record

SAMPLE_COLUMNS = {
    "since_ns": "BIGINT",
    "time_ns": "BIGINT",
    "host": "VARCHAR",
    "kind": "VARCHAR",
    "source": "VARCHAR",
    "name": "VARCHAR",
    "bytes_read": "BIGINT",
    "bytes_written": "BIGINT",
    "operations": "BIGINT",
    "busy_ns": "BIGINT",
}
"""Columns of the file of samples, with their types in SQL; ``weir.monitor.samples`` says what they
mean."""

METADATA = "weir_monitor"
"""Key of what the file of samples says of its monitor, as JSON."""
MOST_NAMED = 6

Quietness = Literal["quiet", "not quiet", "not known"]


def named(targets: Sequence[str]) -> str:
    """Returns the names of targets for a text; of many only the first ones and the number."""
    if len(targets) <= MOST_NAMED:
        return ", ".join(targets)
    return f"{', '.join(targets[:MOST_NAMED])} and {len(targets) - MOST_NAMED} more"


class MonitoredCounter(Record):
    """What one target, server, link or client moved while the monitor ran."""

    kind: Literal["target", "server", "link", "client", "host", "requests"]
    source: str = Field(description="what counted, such as diskstats")
    name: str
    host: str | None = Field(default=None, description="null: the host of the monitor")
    holds_files: bool = Field(description="true for targets on which the job's files lie")
    bytes_read: Count
    bytes_written: Count
    operations: Count
    busy_seconds: NonNegative = Field(
        description="for block devices by the clock, otherwise summed over requests"
    )
    largest_bytes_per_second: NonNegative = Field(description="in the interval with the most bytes")


class MonitorClock(Record):
    """How the monitor's times and those of events are on one clock, that of rank 0."""

    how: str
    error_bound_ns: Count | None = Field(
        description="largest possible error of the monitor's times; null if there is no bound"
    )
    likely_error_ns: Count | None = Field(
        description="spread of the estimates, if the times are an estimate; null if they are not"
    )


class MonitoredHost(Record):
    """A monitor on another host (``WEIR_MONITOR_ON``); its samples are in the same file."""

    host: str
    sources: list[str]
    samples: Count
    missed: Count
    longest_reading_seconds: NonNegative
    processor_seconds: NonNegative
    clock: MonitorClock


class OthersBytes(Record):
    """Bytes of the targets in one direction, from the job's start to the monitor's end."""

    direction: Direction
    target_bytes: Count
    own_low_bytes: Count = Field(description="the job had at least so much moved on the targets")
    own_high_bytes: Count = Field(description="the job had at most so much moved on the targets")
    others_low_bytes: Count
    others_high_bytes: Count


class Others(Record):
    """What others moved on the targets that hold the job's files: targets' bytes minus its own.

    A file system's own records, such as a journal, count as others', and the page cache may keep
    bytes of the job from its targets, or write them after the monitor's end.
    """

    verdict: Quietness
    text: str
    own_from: Literal["accounting", "transfers"] | None = Field(
        description=(
            "accounting: the kernel's of all processes below the launcher; transfers: the events, "
            "and as the most also what was read to verify"
        )
    )
    before_seconds: NonNegative = Field(description="for how long the targets were watched before")
    before_bytes: Count = Field(description="what they moved then, when the job had not begun")
    during_seconds: NonNegative
    directions: list[OthersBytes] = Field(description="empty if the job's own bytes are not known")


class Monitor(Record):
    """A monitor on the host from which the job was started (``weir bench --monitor``)."""

    file: str = Field(description="the samples, in the run folder")
    host: str
    sources: list[str]
    interval_seconds: NonNegative
    resolution: str = Field(description="what the samples cannot show")
    seconds: NonNegative
    samples: Count
    missed: Count = Field(description="samples that were not taken in time")
    longest_reading_seconds: NonNegative = Field(
        description="how far apart in time the counters of one sample may have been read"
    )
    processor_seconds: NonNegative = Field(description="what the monitor itself took")
    clock: MonitorClock
    hosts: list[MonitoredHost] = Field(
        default_factory=list, description="monitors on further hosts, such as servers"
    )
    counters: list[MonitoredCounter] = Field(description="those that moved")
    others: Others
