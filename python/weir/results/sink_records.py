"""The part of ``run.json`` about the workload sink: what a route takes of what it could."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from weir.results.opening_records import StepTimes
from weir.results.output_records import Throughput
from weir.results.record import Count, NonNegative, Record


class Sink(Record):
    """Messages of one size by one route; the run's rate is what was measured of it."""

    route: str = Field(description="what runs with messages of other sizes share in their labels")
    into: Literal["null", "file"] = Field(description="whether the bytes were dropped")
    message_bytes: Count = Field(description="of one rank")
    messages: Count = Field(description="of each rank in a repetition")
    accounted: bool = Field(
        description=(
            "true if the route counts the bytes that it took; they equal those that were sent"
        )
    )
    receivers: Count | None = Field(
        description="ranks that receive from others; null if nobody does, or it is unknown"
    )
    message: StepTimes = Field(description="time from one message of all ranks to the next")
    source_capacity: Throughput = Field(
        description="rate at which all ranks together copy such messages in their own memory"
    )
    receiving_capacity: Throughput | None = Field(
        description="rate at which only as many ranks as receive copy them; null without receivers"
    )
    stager_wait: StepTimes | None = Field(
        default=None,
        description=(
            "time of a repetition for which the slowest rank waited for its stager, apart from "
            "copying to it; null without stagers"
        ),
    )
    efficiency: NonNegative = Field(
        description="measured rate over the smaller capacity of the same repetition, a median"
    )
