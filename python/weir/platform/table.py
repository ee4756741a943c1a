"""Compares several machines in one table, with the columns of Borrill et al., table 2."""

from __future__ import annotations

from dataclasses import dataclass

from weir.platform.summary import units
from weir.results.expectations import Direction
from weir.results.platform import Edge, Platform, PlatformStage
from weir.results.quantities import significant

HEAD = (
    "machine",
    "file system",
    "processor",
    "interconnect",
    ">node max",
    ">measured",
    ">servers",
    ">disk max",
    ">TB",
)
NOTE = (
    "Rates are in GB/s, the capacity of the file system in TB, both in powers of 1000. node: what "
    "a node, or an I/O node that nodes share, sends towards storage; servers: I/O servers to "
    "clients; disk: what the narrowest part gives a job on the whole machine."
)
COMPUTE_KINDS = ("rank", "node")


@dataclass(frozen=True)
class MachineRow:
    """The figures of one machine in bytes and bytes per second; None if they are unknown."""

    name: str
    file_system: str
    processor: str
    interconnect: str
    node_most: float | None
    node_measured: float | None
    clients_per_server: float | None
    disk_most: float | None
    capacity: float | None

    def cells(self) -> list[str]:
        clients = self.clients_per_server
        return [
            self.name,
            self.file_system,
            self.processor,
            self.interconnect,
            _scaled(self.node_most, 1e9),
            _scaled(self.node_measured, 1e9),
            "" if clients is None else f"1:{clients:.0f}",
            _scaled(self.disk_most, 1e9),
            _scaled(self.capacity, 1e12),
        ]


def machine_row(platform: Platform) -> MachineRow:
    """Returns a machine's row, from its facts and stages and the peaks of its edges."""
    most, measured = _node_rates(platform)
    machine = platform.machine
    return MachineRow(
        platform.name,
        (machine and machine.file_system) or _known_file_systems(platform),
        (machine and machine.processor) or _known_processor(platform),
        machine.interconnect if machine else "",
        most,
        measured,
        _clients_per_server(platform),
        disk_most(platform),
        _capacity(platform),
    )


def disk_most(platform: Platform) -> float | None:
    """Returns the most that a job on the whole machine can move, in its faster direction.

    Of each stage it is the peak of all units, or without a peak their rate with very many users.
    """
    directions: tuple[Direction, ...] = ("read", "write")
    found = [
        min(totals)
        for direction in directions
        if (totals := [_total(platform, one) for one in _to_storage(platform, direction)])
    ]
    return max(found, default=None)


def _to_storage(platform: Platform, direction: Direction) -> list[PlatformStage]:
    through = ("durable" if direction == "write" else "dropped", "direct")
    return [
        stage
        for stage in platform.stages
        if stage.kind not in COMPUTE_KINDS
        and stage.direction in (None, direction)
        and any(route in stage.routes for route in through)
    ]


def _total(platform: Platform, stage: PlatformStage) -> float:
    if stage.different_units:
        return sum(unit.rate_bytes_per_second.value for unit in stage.different_units)
    edge = _edge_of(platform, stage)
    if edge is not None and edge.peak_bytes_per_second is not None:
        return edge.peak_bytes_per_second * units(platform, stage)
    crowd = stage.crowding.rate_bytes_per_second if stage.crowding else None
    return (crowd or stage.rate_bytes_per_second).value * units(platform, stage)


def _node_rates(platform: Platform) -> tuple[float | None, float | None]:
    """Returns what a node (or I/O node) can send at most, and what was measured."""
    clients = [one for one in platform.stages if one.kind == "I/O node"]
    clients = clients or [one for one in platform.stages if one.kind == "node link"]
    if not clients:
        return None, None
    rate = clients[-1].rate_bytes_per_second.value
    edge = _edge_of(platform, clients[-1])
    if edge is not None and edge.peak_bytes_per_second is not None:
        return edge.peak_bytes_per_second, rate
    stated = edge is not None and edge.origin in ("data sheet", "paper")
    return (rate, None) if stated else (None, rate)


def _edge_of(platform: Platform, stage: PlatformStage) -> Edge | None:
    return next((edge for edge in platform.edges if stage.name in edge.stages), None)


def _clients_per_server(platform: Platform) -> float | None:
    if platform.machine is not None and platform.machine.clients_per_server is not None:
        return platform.machine.clients_per_server
    for kind in ("I/O node", "server"):
        for stage in platform.stages:
            if stage.kind == kind:
                return stage.nodes_per_unit or platform.hosts / stage.units
    return None


def _known_file_systems(platform: Platform) -> str:
    return ", ".join(dict.fromkeys(target.file_system for target in platform.targets))


def _known_processor(platform: Platform) -> str:
    hardware = platform.topology.get("hardware")
    processor = hardware.get("processor") if isinstance(hardware, dict) else None
    model = processor.get("model") if isinstance(processor, dict) else None
    return model if isinstance(model, str) else ""


def _capacity(platform: Platform) -> float | None:
    if platform.machine is not None and platform.machine.capacity_bytes is not None:
        return platform.machine.capacity_bytes
    sizes = [target.layout.get("total_bytes") for target in platform.targets]
    known = [size for size in sizes if isinstance(size, int)]
    return float(sum(known)) if known else None


def _scaled(value: float | None, unit: float) -> str:
    return "" if value is None else significant(value / unit)
