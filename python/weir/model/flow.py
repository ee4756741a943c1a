"""Describes a workload to the path model: how many bytes, in which operations, to which units.

A flow is what one phase of a run does in one direction. It depends on no workload and no parameter
by name; ``weir.model.flow_of_plan`` makes flows from plans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from weir.results.expectations import Direction
from weir.results.platform import Route


@dataclass(frozen=True)
class Flow:
    """All ranks make ``operations`` operations of ``operation_bytes`` each, at the same time.

    ``ranks_by_host`` and ``ranks_by_target`` give the number of ranks that use each host and each
    directory; the latter is empty if it is unknown. ``durable_operations`` is the number of times
    that a rank makes its bytes durable; None means after every operation. ``footprint_bytes`` are
    the bytes that all ranks together touch, which a cache would have to hold; None means all bytes
    moved. With ``whole_files`` a rank's bytes stay on one unit instead of being distributed evenly
    over all. ``files`` is their number, if it is known; ``units_per_file`` is the number of units
    over which the run stripes each, None where the file system decides. ``targets`` is the number
    of targets on which the run puts all its files, None where the file system decides.
    ``in_flight`` operations of a rank are in progress at a time and share their fixed costs.
    ``network_fraction`` is the share of the bytes that changes hosts before it reaches a file
    (collective I/O).
    """

    direction: Direction
    route: Route
    operations: float
    operation_bytes: float
    ranks_by_host: Mapping[str, int]
    ranks_by_target: Mapping[str, int] = field(default_factory=dict)
    durable_operations: float | None = None
    footprint_bytes: float | None = None
    whole_files: bool = False
    files: int | None = None
    units_per_file: int | None = None
    targets: int | None = None
    in_flight: int = 1
    network_fraction: float = 0.0

    @cached_property
    def ranks(self) -> int:
        return sum(self.ranks_by_host.values())

    @property
    def total_bytes(self) -> float:
        return self.ranks * self.operations * self.operation_bytes

    @property
    def touched_bytes(self) -> float:
        return self.total_bytes if self.footprint_bytes is None else self.footprint_bytes


def flow_on_one_host(
    direction: Direction, route: Route, ranks: int, operations: float, operation_bytes: float
) -> Flow:
    """Returns the simplest flow, in which all ranks are on one host."""
    return Flow(direction, route, operations, operation_bytes, {"host0": ranks})
