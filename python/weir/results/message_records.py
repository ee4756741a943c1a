"""The part of ``run.json`` about messages and I/O at the same time: madbench --messages."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from weir.results.output_records import Throughput
from weir.results.record import NonNegative, Record


class Kept(Record):
    """Rates together over rates alone, of the same repetition of two runs of one job."""

    values: list[NonNegative] = Field(description="ratios, in the order of the repetitions")
    median: NonNegative = Field(description="of the ratios")
    low: NonNegative = Field(description="of the interval of the median")
    high: NonNegative = Field(description="of the interval of the median")
    confidence: NonNegative = Field(description="coverage of the interval, 0 to 1")


class MovedBeside(Record):
    """What one kind of movement reached alone, and while the other kind was under way.

    Rates are the bytes of all ranks over the mean seconds of a rank.
    """

    moved: Literal["messages", "write", "read"] = Field(
        description="write: the transfers of S with their syncs; read: those of C"
    )
    alone: Throughput | None = Field(
        description="null if in some repetition nothing was moved alone for its whole time"
    )
    together: Throughput | None = Field(
        description="null if in some repetition nothing was moved together for 90 % of its time"
    )
    together_share: NonNegative = Field(
        description="share of the bytes that is in `together`, a median"
    )
    kept: Kept | None = Field(
        description="`together` over the rate alone of the SYNC run; null without that run"
    )


class Messages(Record):
    """Messages between ranks in the place of busy work, and the I/O beside them."""

    alone_run_id: str | None = Field(
        description=(
            "the SYNC run of the same job, interface and file type, with which an ASYNC run is "
            "compared; null otherwise"
        )
    )
    kinds: list[MovedBeside]
