"""``probe.json``: what ``weir-bench probe`` measures of a machine's path, single trials kept.

Every sample is of one form: that many ranks made that many operations of that size each, all at
the same time, and from the first start to the last end it took that many seconds. Rates and fixed
costs are for the path model to find (``weir.model``); nothing is fitted here.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from weir.results.schema import Count, NonNegative, Quiet, Record

Operation = Literal[
    "memory_copy",
    "cache_write",
    "cache_read",
    "storage_write",
    "storage_read",
    "direct_write",
    "direct_read",
    "call",
    "fsync",
    "create",
    "stat",
    "remove",
    "barrier",
    "latency",
    "bandwidth",
    "busy_work",
]
"""What was done.

``memory_copy``: between buffers beyond the processor's caches. ``cache_write``, ``cache_read``: by
the page cache, nothing made durable, pages resident. ``storage_write``: write and ``fsync``, after
every operation. ``storage_read``: after dropping the pages. ``direct_*``: O_DIRECT. ``call``: 8
bytes of a resident page. ``fsync``: after 4 KiB more. ``create``, ``stat``, ``remove``: of empty
files in a directory of the rank. ``latency``: half a round trip of 8 bytes. ``bandwidth``: messages
of one direction. ``busy_work``: MADbench2's, operations in ``operations``.
"""


class Sample(Record):
    """Trials of one operation at one size on one number of ranks, in the order they were made."""

    operation: Operation
    ranks: int = Field(ge=1, description="ranks that worked at the same time")
    operation_bytes: Count = Field(description="of one operation of one rank; 0 where none move")
    operations: int = Field(ge=1, description="of one rank in one trial")
    directory: str | None = Field(default=None, description="where, for operations on files")
    hosts: list[str] = Field(
        default_factory=list,
        description="for messages: the host of both ranks, or the sender's and the receiver's",
    )
    seconds: list[NonNegative] = Field(description="each trial, first start to last end")


class Target(Record):
    """A directory that was probed and what lies behind it."""

    directory: str
    file_system: str = Field(description="type, such as ext4 or lustre")
    mount: str
    device: str
    layout: dict[str, Any] = Field(
        default_factory=dict, description="stripes, block size, whatever the file system tells"
    )


class Probe(Record):
    """``probe.json``."""

    format: Literal["weir-probe"]
    format_version: Literal[1]
    measured_utc: str
    seconds: NonNegative = Field(description="what the probe took")
    ranks: int
    ranks_by_host: dict[str, int]
    memory_available_bytes: Count = Field(description="summed over the hosts")
    targets: list[Target]
    hardware: dict[str, Any] = Field(description="processors, caches, memory, devices, by hwloc")
    system_software: dict[str, Any]
    quiet: Quiet
    samples: list[Sample]
