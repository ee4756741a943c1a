"""Turns a platform description and a job into what weir-sim reads.

Parts of the way come from the edges that the platform's simulation names; their units and rates
stand with the edges or with the stages that these name. docs/simulation.md describes the document.
"""

from __future__ import annotations

from typing import Any

from weir.bench.errors import USAGE, BenchError
from weir.results.platform import (
    Edge,
    Platform,
    PlatformStage,
    SimulatedRoute,
    Simulation,
)
from weir.sim.job import DEFAULT_BUFFER, Asked, Slow
from weir.sim.probed import with_simulation

USERS = {
    "node": "node",
    "node link": "node",
    "I/O node": "group",
    "fabric": "group",
    "server": "stripe",
    "device link": "stripe",
    "target": "stripe",
}
"""Who shares one unit of a stage, by its kind; other kinds are not on a simulated way."""


def describe(platform: Platform, asked: Asked) -> dict[str, Any]:
    """Returns the document for one simulation; raises ``BenchError``."""
    direction = "read" if asked.read else "write"
    platform = with_simulation(platform, direction)
    simulation = _simulation(platform)
    nodes = _nodes(platform, asked)
    route = _route(platform, simulation, asked)
    edges = {edge.name: edge for edge in platform.edges}
    stages = {stage.name: stage for stage in platform.stages}
    parts: list[dict[str, Any]] = []
    groups: set[int] = set()
    fabrics: list[float] = []
    for name in route.edges:
        edge = edges[name]
        for part, nodes_each in _parts(platform, edge, stages, direction, fabrics, asked):
            parts.append(part)
            groups |= {nodes_each} if nodes_each else set()
    _limit_by_fabrics(parts, fabrics)
    messages = _messages(platform, simulation)
    network = _network(platform, simulation, route, asked)
    for slow in asked.slow:
        _make_slow(slow, platform, parts, messages, network.get("network"))
    if groups and asked.io_groups is not None:
        raise BenchError(
            f"--io-groups {asked.io_groups}: on {platform.name} parts of the way to {route.to} "
            f"serve {', '.join(map(str, sorted(groups)))} nodes each, and these are the groups",
            USAGE,
        )
    if len(groups) > 1:
        raise BenchError(
            f"platform {platform.name}: parts of the way to {route.to} serve {sorted(groups)} "
            "nodes; weir sim needs one size of I/O groups",
            USAGE,
        )
    return {
        "nodes": nodes,
        "ranks_per_node": platform.ranks_per_host,
        "nodes_per_group": groups.pop() if groups else _nodes_per_group(platform, asked),
        "parts": parts,
        "messages": messages,
        **network,
        **_copies(simulation, stages, asked),
        **_exchange(platform, simulation, asked),
        "array": _array(asked),
        "read": asked.read,
        "strategy": asked.way.planned_as,
        "placement": asked.placement,
        "aggregators": _aggregators(simulation, asked),
        "buffer_bytes": asked.buffer or (0 if asked.way.whole_share else DEFAULT_BUFFER),
        "ahead": asked.way.ahead,
        "meeting": asked.meeting or asked.way.everywhere,
        "steps": asked.steps,
        "stripe_bytes": asked.stripe if route.to == "storage" else 0,
        "lock_bytes": asked.stripe if route.to == "storage" else 0,
        **_workload(asked),
    }


def _simulation(platform: Platform) -> Simulation:
    if platform.simulation is None:
        raise BenchError(
            f"platform {platform.name} has neither a table [simulation] nor stages of storage that "
            "weir platform probe has measured: docs/simulation.md says what weir sim needs",
            USAGE,
        )
    return platform.simulation


def _nodes(platform: Platform, asked: Asked) -> int:
    each = platform.ranks_per_host
    if asked.ranks % each:
        raise BenchError(
            f"--ranks {asked.ranks}: give a multiple of {each}, the ranks of a node of "
            f"{platform.name}",
            USAGE,
        )
    nodes = asked.ranks // each
    if nodes > platform.hosts:
        raise BenchError(
            f"--ranks {asked.ranks}: {platform.name} has {platform.hosts} nodes of {each} ranks, "
            f"which is {platform.hosts * each}",
            USAGE,
        )
    return nodes


def _nodes_per_group(platform: Platform, asked: Asked) -> int:
    return platform.nodes_per_io_group or 0 if asked.io_groups is None else asked.io_groups


