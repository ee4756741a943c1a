"""``calibration.json``: what ``weir-bench calibrate`` measures in a few seconds.

Every rate is that of all ranks of the job together unless its name contains ``one_rank``. Every
figure keeps its single trials, so that an expectation can have an interval.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from weir.results.record import Record


class Trials(Record):
    """Trials of one figure, in the order they were made; the unit is in the field's name."""

    median: float
    low: float = Field(description="smallest trial")
    high: float = Field(description="largest trial")
    values: list[float]


class OperationTrials(Record):
    """What a file of a program's output, or a message, takes beside its bytes."""

    api: str
    staging: str
    aggregators: int = Field(default=0, description="as asked for; 0: the interface decides")
    blocked_seconds: Trials = Field(
        description="time in calls on a file without content, of the slowest rank; or of a message"
    )
    stored_seconds: Trials = Field(
        description="from opening such a file until it is durable; or of a message"
    )


class LinkTrials(Record):
    """The way of bytes over TCP to stagers of a service, by all ranks at the same time."""

    stagers: int
    receivers: int = Field(
        description="threads of each that receive; 0: as usual, to stagers that the user started"
    )
    bytes_per_second: Trials


class Calibration(Record):
    """``calibration.json``. Rates are over all ranks unless the name says ``one_rank``."""

    format: Literal["weir-calibration"]
    format_version: Literal[1]
    measured_utc: str
    ranks: int
    hosts: int
    directory: str
    file_system: str
    memory_available_bytes: int | None = Field(
        default=None,
        description="memory free for the page cache before the run, summed over the hosts",
    )
    processors: int | None = Field(
        default=None,
        description="processors that the ranks of a host share, the fewest of any host",
    )
    transfer_bytes: int = Field(description="bytes that one rank moves in one operation")
    shared_file: bool = Field(
        default=False, description="whether all ranks moved their parts of one file"
    )
    direct: bool = Field(
        default=False, description="whether storage was measured by O_DIRECT, and without syncs"
    )
    bytes_per_rank: int | None = Field(
        default=None, description="bytes of one rank in a file, as asked or as there was room"
    )
    cached_bytes_per_rank: int | None = Field(
        default=None,
        description="bytes of one rank in a file whose resident pages were read, as time allowed",
    )
    storage_read_bytes_per_rank: int | None = Field(
        default=None,
        description="bytes of one rank in the file that was read from storage, as time allowed",
    )
    memory_copy_one_rank_bytes_per_second: Trials
    memory_copy_bytes_per_second: Trials
    write_cache_bytes_per_second: Trials = Field(description="write without a durable sync")
    write_storage_bytes_per_second: Trials = Field(description="write and fsync, new file")
    write_synced_once_bytes_per_second: Trials | None = Field(
        default=None, description="many writes to a new file and one fsync at the end"
    )
    synced_once_bytes: int | None = Field(
        default=None, description="bytes that one rank writes before that one fsync"
    )
    read_cache_bytes_per_second: Trials = Field(
        description="read of resident pages, for the first time since they were written"
    )
    read_storage_bytes_per_second: Trials = Field(description="read after dropping the pages")
    first_read_seconds: Trials | None = Field(
        default=None,
        description="the first read of a file by all ranks, after dropping all of its pages",
    )
    fsync_seconds: Trials = Field(description="fsync after 4 KiB, slowest rank")
    call_seconds: Trials = Field(description="fixed cost of one call: an 8-byte pread in cache")
    barrier_seconds: Trials
    busy_work_operations_per_second: Trials = Field(
        description="busy work of the slowest rank while all ranks compute"
    )
    operations: list[OperationTrials] = Field(
        default_factory=list,
        description="files or messages with as few bytes as possible, by the job's own interfaces",
    )
    links: list[LinkTrials] = Field(
        default_factory=list, description="ways over TCP to stagers on the job's nodes"
    )
    seconds: float = Field(description="duration of the calibration")
