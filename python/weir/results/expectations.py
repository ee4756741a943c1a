"""The part of ``run.json`` with the expectation made before a run, and the verdict after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from weir.results.record import NonNegative, Record, VerdictWord
from weir.results.series import Expected, Judged, Key, Limit, Unit, stored_in

Direction = Literal["read", "write"]
Metric = Literal["span", "slowest_rank", "sum_of_ranks", "foreground", "total"]
"""How a rate over many ranks is formed.

``span``: bytes over the time from the first rank's start to the last rank's end, operation by
operation. ``slowest_rank``: bytes over the largest I/O time of any rank. ``sum_of_ranks``: the sum
of the ranks' own rates. ``foreground``: bytes over the slowest rank's time blocked in I/O, the EAAR
of Borrill et al., section 5. ``total``: bytes over the time from the first rank's opening to the
last rank's closing, as of IOR.
"""


class Stage(Limit):
    """One stage of the byte's path in an expectation."""

    model_config = stored_in("bytes/s")
    transfer_seconds: NonNegative | None = Field(
        default=None, description="time of the bytes of one repetition in the slowest unit"
    )
    fixed_seconds: NonNegative | None = Field(
        default=None, description="time of the operations of one repetition, besides their bytes"
    )


class ActionLimit(Limit):
    """What an action cannot exceed: operations per second of all ranks."""

    model_config = stored_in("1/s")


Basis = Literal["data sheet", "description", "probe", "earlier calibration", "device", "none known"]
"""What an a-priori bound comes from: what a maker states, a platform described by hand, a probe of
the path at another time, calibrations of earlier runs, or what the machine's kernel tells."""


class APriori(Record):
    """What the components allow, which does not come from the calibration of the run.

    A path that is slow as a whole reaches what was calibrated on it, but not what its components
    allow.
    """

    model_config = stored_in("bytes/s")
    value: NonNegative | None = Field(description="null: no component's rate is known")
    low: NonNegative | None = Field(
        default=None,
        description="a rate below it is less than the components sustain; 0: only a ceiling",
    )
    high: NonNegative | None = None
    limiting_stage: str = ""
    basis: Basis
    source: str = Field(description="what it is from, with its date; or how to give one")
    how: str = ""


class ExpectedRate(Expected):
    """What one direction should reach, made before the run."""

    unit: ClassVar[Unit] = "bytes/s"
    model_config = stored_in("bytes/s")
    direction: Direction
    metric: Metric
    value: NonNegative
    low: NonNegative
    high: NonNegative
    limiting_stage: str = Field(
        description="a stage, with its unit if units differ (target /mnt/t2), or its fixed cost"
    )
    stages: list[Stage]
    extrapolated_from_ranks: int | None = Field(
        default=None,
        description="largest number of ranks that the platform describes, if the run has more",
    )
    a_priori: APriori | None = Field(
        default=None, description="null: made by a Weir that had no a-priori bounds"
    )

    @property
    def key(self) -> Key:
        return self.direction, self.metric

    @property
    def limited_by(self) -> Sequence[Limit]:
        return self.stages


class ExpectedAction(Expected):
    """What one action should reach, made before the run from probed rates."""

    unit: ClassVar[Unit] = "1/s"
    model_config = stored_in("1/s")
    action: str
    limits: list[ActionLimit] = Field(default_factory=list)
    device_per_second: NonNegative | None = Field(
        default=None,
        description=(
            "operations of 4 KiB that the device alone does for the same number of clients: "
            "writes for actions that change something, reads for look-ups"
        ),
    )

    @property
    def key(self) -> Key:
        return self.action, None

    @property
    def limited_by(self) -> Sequence[Limit]:
        return self.limits


class Expectation(Record):
    """The rates expected of one run, and what they came from."""

    made_utc: str
    after_run: bool = Field(
        default=False,
        description="made from a platform description when the run was over, without its result",
    )
    calibration: dict[str, Any] = Field(
        default_factory=dict, description="empty if a platform description was given"
    )
    platform: dict[str, Any] = Field(
        default_factory=dict, description="the stages that the model used"
    )
    rates: list[ExpectedRate]
    metadata: list[ExpectedAction] = Field(
        default_factory=list, description="only for the workload metadata; empty otherwise"
    )

    @property
    def all(self) -> Sequence[Expected]:
        return [*self.rates, *self.metadata]


class RateVerdict(Judged):
    """One measured rate against its expectation."""

    model_config = stored_in("bytes/s")
    direction: Direction
    metric: Metric
    a_priori_ratio: NonNegative | None = Field(
        default=None,
        description="measured value divided by what the components allow; null: not known",
    )

    @property
    def key(self) -> Key:
        return self.direction, self.metric


class ActionVerdict(Judged):
    """One action against its expectation, and the share of its time that is software."""

    model_config = stored_in("1/s")
    action: str
    software_fraction: float | None = Field(
        description=(
            "share of the time of an operation that remains after one operation of the device "
            "alone; null if the figure of the device is not comparable"
        )
    )
    software: str = Field(
        description="source of the software's share, or the reason why it is unknown"
    )

    @property
    def key(self) -> Key:
        return self.action, None


class Verdict(Record):
    """The run against its expectation; ``overall`` is the worst of its rates and actions."""

    overall: VerdictWord
    rates: list[RateVerdict]
    metadata: list[ActionVerdict] = Field(
        default_factory=list, description="only for the workload metadata; empty otherwise"
    )

    @property
    def all(self) -> Sequence[Judged]:
        return [*self.rates, *self.metadata]
