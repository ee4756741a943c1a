"""The part of ``run.json`` about flash and s3d: two throughputs of each kind of file."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from weir.results.opening_records import StepTimes
from weir.results.record import Count, NonNegative, Record
from weir.results.series import Series, Unit, stored_in


class Throughput(Series):
    """A throughput over the measured repetitions."""

    unit: ClassVar[Unit] = "bytes/s"
    model_config = stored_in("bytes/s")


class OutputStream(Record):
    """All files of one kind in a repetition: checkpoints, or the plot files of flash."""

    stream: str
    files: Count
    bytes_per_file: Count = Field(description="bytes of the elements of all its arrays")
    observed: Throughput = Field(
        description=(
            "bytes over the time for which the slowest rank was blocked, from opening to closing"
        )
    )
    storage: Throughput = Field(
        description="bytes over the time from opening until the files were durable"
    )
    hidden_fraction: float | None = Field(
        description=(
            "share of the time to storage for which the program was not blocked, a median; null "
            "without staging"
        )
    )
    stager_wait: StepTimes | None = Field(
        default=None,
        description=(
            "time of a repetition for which the slowest rank waited for its stager, of that for "
            "which it was blocked: the rest is copying and other calls; null without staging"
        ),
    )


class Outputs(Record):
    """What a run of flash or s3d wrote, and what the program observed of it."""

    blocks: Count | None = Field(default=None, description="flash: blocks of all ranks")
    least_blocks_per_rank: Count | None = Field(default=None, description="flash")
    most_blocks_per_rank: Count | None = Field(default=None, description="flash")
    cells: list[Count] | None = Field(
        default=None, description="s3d: cells of all ranks along x, y and z"
    )
    processes: list[Count] | None = Field(
        default=None, description="s3d: processes along x, y and z among which cells are divided"
    )
    restart_processes: list[Count] | None = Field(
        default=None, description="s3d: the same, of those that read the files back"
    )
    staged: bool = Field(description="true if a process of the node stored the files")
    work_requested_seconds: NonNegative = Field(
        description="busy work of a rank in a repetition, as requested"
    )
    work: StepTimes = Field(
        description=(
            "time that this work took the slowest rank; more than requested if storing took "
            "processor time from it"
        )
    )
    streams: list[OutputStream]
