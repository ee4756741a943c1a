"""Determines which units of a stage a flow uses, and how much of it goes through each.

    rank                    one unit per rank
    node, node link         one unit per host, used by the host's ranks
    I/O node                one unit per group of hosts, used by the group's ranks
    fabric                  one unit, used by all hosts (or by the I/O nodes in front of them)
    target                  by name, where the stage names its units and the flow its directories
    everything else         ``units`` units: distributed evenly, or whole files round-robin

Bytes of striped files are distributed evenly: each of the min(ranks, units) units in use gets the
same amount. Whole files are distributed round-robin, so a unit can have one file more than others
and then finishes last: with 21 files on 20 servers, one server has two.

A stage whose files are striped over ``units_per_file`` of its units is used as far as the flow has
files: a single file on 4 of 80 targets uses 4 of them, whatever the number of ranks. If the stripe
count is 1, whole files are distributed as above. A run that chooses its targets uses those of a
stage of kind target and no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from weir.model.flow import Flow
from weir.results.platform import PlatformStage, StageKind, Unit

STORAGE_KINDS: tuple[StageKind, ...] = ("server", "device link", "target", "device cache")
"""Kinds of stages behind the file system; they count durable operations instead of calls."""

OUTSIDE_HOST: tuple[StageKind, ...] = ("I/O node", "fabric", *STORAGE_KINDS)
"""Kinds of stages that a transfer passes after it has left the memory of its host."""


@dataclass(frozen=True)
class Load:
    """The load of one unit, or of each of several equal units.

    ``bytes`` are those of all its users together; ``operations`` are those of one user, each of
    ``operation_bytes``.
    """

    unit: Unit | None
    name: str | None
    users: float
    bytes: float
    operations: float
    operation_bytes: float
    touched_bytes: float
    in_flight: int


def loads_of(stage: PlatformStage, flow: Flow) -> list[Load]:
    """Returns the loads of a stage's units; units without load are left out.

    Raises ``ValueError`` if the flow uses a directory that the stage's units do not name.
    """
    if flow.ranks == 0:
        return []
    if stage.kind == "rank":
        return [_load(stage, flow, None, None, 1.0, 1 / flow.ranks)]
    if stage.kind in ("node", "node link"):
        return _loads_of_hosts(stage, flow)
    if stage.kind in ("I/O node", "fabric"):
        return _loads_of_groups(stage, flow)
    if stage.kind == "target" and stage.different_units and flow.ranks_by_target:
        return _loads_of_targets(stage, flow)
    return _loads_distributed(stage, flow)


def _loads_of_hosts(stage: PlatformStage, flow: Flow) -> list[Load]:
    named = {unit.name: unit for unit in stage.different_units}
    return [
        _load(stage, flow, named.get(host), host, ranks, ranks / flow.ranks)
        for host, ranks in flow.ranks_by_host.items()
        if ranks > 0
    ]


def _loads_of_groups(stage: PlatformStage, flow: Flow) -> list[Load]:
    """Returns the loads of I/O nodes, one for each number of ranks that a group has, or a fabric's.

    A group with fewer hosts than the others has a whole I/O node, too.
    """
    nodes = stage.nodes_per_unit or 1
    hosts = [ranks for ranks in flow.ranks_by_host.values() if ranks > 0]
    groups = [sum(hosts[first : first + nodes]) for first in range(0, len(hosts), nodes)]
    if stage.kind == "fabric":
        return [_load(stage, flow, None, None, len(groups), 1.0)]
    return [
        _load(stage, flow, None, None, ranks, ranks / flow.ranks) for ranks in sorted(set(groups))
    ]


def _loads_of_targets(stage: PlatformStage, flow: Flow) -> list[Load]:
    users: dict[str, int] = {}
    units = {unit.name: unit for unit in stage.different_units}
    for directory, ranks in flow.ranks_by_target.items():
        unit = unit_of_directory(stage, directory)
        if unit is None:
            raise ValueError(
                f"{stage.name} has no target for {directory}, only "
                f"{', '.join(unit.name for unit in stage.different_units)}"
            )
        users[unit.name] = users.get(unit.name, 0) + ranks
    total = sum(users.values())
    return [
        _load(stage, flow, units[name], name, ranks, ranks / total)
        for name, ranks in users.items()
        if ranks > 0
    ]


def unit_of_directory(stage: PlatformStage, directory: str) -> Unit | None:
    """Returns the unit with the longest directory name that equals the given one or is above it."""
    path = PurePosixPath(directory)
    above = [unit for unit in stage.different_units if path.is_relative_to(unit.name)]
    return max(above, key=lambda unit: len(unit.name), default=None)


def _loads_distributed(stage: PlatformStage, flow: Flow) -> list[Load]:
    different = stage.different_units
    count = len(different) or stage.units
    if stage.kind == "target" and flow.targets is not None:
        count = min(count, flow.targets)
    used = min(count, flow.ranks)
    striped = _striped_over(stage, flow)
    if striped is not None:
        used, users = min(count, striped), []
    elif flow.whole_files:
        more = flow.ranks % used
        users = [flow.ranks // used + (1 if place < more else 0) for place in range(used)]
    else:
        users = []
    if different:
        # The places of files are unknown: each unit may be among those in use.
        many = max(users) if users else flow.ranks / used
        return [_load(stage, flow, unit, unit.name, many, many / flow.ranks) for unit in different]
    if users:
        return [_load(stage, flow, None, None, n, n / flow.ranks) for n in sorted(set(users))]
    return [_load(stage, flow, None, None, flow.ranks / used, 1 / used)]


def _striped_over(stage: PlatformStage, flow: Flow) -> int | None:
    """Returns the number of stripes of all files, or None if files are not striped."""
    if stage.units_per_file is None or flow.files is None:
        return None
    per_file = flow.units_per_file or stage.units_per_file
    return None if per_file == 1 and flow.whole_files else per_file * flow.files


def _load(
    stage: PlatformStage,
    flow: Flow,
    unit: Unit | None,
    name: str | None,
    users: float,
    share: float,
) -> Load:
    crossing = flow.network_fraction if flow.route not in stage.routes else 1.0
    if stage.kind != "node link" or "network" not in stage.routes:
        crossing = 1.0
    moved = flow.operations * flow.operation_bytes
    operations = flow.operations
    if flow.route == "durable" and stage.kind in STORAGE_KINDS and flow.durable_operations:
        operations = min(operations, flow.durable_operations)
    return Load(
        unit,
        name,
        users,
        flow.total_bytes * share * crossing,
        operations,
        moved / operations * crossing if operations else 0.0,
        flow.touched_bytes * share,
        flow.in_flight,
    )
