"""``platforms/NAME.toml``: a machine's path as stages in series, each with units in parallel.

``weir platform probe`` writes one, and ``weir.model`` makes expectations from it. One can be
written by hand for a machine that does not exist yet. Rates are bytes per second of one unit; times
are seconds.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from weir.results.expectations import Direction
from weir.results.metadata_rates import MetadataRates
from weir.results.probe import Target
from weir.results.record import Count, NonNegative, Quantity, Record

StageKind = Literal[
    "rank",
    "node",
    "node link",
    "I/O node",
    "fabric",
    "server",
    "device link",
    "target",
    "device cache",
]
"""Place of a stage on the byte's path, in the order from the application to the device."""

Origin = Literal["data sheet", "probe", "fit", "paper", "discovered", "assumed"]
"""Where an edge's rate is from: ``data sheet`` is what a maker states, ``probe`` was measured by
Weir, ``fit`` was derived by Weir from results, ``paper`` was published by others, ``discovered`` is
what the system or its administrator says, ``assumed`` is nobody's figure, as of a machine that does
not exist."""

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
    nodes_per_unit: int | None = Field(
        default=None,
        ge=1,
        description=(
            "number of nodes that share an I/O node, so that a job uses more units the more nodes "
            "it has; for a fabric: its users are I/O nodes of so many nodes each"
        ),
    )
    units_per_file: int | None = Field(
        default=None,
        ge=1,
        description="units over which a file is striped unless a run says otherwise; none: all",
    )
    rate_bytes_per_second: Quantity = Field(description="rate of one unit with all its users")
    one_user_bytes_per_second: Quantity | None = Field(
        default=None,
        description=(
            "rate of a unit with one rank alone (for a fabric: one node or I/O node); none: the "
            "full rate of the unit"
        ),
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
    sharing: Literal["linear", "saturating", "contended"] = "saturating"
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

    @model_validator(mode="after")
    def _suits_its_kind(self) -> Self:
        if self.kind == "I/O node" and self.nodes_per_unit is None:
            raise ValueError("an I/O node serves a group of nodes: give nodes_per_unit")
        if self.nodes_per_unit is not None and self.kind not in ("I/O node", "fabric"):
            raise ValueError(
                f"nodes_per_unit is for the kinds I/O node and fabric, not for {self.kind}: "
                "leave it out"
            )
        if self.kind == "fabric" and (self.one_user_bytes_per_second is None or self.units != 1):
            raise ValueError(
                "a fabric is one unit that all nodes share: give units = 1 and "
                "one_user_bytes_per_second, the rate of one node"
            )
        if self.kind == "fabric" and self.sharing == "linear":
            raise ValueError(
                "a fabric carries less than its nodes together: give sharing saturating (a "
                "switch) or contended (a torus)"
            )
        if self.sharing == "contended" and self.one_user_bytes_per_second is None:
            raise ValueError("contended sharing starts at one user: give one_user_bytes_per_second")
        return self


MOST_EDGES = 256
"""Edges of a description; a drawing has a level for each of them that follows another."""


class EdgeOperation(Record):
    """Cost of operations on one connection, which does its users' operations in turn.

    Weir sim lets this time and that of the bytes on the connection pass side by side; the path
    model's ``turn_seconds`` adds the two.
    """

    seconds: Quantity = Field(description="time of one operation besides its bytes")
    copy_bytes_per_second: Quantity | None = Field(
        default=None, description="rate at which its bytes are copied; none: no time"
    )
    at_once: int | None = Field(
        default=None, ge=1, description="operations under way behind the connection; none: any"
    )
    how: str = Field(description="source of the figures")


LEAF_SWITCH, SWITCH_ABOVE = "leaf switch", "switch above"
"""Ends of the edge with the rate of a link of ``network_shape``, if it was discovered."""


class Edge(Record):
    """A connection of two parts of the machine, with its rate and where that is from.

    The rate stands once. If stages of the path model are about this connection, the edge names
    them, and their units, rates and sources are the edge's; otherwise it has its own.
    """

    from_: str = Field(alias="from", description="part that is nearer to the application")
    to: str
    stages: list[str] = Field(default_factory=list, description="stages with the edge's rate")
    units: int | None = Field(default=None, ge=1, description="connections in parallel")
    rate_bytes_per_second: Quantity | None = Field(
        default=None, description="of one connection; none: not known"
    )
    peak_bytes_per_second: NonNegative | None = Field(
        default=None,
        description="of one connection at most, by its maker, if stages have what is sustained",
    )
    nodes_per_unit: int | None = Field(
        default=None,
        ge=1,
        description="number of nodes that share one connection, if no stage says so",
    )
    operation: EdgeOperation | None = Field(
        default=None, description="cost of operations, for weir sim"
    )
    origin: Origin = Field(description="where the rate is from; without a rate: the connection")
    source: str = Field(default="", description="document and place; of stages: their `how`")

    @property
    def name(self) -> str:
        return f"{self.from_} -> {self.to}"

    @model_validator(mode="after")
    def _has_one_rate(self) -> Self:
        if self.stages and (self.units is not None or self.rate_bytes_per_second is not None):
            raise ValueError(
                f"edge {self.name} has the units and the rate of its stages: leave out units and "
                "rate_bytes_per_second, or stages"
            )
        if self.stages and self.nodes_per_unit is not None:
            raise ValueError(
                f"edge {self.name} has the nodes_per_unit of its stages: leave it out, or stages"
            )
        if not self.stages and not self.source:
            raise ValueError(f"edge {self.name} does not say where it is from: give source")
        return self


class SimulatedRoute(Record):
    """A way out of the compute nodes that ``weir sim`` simulates."""

    to: Literal["io-nodes", "stagers", "storage"]
    edges: list[str] = Field(min_length=1, description="names of edges, in the order of a write")
    beside_network: bool = Field(
        default=False, description="whether this way passes no link of the network between nodes"
    )
    how: str = ""


class GlobalExchange(Record):
    """How MPI-IO of the machine gathers: over all I/O groups, after agreeing on offsets."""

    aggregators_on_first_nodes: int = Field(ge=1, description="of each I/O group")
    seconds: NonNegative = Field(description="time of the agreement of ``at_ranks`` ranks")
    at_ranks: int = Field(ge=1)
    power: NonNegative = Field(description="the time is proportional to this power of the ranks")
    how: str

    def seconds_of(self, ranks: int) -> float:
        """Returns the time of the agreement of so many ranks."""
        return float(self.seconds * (ranks / self.at_ranks) ** self.power)


class RequestCalls(Record):
    """What a collective request takes besides its bytes and messages, by one strategy."""

    strategy: str = Field(description="of weir sim")
    ranks: int = Field(ge=1, description="of the job; other numbers of ranks need other entries")
    seconds: NonNegative
    how: str = Field(description="source of the time")


class CachedCopies(Record):
    """The rate of copies in a node's memory of messages that caches hold."""

    up_to_bytes: int = Field(ge=1, description="of a rank in a request")
    rate_bytes_per_second: Quantity = Field(description="of all ranks of a node together")
    one_user_bytes_per_second: Quantity = Field(description="the most that a rank copies")
    how: str = Field(description="source of the rates")


class Simulation(Record):
    """What ``weir sim`` needs besides stages and edges."""

    messages: str | None = Field(
        default=None, description="name of the edge by which messages enter a node"
    )
    message_seconds: NonNegative = Field(default=0, description="of one message besides its bytes")
    message_how: str = ""
    network_links: str | None = Field(
        default=None,
        description=(
            "name of the edge with the rate of a link between switches, or between neighbours in a "
            "torus; network_shape says which links there are, or the network that is asked for, "
            "where each job has one of its own. Servers and stagers are nodes of that network, "
            "after the hosts, unless the route to them says beside_network"
        ),
    )
    copies: str | None = Field(
        default=None,
        description=(
            "name of the stage with the rate of copies in the memory of a node: of all its ranks, "
            "and of one user, which is the most that a rank copies; none: they take no time"
        ),
    )
    cached_copies: list[CachedCopies] = Field(
        default_factory=list, description="copies of fewer bytes, in ascending order of these"
    )
    calls: list[RequestCalls] = Field(
        default_factory=list,
        description="times of requests besides bytes and messages; none of a job: no time",
    )
    routes: list[SimulatedRoute] = Field(min_length=1)
    global_exchange: GlobalExchange | None = None


class Machine(Record):
    """Facts about the whole machine for tables of several, where edges do not have them."""

    file_system: str = ""
    processor: str = ""
    interconnect: str = Field(default="", description="between compute nodes and I/O")
    clients_per_server: NonNegative | None = Field(
        default=None,
        description="as published; none: hosts over I/O nodes or servers",
    )
    capacity_bytes: Count | None = Field(default=None, description="of the file system")
    source: str = Field(default="", description="documents of the whole description")
    remarks: list[str] = Field(
        default_factory=list, description="what a reader of the figures should know"
    )


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


class Operation(Record):
    """What a file of a program's output, or a message, takes beside its bytes, by one way."""

    api: str
    staging: str = "none"
    aggregators: int = 0
    blocked_seconds: Quantity = Field(description="for which its ranks are blocked")
    stored_seconds: Quantity = Field(description="until it is durable, from its beginning")
    link_bytes_per_second: Quantity | None = Field(
        default=None, description="of all ranks together over TCP to its stagers, if measured"
    )


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
        description=(
            "consecutive nodes that share a way to the storage; a user or discover adds it"
        ),
    )
    network_shape: str | None = Field(
        default=None,
        pattern=(
            r"^((torus:|mesh:)?[0-9]+(x[0-9]+){0,5}(@[0-9]+(\.[0-9]+)*(,[0-9]+(\.[0-9]+)*)*)?"
            r"|switches:[0-9]+|fat-tree:[0-9]+x[0-9]+|dragonfly:[0-9]+(x[0-9]+){3})$"
        ),
        description=(
            "network between the nodes: a torus such as 8x8x16, mesh:8x8, switches:16 for 16 "
            "nodes on each switch, fat-tree:16x8 with 8 switches above these, or "
            "dragonfly:4x8x2x9 (nodes of a switch, switches of a group, links of a switch to "
            "other groups, groups); a user adds it"
        ),
    )
    targets: list[Target] = Field(
        default_factory=list, description="directories that were probed; empty: any directory"
    )
    memory_available_bytes: Count | None = None
    stages: list[PlatformStage]
    machine: Machine | None = None
    edges: list[Edge] = Field(
        default_factory=list,
        max_length=MOST_EDGES,
        description="wiring, from the nodes to the devices",
    )
    simulation: Simulation | None = Field(default=None, description="for weir sim")
    latencies_seconds: dict[str, Quantity] = Field(
        default_factory=dict,
        description=(
            "times of call, fsync, barrier and message; shared_write: of a host whose ranks "
            "write one file; shared_write_alone: of a host on which one rank does; run_copy: "
            "of a short run besides its bytes; first_read: of the first read of a file from "
            "storage beyond the mean of all; later_read: of that mean beyond later reads"
        ),
    )
    metadata: list[MetadataRates] = Field(
        default_factory=list, description="operations on names, for each target"
    )
    operations: list[Operation] = Field(
        default_factory=list,
        description="files of a program's output, or messages, with as few bytes as possible",
    )
    busy_work_operations_per_second: Quantity | None = None
    fits: list[Fit] = Field(default_factory=list)

    @model_validator(mode="after")
    def _is_connected(self) -> Self:
        named = Counter(stage.name for stage in self.stages)
        for place, stage in enumerate(self.stages):
            reach = stage.units * (stage.nodes_per_unit or 0)
            if stage.kind == "I/O node" and reach < self.hosts:
                raise ValueError(
                    f"stages[{place}]: {stage.units} I/O nodes of {stage.nodes_per_unit} nodes "
                    f"each serve {reach} hosts, but the machine has {self.hosts}: give more units "
                    "or nodes_per_unit"
                )
        self._check_routes()
        for place, edge in enumerate(self.edges):
            for name in edge.stages:
                if named[name] != 1:
                    found = "there is none" if not named[name] else "several have that name"
                    raise ValueError(
                        f"edges[{place}]: edge {edge.name} names stage {name}, but {found}: give "
                        f"one of {', '.join(sorted(named))}"
                    )
        return self

    def rate_of(self, name: str) -> float:
        """Returns the rate of the edge of this name: its own, or its first stage's.

        0: there is no such edge, or its rate is not known.
        """
        edge = next((edge for edge in self.edges if edge.name == name), None)
        if edge is None:
            return 0.0
        if edge.rate_bytes_per_second is not None:
            return edge.rate_bytes_per_second.value
        stages = (stage for stage in self.stages if stage.name in edge.stages[:1])
        return next((stage.rate_bytes_per_second.value for stage in stages), 0.0)

    def _check_routes(self) -> None:
        """Raises ValueError if the simulation names an edge or a stage that is not there."""
        if self.simulation is None:
            return
        known = {edge.name for edge in self.edges}
        asked = [name for route in self.simulation.routes for name in route.edges]
        links = (self.simulation.messages, self.simulation.network_links)
        asked += [one for one in links if one is not None]
        copies = self.simulation.copies
        bounds = [one.up_to_bytes for one in self.simulation.cached_copies]
        if bounds != sorted(set(bounds)) or (bounds and copies is None):
            raise ValueError(
                "cached_copies of the simulation are of ever more bytes, and copies names the "
                "stage of those of still more: order them, and give copies"
            )
        if copies is not None and all(
            (stage.name, stage.kind) != (copies, "node") for stage in self.stages
        ):
            raise ValueError(
                f"simulation has the copies of stage {copies}, but no stage of kind node has that "
                "name: give the one of copies in memory, or leave it out"
            )
        for name in asked:
            if name not in known:
                raise ValueError(
                    f"simulation names the edge {name}, but there is none: write "
                    "'FROM -> TO' as in edges"
                )
