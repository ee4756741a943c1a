"""What every record of a run folder is made of.

Quantities carry their unit in their name, but for those that are of several kinds.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

NonNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]


class Record(BaseModel):
    """Base of every record: no unknown fields, no silent coercion of names."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Spread(Record):
    """One figure over all ranks. The slowest rank is named, never averaged away."""

    min: NonNegative = Field(description="unit: that of the field which holds the spread")
    mean: NonNegative = Field(description="unit: that of the field which holds the spread")
    max: NonNegative = Field(description="unit: that of the field which holds the spread")
    max_rank: int
    max_host: str


class Latencies(Record):
    """Latencies over all ranks and measured repetitions, merged exactly."""

    count: Count
    min_ns: Count
    p50_ns: Count
    p90_ns: Count
    p99_ns: Count
    p999_ns: Count
    p9999_ns: Count
    max_ns: Count
    buckets: list[tuple[int, int, int]] = Field(
        description="(lower bound ns, upper bound ns exclusive, count), empty ones left out"
    )
