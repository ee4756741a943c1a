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
        description="time from the start of the first rank to the end of the last"
    )
    rank_seconds: Spread = Field(description="each rank's own time in the step")
    wait_seconds: Spread = Field(description="wait at the barrier after the step")


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
    operations: NonNegative = Field(
        description="number from the line or from nodes, therefore not always whole"
    )
    seconds: NonNegative | None = Field(
        description=(
            "time at the rate that the file system serves, if --operations-per-second gave "
            "that rate"
        )
    )


class NodeOperations(Record):
    """What a step asked for on one node, and on two: the ranks of one were taken for them."""

    ranks_per_node: Count
    first_node: Count
    further_node: float = Field(description="operations that the second node added")


class StepOperations(Record):
    """What a step asked the file system for, counted in a pass that was not timed.

    Calls of libc's functions on the job's files and their folder, whichever library made them; all
    but reads and writes are metadata operations.
    """

    total: Count = Field(description="operations of all ranks")
    first_rank: Count = Field(description="operations of rank 0")
    most: Count = Field(description="operations of the rank with most of them")
    transfers: Count = Field(description="reads and writes of all ranks")
    elsewhere: Count = Field(
        description="operations on other files, such as those of the MPI library"
    )
    calls: dict[str, int] = Field(description="operations of all ranks, by name of the call")
    counts: list[CountedOperations] = Field(
        description="counts on 1, 2, 4 and so on, up to all ranks"
    )
    fixed: float = Field(description="parameter of the line: operations = fixed + per_rank * ranks")
    per_rank: float = Field(description="error of the line, in operations")
    largest_deviation: NonNegative = Field(
        description="largest deviation of a count from the line, in operations"
    )
    nodes: NodeOperations | None = Field(
        description=(
            "for an interface that knows nodes; expected is then computed from these, not from "
            "the line"
        )
    )
    expected: list[ExpectedOperations]


class OpeningStep(Record):
    """One step of the workload open over the measured repetitions."""

    step: str
    times: StepTimes = Field(
        description="time from the start of the first rank to the end of the last"
    )
    operations: StepOperations | None = Field(description="null if calls were not counted")


class Flag(Record):
    """What polled and what did not in a run of the workload flagfile.

    The others' look-ups and the polls are the actions stat and poll of ``metadata``.
    """

    pollers: Count
    others: Count = Field(description="number of ranks that called stat on their own files")
    by_reading: bool = Field(
        description="true if a poll opened, read and closed the flag; false if it called stat"
    )
    interval_seconds: NonNegative = Field(description="time between two polls of a rank")
    notice: StepTimes | None = Field(
        description="time from setting the flag until the last poller saw it; null without pollers"
    )
