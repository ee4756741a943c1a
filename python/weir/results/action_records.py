"""The part of ``run.json`` about the workload metadata: its actions, planned and measured."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from weir.results.record import Count, Latencies, NonNegative, Record, Spread
from weir.results.series import Series, Unit, stored_in

OperationMetric = Literal["barrier", "span", "slowest_rank", "sum_of_ranks"]
"""How a rate of operations over many ranks is formed.

``barrier``: operations over the longest time of any rank from the first barrier to the end of the
last, as in mdtest. ``span``: operations over the time from the first rank's start to the last
rank's end. ``sum_of_ranks``: the sum of the ranks' own rates. ``slowest_rank``: operations over the
longest time of any rank; only results of earlier versions have it. If ranks run one after another,
it is a rate that was never reached.
"""


class PlannedAction(Record):
    """What one phase of the workload metadata will do."""

    action: str
    operations: Count = Field(description="over all ranks, one repetition")


class ActionPhase(Record):
    """One action of the workload metadata in one repetition. Rates are operations per second."""

    action: str
    operations: Count
    barrier_per_second: NonNegative
    span_per_second: NonNegative | None = Field(
        default=None, description="latencies of the operations; null in results of earlier versions"
    )
    slowest_rank_per_second: NonNegative | None = Field(
        default=None, description="only in results of earlier versions"
    )
    sum_of_ranks_per_second: NonNegative
    elapsed_seconds: Spread = Field(
        description=(
            "time from the first barrier to the arrival at the last, without unmeasured parts"
        )
    )
    busy_seconds: Spread = Field(description="time in the operations")
    barrier_wait_seconds: Spread = Field(description="wait at the last barrier")
    server_calls: dict[str, Count] | None = Field(
        default=None,
        description=(
            "requests, by the protocol's names, of all nodes' clients of a network file system "
            "to its servers during the phase, for any program; null if the clients do not "
            "count them, and for the operations of a mix"
        ),
    )


class OperationRate(Series):
    """One rate of an action over the measured repetitions (warm-ups left out)."""

    unit: ClassVar[Unit] = "1/s"
    model_config = stored_in("1/s")
    metric: OperationMetric
    headline: bool


class NodeActions(Record):
    """One action on one node."""

    host: str
    operations: Count
    busy_seconds_max: NonNegative = Field(
        description="time in the operations of its slowest rank in any repetition"
    )
    median_per_second: NonNegative = Field(
        description=(
            "operations over the time from the start of its first rank to the end of its last; "
            "in results of earlier versions over its slowest rank's time in them, which may be "
            "a rate that was never reached"
        )
    )


class ActionResult(Record):
    """One action of the workload metadata over the measured repetitions."""

    action: str
    item: Literal["file", "directory", "entry", "item"] = Field(
        description=(
            "object of an operation; entry: of a directory that is read, whose latencies are "
            "those of whole directories; item: of a mix, a file or a directory"
        )
    )
    rates: list[OperationRate]
    latencies: Latencies
    nodes: list[NodeActions]
