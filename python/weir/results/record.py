"""Base types of the records of a run folder.

The names of quantities contain their unit, except for quantities of several kinds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

NonNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]

VerdictWord = Literal[
    "as expected", "as calibrated", "not decided", "below", "above", "no expectation"
]
"""``as calibrated``: what the path gave just before the run, but less than its components allow."""
WORST_FIRST: tuple[VerdictWord, ...] = (
    "above",
    "below",
    "as calibrated",
    "not decided",
    "no expectation",
    "as expected",
)


class Record(BaseModel):
    """Base of every record: no unknown fields, no silent coercion of names."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """Returns the record with the names that its fields have in files."""
        return super().model_dump(**{"by_alias": True, **options})

    def model_dump_json(self, **options: Any) -> str:
        return super().model_dump_json(**{"by_alias": True, **options})


class Quantity(Record):
    """A fitted figure and its 95 % interval. By hand a number alone will do, without interval."""

    value: NonNegative
    low: NonNegative
    high: NonNegative

    @model_validator(mode="before")
    @classmethod
    def _number_alone(cls, given: Any) -> Any:
        if isinstance(given, int | float) and not isinstance(given, bool):
            return {"value": given, "low": given, "high": given}
        return given


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
