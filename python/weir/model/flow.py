"""A workload as the path sees it: how many bytes, in which operations, through which units.

A flow is what one phase of a run does in one direction. It knows no workload and no parameter by
name; ``weir.model.flow_of_plan`` makes flows of plans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from weir.results.platform import Route
from weir.results.schema import Direction


@dataclass(frozen=True)
class Flow:
    """All ranks make ``operations`` operations of ``operation_bytes`` each, at the same time.

    ``ranks_by_host`` and ``ranks_by_target`` say how many ranks use each host and each directory;
    the latter is empty where nothing is known. ``durable_operations`` is how many times a rank
    makes its bytes durable, none: after every operation. ``footprint_bytes`` is what all ranks
    together touch, which a cache would have to hold; none: all that moves. ``whole_files``: a
    rank's bytes stay on one unit instead of being distributed evenly to all. ``in_flight``
    operations of a rank are under way at a time and pay their fixed costs together.
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
    in_flight: int = 1
    network_fraction: float = 0.0

    @property
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
    """The simplest flow: that many ranks of one host."""
    return Flow(direction, route, operations, operation_bytes, {"host0": ranks})
