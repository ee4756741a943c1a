"""``probe.json``: what ``weir-bench probe`` measures of a machine's path, as single trials.

Every sample has the same form: so many ranks made so many operations of this size each, all at the
same time, and the time from the first start to the last end was so many seconds. The path model
(``weir.model``) derives rates and fixed costs; nothing is fitted here.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from weir.results.metadata_rates import ItemOperation
from weir.results.node_records import DescribedNodes
from weir.results.record import Count, NonNegative, Record
from weir.results.schema import Quiet

Operation = Literal[
    "memory_copy",
    "run_copy",
    "cache_write",
    "cache_read",
    "storage_write",
    "storage_read",
    "direct_write",
    "direct_read",
    "call",
    "shared_write",
    "fsync",
    "barrier",
    "latency",
    "bandwidth",
    "busy_work",
    ItemOperation,
]
"""Kinds of samples.

For every operation on data, ``ranks * operations * operation_bytes / seconds`` is the rate of all
ranks together.

``memory_copy``: between buffers larger than the processor's caches. ``run_copy``: the same in runs
of 64 bytes, packed on one side and far apart on the other. ``cache_write``, ``cache_read``: through
the page cache, nothing made durable, pages resident. ``storage_write``: write and ``fsync`` after
every operation. ``storage_read``: after dropping the pages. ``direct_*``: O_DIRECT. ``call``: 8
bytes of a resident page. ``shared_write``: 512 bytes into one file of all ranks of a host, which
take turns row by row, nothing made durable. ``fsync``: after 4 KiB more; the seconds, those of the
slowest rank, do not include that write. ``barrier``: of all ranks. ``latency``: messages of 8 bytes
to and fro, each one counted; seconds over operations is half a round trip. ``bandwidth``: messages
in one direction; ``ranks`` are the senders, each with a receiver of its own. ``busy_work``:
multiply-adds as in MADbench2. For operations on names see ``weir.results.metadata_rates``.
"""


class Sample(Record):
    """Trials of one operation at one size on one number of ranks, in the order they were made.

    Fewer than all ranks are distributed over the hosts: as many as there are hosts are one on each.
    """

    operation: Operation
    ranks: int = Field(ge=1, description="ranks that worked at the same time")
    operation_bytes: Count = Field(
        description="bytes of one operation of one rank; 0 if no bytes are moved"
    )
    operations: int = Field(ge=1, description="operations of one rank in one trial")
    directory: str | None = Field(default=None, description="directory, for operations on files")
    hosts: list[str] = Field(
        default_factory=list,
        description="for messages: hosts of the sender and the receiver, which may be the same",
    )
    shared_directory: bool = Field(
        default=False, description="for operations on names: all ranks work in one directory"
    )
    seconds: list[NonNegative] = Field(
        description=(
            "time of each trial from first start to last end; for transfers to and from files "
            "with pauses of 12 ms and more in which nothing completed: the time of all "
            "operations at the rate between the starts of the first burst and of the last"
        )
    )


class Target(Record):
    """A directory that was probed and what lies behind it."""

    directory: str
    file_system: str = Field(description="type of the file system, such as ext4 or lustre")
    mount: str
    device: str
    layout: dict[str, Any] = Field(
        default_factory=dict,
        description="stripes, block size and other properties that the file system reports",
    )


class Probe(Record):
    """``probe.json``."""

    format: Literal["weir-probe"]
    format_version: Literal[1]
    measured_utc: str
    seconds: NonNegative = Field(description="duration of the probe")
    ranks: int
    ranks_by_host: dict[str, int]
    memory_available_bytes: Count = Field(description="summed over the hosts")
    targets: list[Target]
    hardware: dict[str, Any] = Field(
        description="processors, caches, memory and devices, as hwloc reports them"
    )
    system_software: dict[str, Any]
    nodes: DescribedNodes | None = Field(
        default=None,
        description=(
            "in what other hosts differ from that of rank 0, in the order of `ranks_by_host`, with "
            "the file system of the first directory; null: made by a Weir that did not compare them"
        ),
    )
    quiet: Quiet
    warnings: list[str] = Field(
        default_factory=list, description="missing measurements, with the reasons"
    )
    samples: list[Sample]
