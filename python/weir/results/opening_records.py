"""The parts of ``run.json`` about the workloads open and flagfile: steps and their operations."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from weir.results.record import Count, NonNegative, Record, Spread
from weir.results.series import Series, Unit, stored_in


class OpeningPhase(Record):
    """One step of the workload open in one repetition."""

    step: str
    seconds: NonNegative = Field(
        description="from the first rank that began to the last that was done"
    )
    rank_seconds: Spread = Field(description="each rank's own time in the step")
    wait_seconds: Spread = Field(description="at the barrier after the step")


class StepTimes(Series):
    """A step's time over the measured repetitions."""

    unit: ClassVar[Unit] = "s"
    model_config = stored_in("s")


class CountedOperations(Record):
    """Metadata operations of a step on so many ranks."""

    ranks: Count
    operations: Count


class ExpectedOperations(Record):
    """What a step comes to on more ranks than there were."""

    ranks: Count
    operations: NonNegative = Field(description="by the line or by nodes, so no whole number")
    seconds: NonNegative | None = Field(
        description="at the rate that the file system serves, where --operations-per-second gave it"
    )


class NodeOperations(Record):
    """What a step asked for on one node, and on two: the ranks of one were taken for them."""

    ranks_per_node: Count
    first_node: Count
    further_node: float = Field(description="what the second node added")


class StepOperations(Record):
    """What a step asked the file system for, counted in a pass that was not timed.

    Calls of libc's functions on the job's files and their folder, whichever library made them; all
    but reads and writes are metadata operations.
    """

    total: Count = Field(description="of all ranks")
    first_rank: Count = Field(description="of them, by rank 0")
    most: Count = Field(description="by the rank with the most")
    transfers: Count = Field(description="reads and writes of all ranks")
    elsewhere: Count = Field(description="on other files, such as those of the MPI library")
    calls: dict[str, int] = Field(description="of all ranks, by what was called")
    counts: list[CountedOperations] = Field(description="on 1, 2, 4 and so on to all ranks")
    fixed: float = Field(description="of the line: operations = fixed + per_rank * ranks")
    per_rank: float = Field(description="of the line, in operations")
    largest_deviation: NonNegative = Field(description="of a count from the line, in operations")
    nodes: NodeOperations | None = Field(
        description="of an interface that knows nodes; expected then goes by these, not by the line"
    )
    expected: list[ExpectedOperations]


class OpeningStep(Record):
    """One step of the workload open over the measured repetitions."""

    step: str
    times: StepTimes = Field(description="from the first rank that began to the last that was done")
    operations: StepOperations | None = Field(description="null where calls were not counted")


class Flag(Record):
    """What polled and what did not in a run of the workload flagfile.

    The others' look-ups and the polls are the actions stat and poll of ``metadata``.
    """

    pollers: Count
    others: Count = Field(description="ranks that called stat on files of their own")
    by_reading: bool = Field(description="a poll opened, read and closed the flag; else a stat")
    interval_seconds: NonNegative = Field(description="between two polls of a rank")
    notice: StepTimes | None = Field(
        description="from setting the flag until the last poller saw it; null without pollers"
    )
