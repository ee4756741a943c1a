"""Prepares a platform description for drawing, in the order of a byte's path."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

from weir.results.expectations import Direction
from weir.results.metadata_rates import MetadataRates
from weir.results.platform import Fit, Platform, PlatformStage, Route, StageKind
from weir.results.quantities import significant
from weir.results.record import Quantity

ORDER: tuple[StageKind, ...] = get_args(StageKind)
MEBIBYTE = 2**20
LARGE = 16 * MEBIBYTE
SMALL = 4096


@dataclass(frozen=True)
class Row:
    """A stage, or one of its units if they differ."""

    name: str
    kind: StageKind
    direction: Direction | None
    units: int
    rate: Quantity
    fixed: Quantity
    is_unit: bool = False

    @property
    def total(self) -> float:
        """Bytes per second of all units together."""
        return self.rate.value * self.units


def rows(platform: Platform) -> list[Row]:
    """Returns the stages from the application to the device, each followed by units that differ."""
    made: list[Row] = []
    for stage in sorted(platform.stages, key=lambda one: ORDER.index(one.kind)):
        made.append(
            Row(
                stage.name,
                stage.kind,
                stage.direction,
                units(platform, stage),
                stage.rate_bytes_per_second,
                stage.fixed_seconds,
            )
        )
        made += [
            Row(
                unit.name,
                stage.kind,
                stage.direction,
                1,
                unit.rate_bytes_per_second,
                unit.fixed_seconds,
                is_unit=True,
            )
            for unit in stage.different_units
        ]
    return made


def units(platform: Platform, stage: PlatformStage) -> int:
    """Returns the number of units in the platform: rank and node stages count per rank and host."""
    if stage.kind == "rank":
        return stage.units * platform.hosts * platform.ranks_per_host
    if stage.kind in ("node", "node link"):
        return stage.units * (platform.hosts if stage.kind == "node" else 1)
    return stage.units


@dataclass(frozen=True)
class Limit:
    """The stage that limits a transfer of all ranks with operations of one size."""

    what: str
    operation_bytes: int
    stage: str
    bytes_per_second: float


def limits(platform: Platform) -> list[Limit]:
    """Returns the limits of large and 4 KiB writes (durable) and reads (storage) by all ranks."""
    wanted: list[tuple[str, Direction, tuple[Route, ...]]] = [
        ("write", "write", ("durable", "direct")),
        ("read", "read", ("dropped", "direct")),
    ]
    found: list[Limit] = []
    for what, direction, routes in wanted:
        for size in (LARGE, SMALL):
            limit = limit_of(platform, what, direction, routes, size)
            if limit is not None:
                found.append(limit)
    return found


def limit_of(
    platform: Platform, what: str, direction: Direction, routes: tuple[Route, ...], size: int
) -> Limit | None:
    """Returns the slowest stage on the first of the routes that the platform knows."""
    for route in routes:
        passed = [
            one
            for one in platform.stages
            if route in one.routes and one.direction in (None, direction)
        ]
        if not any(one.kind in ("target", "device cache", "server") for one in passed):
            continue
        slowest = min(passed, key=lambda one: rate_at(platform, one, size))
        return Limit(what, size, slowest.name, rate_at(platform, slowest, size))
    return None


def rate_at(platform: Platform, stage: PlatformStage, size: int) -> float:
    """Estimates the bytes per second of all ranks through the stage, with fixed costs included.

    The estimate is for drawings: every rank has one operation in progress at a time. The path model
    (``weir.model``) uses everything that it knows.
    """
    ranks = platform.hosts * platform.ranks_per_host
    turn = stage.turn_seconds.value if stage.turn_seconds else 0.0
    in_turn = turn * ranks / (len(stage.different_units) or units(platform, stage))
    if stage.different_units:
        total = sum(one.rate_bytes_per_second.value for one in stage.different_units)
    else:
        total = stage.rate_bytes_per_second.value * units(platform, stage)
    if total <= 0:
        return math.inf
    return size * ranks / (size * ranks / total + stage.fixed_seconds.value + in_turn)


def device_texts(target: MetadataRates) -> list[str]:
    """Returns what the device does without the file system, as far as it is known."""
    known = {"reads": target.device_reads_per_second, "writes": target.device_writes_per_second}
    told = [
        f"{significant(rate.value)} {what} for {clients} client{'s' if clients > 1 else ''}"
        for what, rates in known.items()
        for clients, rate in rates.items()
    ]
    how = f": {target.device_how}" if target.device_how else ""
    return [f"the device itself, per second: {', '.join(told)}{how}"] if told else []


def fit_of(platform: Platform, row: Row) -> Fit | None:
    """Returns how well a stage, or a unit of it, was fitted."""
    return next((one for one in platform.fits if one.stage == row.name), None)
