"""``platforms/NAME.toml``: a machine's path as stages in series, each with units in parallel.

``weir platform probe`` writes one, and ``weir.model`` makes expectations from it. One can be
written by hand for a machine that does not exist yet. Rates are bytes per second of one unit; times
are seconds.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from weir.results.expectations import Direction
from weir.results.metadata_rates import MetadataRates
from weir.results.probe import Target
from weir.results.record import Count, NonNegative, Quantity, Record

StageKind = Literal["rank", "node", "node link", "server", "device link", "target", "device cache"]
"""Place of a stage on the byte's path, in the order from the application to the device."""

Route = Literal["memory", "cached", "durable", "dropped", "direct", "network"]
"""Transfers that pass a stage: ``cached`` ends in (or comes from) the page cache, ``durable`` are
writes with a sync, ``dropped`` are reads of pages that are not resident, ``direct`` is O_DIRECT,
``network`` are bytes that change hosts, ``memory`` is every copy between buffers."""


class Cache(Record):
    """A cache in front of a stage: up to about ``bytes`` are taken at ``rate`` instead."""

    bytes: Count
    rate_bytes_per_second: Quantity
    width_bytes: NonNegative = Field(
        default=0,
        description="width of the transition (Uselton, equation 2); 0 is a step (equation 1)",
    )


class Crowding(Record):
    """A unit with many users is slower: their requests no longer stream (Uselton, equation 4)."""

    users: NonNegative = Field(
        description="bytes of one unit at which the time has fallen by half of the whole fall"
    )
    width_users: NonNegative = Field(default=0, description="width of the transition; 0 is a step")
    rate_bytes_per_second: Quantity = Field(description="rate of one unit with very many users")


class Unit(Record):
    """One of a stage's units where they differ, such as one target of four."""

    name: str
    rate_bytes_per_second: Quantity
    one_user_bytes_per_second: Quantity | None = None
    fixed_seconds: Quantity = Quantity(value=0, low=0, high=0)
    turn_seconds: Quantity | None = None


class PlatformStage(Record):
    """One component of the path."""

    name: str
    kind: StageKind
    direction: Direction | None = Field(default=None, description="no direction: both directions")
    routes: list[Route]
    units: int = Field(
        ge=1,
        description="number of parallel units; for the kinds rank and node: per rank or per host",
    )
    rate_bytes_per_second: Quantity = Field(description="rate of one unit with all its users")
    one_user_bytes_per_second: Quantity | None = Field(
        default=None,
        description="rate of a unit with one rank alone; none: the full rate of the unit",
    )
    fixed_seconds: Quantity = Field(
        default=Quantity(value=0, low=0, high=0),
        description="time of one operation of one rank, besides its bytes",
    )
    turn_seconds: Quantity | None = Field(
        default=None,
        description=(
            "time of one operation of one unit, which does its users' operations in turn: 1 "
            "over its operations per second"
        ),
    )
    sharing: Literal["linear", "saturating"] = "saturating"
    cache: Cache | None = Field(
        default=None, description="rates by number of bytes that the whole flow touches"
    )
    small_operations: Cache | None = Field(
        default=None,
        description=(
            "rates by bytes of one operation: each rate holds up to about its number of bytes"
        ),
    )
    crowding: Crowding | None = None
    different_units: list[Unit] = Field(
        default_factory=list,
        description=(
            "units, if they differ: a target by its directory, a node or its link by the host"
        ),
    )
    how: str = Field(default="", description="source of the figures")
    interval_how: str = Field(default="", description="how low and high were derived")


class Fit(Record):
    """How well the stages describe what was measured."""

    stage: str
    form: str = Field(description="the form that cross-validation selected")
    rejected_forms: dict[str, float] = Field(
        default_factory=dict, description="other forms with their held-out median relative error"
    )
    samples: int
    held_out_median_error: NonNegative
    held_out_p90_error: NonNegative
    fits: bool
    text: str


class Platform(Record):
    """The whole description."""

    format: Literal["weir-platform"]
    format_version: Literal[1]
    name: str
    measured_utc: str | None = None
    seconds: NonNegative | None = None
    conditions: dict[str, Any] = Field(default_factory=dict)
    topology: dict[str, Any] = Field(default_factory=dict)
    hosts: int = Field(ge=1)
    ranks_per_host: int = Field(ge=1)
    ranks: int | None = Field(
        default=None,
        description=(
            "number of ranks for which the figures hold, if they hold for that number only"
        ),
    )
    nodes_per_io_group: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        description="consecutive nodes that share a way to the storage; a user adds it",
    )
    targets: list[Target] = Field(
        default_factory=list, description="directories that were probed; empty: any directory"
    )
    memory_available_bytes: Count | None = None
    stages: list[PlatformStage]
    latencies_seconds: dict[str, Quantity] = Field(
        default_factory=dict,
        description=(
            "times of call, fsync, barrier and message; shared_write: of a host whose ranks "
            "write one file; shared_write_alone: of a host on which one rank does; run_copy: "
            "of a short run besides its bytes"
        ),
    )
    metadata: list[MetadataRates] = Field(
        default_factory=list, description="operations on names, for each target"
    )
    busy_work_operations_per_second: Quantity | None = None
    fits: list[Fit] = Field(default_factory=list)
