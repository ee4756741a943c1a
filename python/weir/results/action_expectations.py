"""The part of ``run.json`` with expectations and verdicts of the workload metadata's actions."""

from __future__ import annotations

from pydantic import Field

from weir.results.record import NonNegative, Record, VerdictWord


class ActionLimit(Record):
    """What an action cannot exceed: operations per second of all ranks."""

    name: str
    per_second: NonNegative
    low_per_second: NonNegative
    high_per_second: NonNegative
    limiting: bool = False
    how: str


class ExpectedAction(Record):
    """What one action should reach, made before the run from probed rates."""

    action: str
    expected_per_second: NonNegative | None = Field(description="null: nothing can be expected")
    low_per_second: NonNegative | None = None
    high_per_second: NonNegative | None = None
    limiting_stage: str = ""
    limits: list[ActionLimit] = Field(default_factory=list)
    device_per_second: NonNegative | None = Field(
        default=None,
        description="operations of 4 KiB that the device does by itself for as many clients: "
        "writes for what changes something, reads for what looks up",
    )
    how: str = Field(description="how the figure came about, or why there is none")


class ActionVerdict(Record):
    """One action against its expectation, and the share of its time that is software."""

    action: str
    measured_per_second: NonNegative
    expected_per_second: NonNegative | None
    ratio: NonNegative | None = Field(description="measured over expected")
    verdict: VerdictWord
    text: str
    software_fraction: float | None = Field(
        description="of the time of an operation, what is left when the device has done one of its "
        "own for it; null where the device's figure says nothing of it"
    )
    software: str = Field(description="how that is known, or why it is not")