def _route(platform: Platform, simulation: Simulation, asked: Asked) -> SimulatedRoute:
    known = {route.to: route for route in simulation.routes}
    if asked.destination is None:
        return simulation.routes[0]
    if asked.destination not in known:
        raise BenchError(
            f"--to {asked.destination}: platform {platform.name} has {', '.join(known)}", USAGE
        )
    return known[asked.destination]


def _parts(
    platform: Platform,
    edge: Edge,
    stages: dict[str, PlatformStage],
    direction: str,
    fabrics: list[float],
    asked: Asked,
) -> list[tuple[dict[str, Any], int | None]]:
    """Returns the parts that an edge stands for, each with its nodes per unit."""
    named = [stages[name] for name in edge.stages]
    named = [one for one in named if one.direction in (None, direction)]
    made = [_of_stage(platform, stage, fabrics) for stage in named]
    if not named:
        made = [_own(edge, asked)]
    if edge.operation is not None:
        part = made[0][0]
        part["operation_seconds"] = edge.operation.seconds.value
        copy = edge.operation.copy_bytes_per_second
        part["copy_bytes_per_second"] = copy.value if copy is not None else 0
        part["operations_at_once"] = edge.operation.at_once or 0
    return made


def _of_stage(
    platform: Platform, stage: PlatformStage, fabrics: list[float]
) -> tuple[dict[str, Any], int | None]:
    if stage.kind not in USERS:
        raise BenchError(
            f"platform {platform.name}: stage {stage.name} is a {stage.kind}, which weir sim does "
            "not simulate",
            USAGE,
        )
    rate, units = stage.rate_bytes_per_second.value, stage.units
    if stage.kind == "fabric":
        # What all share becomes a limit of each unit behind it; what is left is a user's own link.
        fabrics.append(rate)
        one = stage.one_user_bytes_per_second
        rate = one.value if one is not None else rate
        units = max(1, platform.hosts // (stage.nodes_per_unit or 1))
    if stage.kind in ("node", "node link"):
        units = platform.hosts
    part = {
        "name": stage.name,
        "users": USERS[stage.kind],
        "units": units,
        "bytes_per_second": rate,
    }
    return part, stage.nodes_per_unit


def _own(edge: Edge, asked: Asked) -> tuple[dict[str, Any], int | None]:
    """Returns the part of an edge without stages: of I/O groups, or assigned to clients in turn."""
    if edge.rate_bytes_per_second is None:
        raise BenchError(
            f"edge {edge.name} has no rate: weir sim cannot tell how fast it is", USAGE
        )
    units = edge.units or 1
    users = "group" if edge.nodes_per_unit is not None else "client"
    if users == "client" and asked.stagers:
        if asked.stagers > units:
            raise BenchError(f"--stagers {asked.stagers}: there are {units} ({edge.to})", USAGE)
        units = asked.stagers
    part = {
        "name": edge.to,
        "users": users,
        "units": units,
        "bytes_per_second": edge.rate_bytes_per_second.value,
    }
    return part, edge.nodes_per_unit


def _limit_by_fabrics(parts: list[dict[str, Any]], fabrics: list[float]) -> None:
    ends = [part for part in parts if part["users"] in ("client", "stripe")]
    for part in ends:
        for rate in fabrics:
            part["bytes_per_second"] = min(part["bytes_per_second"], rate / part["units"])


def _messages(platform: Platform, simulation: Simulation) -> dict[str, Any]:
    if simulation.messages is None:
        return {"bytes_per_second": 0.0, "seconds_each": 0.0}
    return {
        "bytes_per_second": platform.rate_of(simulation.messages),
        "seconds_each": simulation.message_seconds,
    }


def _network(
    platform: Platform, simulation: Simulation, route: SimulatedRoute, asked: Asked
) -> dict[str, Any]:
    if simulation.network_links is None:
        if asked.network:
            raise BenchError(
                f"--network {asked.network}: platform {platform.name} has no rate for links "
                "between switches, which is network_links in [simulation]",
                USAGE,
            )
        return {}
    shape = asked.network or platform.network_shape
    if shape is None:
        return {}
    return {
        "network": {
            "shape": shape,
            "bytes_per_second": platform.rate_of(simulation.network_links),
            **({} if route.beside_network else {"first_end": platform.hosts}),
        }
    }


def _make_slow(
    slow: Slow,
    platform: Platform,
    parts: list[dict[str, Any]],
    messages: dict[str, Any],
    network: dict[str, Any] | None,
) -> None:
    """Adds a slow unit to what the description says of its part; raises ``BenchError``."""
    if slow.part == "link":
        if network is None:
            known = platform.simulation is not None and platform.simulation.network_links
            raise BenchError(
                f"--slow link={slow.unit}: platform {platform.name} "
                + (
                    "has no network of one shape: give that of the job with --network"
                    if known
                    else "has no network between nodes, which is network_links in [simulation]"
                ),
                USAGE,
            )
        network.setdefault("slow", []).append({"link": slow.unit, "share": slow.share})
        return
    striped = [part for part in parts if part["users"] == "stripe"]
    meant = {
        "target": striped[-1:],
        "server": striped[:1] if len(striped) > 1 else [],
        "stager": [part for part in parts if part["users"] == "client"],
        "node": [*(part for part in parts if part["users"] == "node"), messages],
    }.get(slow.part, [part for part in parts if part["name"] == slow.part])
    if not meant:
        names = ", ".join(part["name"] for part in parts)
        raise BenchError(
            f"--slow {slow.part}={slow.unit}: there is no {slow.part} on the way; give node, "
            f"target, server, stager, link, or one of: {names}",
            USAGE,
        )
    if not slow.unit.isdecimal():
        raise BenchError(
            f"--slow {slow.part}={slow.unit}: give the number of a unit, from 0", USAGE
        )
    for part in meant:
        part.setdefault("slow", []).append({"unit": int(slow.unit), "share": slow.share})


def _copies(
    simulation: Simulation, stages: dict[str, PlatformStage], asked: Asked
) -> dict[str, Any]:
    """Returns the rates of copies in memory by bytes, where the library's plan makes them."""
    if simulation.copies is None or asked.way.everywhere or asked.level != "plan":
        return {}
    stage = stages[simulation.copies]
    one = stage.one_user_bytes_per_second or stage.rate_bytes_per_second
    cached = [
        {
            "up_to_bytes": some.up_to_bytes,
            "bytes_per_second": some.rate_bytes_per_second.value,
            "one_rank_bytes_per_second": some.one_user_bytes_per_second.value,
        }
        for some in simulation.cached_copies
    ]
    large = {
        "bytes_per_second": stage.rate_bytes_per_second.value,
        "one_rank_bytes_per_second": one.value,
    }
    return {"copies": [*cached, large]}


def _exchange(platform: Platform, simulation: Simulation, asked: Asked) -> dict[str, Any]:
    if not asked.way.everywhere:
        return _calls(simulation, asked)
    exchange = simulation.global_exchange
    if exchange is None:
        raise BenchError(
            f"--strategy {asked.strategy}: platform {platform.name} does not describe its MPI-IO, "
            "in [simulation.global_exchange]",
            USAGE,
        )
    return {
        "exchange": {
            "aggregators_on_first_nodes": exchange.aggregators_on_first_nodes,
            "seconds": exchange.seconds_of(asked.ranks),
        }
    }


def _calls(simulation: Simulation, asked: Asked) -> dict[str, Any]:
    """Returns the time of a request's calls. The library that is simulated makes its own."""
    if asked.level != "plan":
        return {}
    for one in simulation.calls:
        if (one.strategy, one.ranks) == (asked.strategy, asked.ranks):
            return {"exchange": {"aggregators_on_first_nodes": 0, "seconds": one.seconds}}
    return {}


def _array(asked: Asked) -> dict[str, str]:
    if asked.workload == "messages":
        # Every rank has so many bytes of its own, one rank's behind the other's.
        shape = str(asked.ranks * asked.bytes)
        return {"shape": shape, "type": "uint8", "distribution": "BLOCK", "grid": ""}
    if asked.workload == "sink":
        shape = f"{asked.ranks}x{asked.bytes}"
        return {"shape": shape, "type": "uint8", "distribution": "BLOCK,*", "grid": ""}
    return {
        "shape": asked.shape,
        "type": asked.type,
        "distribution": asked.distribution,
        "grid": asked.grid,
    }


def _workload(asked: Asked) -> dict[str, Any]:
    """Returns what moves the bytes, unless it is the library alone."""
    if not asked.runs_bench:
        return {}
    return {"workload": asked.workload, "posix_calls": asked.strategy == "posix"}


def _aggregators(simulation: Simulation, asked: Asked) -> int:
    if asked.aggregators:
        return asked.aggregators
    if asked.way.everywhere and simulation.global_exchange is not None:
        return simulation.global_exchange.aggregators_on_first_nodes
    return asked.way.aggregators
