"""Derives the ways to stagers, and from them to the storage, where a description has none.

A route ``to = "stagers"`` of the description is the way to a service; its last part is the link of
a stager's node. Where there is no such route, a stager's node is one like those of the ranks, at
the same network.
"""

from __future__ import annotations

from typing import Any

from weir.bench.errors import USAGE, BenchError
from weir.results.platform import Edge, Platform, SimulatedRoute, Simulation
from weir.sim.probed import NODE, with_simulation

LINK, STAGER, TO_STORAGE = "links to the stagers", "stager", "stager to storage"
OF_STRIPES = ("server", "device link", "target")
OF_NODES = ("node", "node link")


def with_way_to_stagers(platform: Platform, stagers: int) -> Platform:
    """Returns the platform with a route to so many stagers on nodes of their own.

    Raises ``BenchError`` if the platform does not say how fast the link of a node is.
    """
    platform = with_simulation(platform, "write")
    simulation = platform.simulation
    if simulation is None or _route(simulation, "stagers") is not None:
        return platform
    messages = next((one for one in platform.edges if one.name == simulation.messages), None)
    if messages is None or not messages.stages:
        raise BenchError(
            f"--staging service: platform {platform.name} has neither a route to stagers nor a "
            "stage of the links by which messages enter a node: docs/simulation.md says what "
            "weir sim needs",
            USAGE,
        )
    rate = platform.rate_of(messages.name)
    edges: list[dict[str, Any]] = [
        {"from": NODE, "to": LINK, "stages": messages.stages, "origin": messages.origin},
        {
            "from": LINK, "to": STAGER, "units": stagers, "rate_bytes_per_second": rate,
            "origin": messages.origin, "source": "the link of a node of the ranks",
        },
    ]  # fmt: skip
    route = {"to": "stagers", "edges": [f"{NODE} -> {LINK}", f"{LINK} -> {STAGER}"]}
    beside = _route(simulation, "storage")
    return _changed(
        platform,
        edges,
        {
            "routes": [
                *(one.model_dump(mode="json") for one in simulation.routes),
                {**route, "beside_network": bool(beside and beside.beside_network)},
            ]
        },
    )


def platform_of_stagers(platform: Platform, stagers: int | None) -> Platform:
    """Returns the machine as its stagers see it: each is the only rank of its node.

    ``stagers`` of them are on nodes of their own; none: one of each node of the ranks, with the
    nodes' ways. Nobody copies. Raises ``BenchError`` if the platform has no way to storage.
    """
    platform = with_simulation(platform, "write")
    simulation = platform.simulation
    route = None if simulation is None else _route(simulation, "storage")
    if simulation is None or route is None:
        raise BenchError(
            f"platform {platform.name} has no way to storage, which stagers need: "
            "docs/simulation.md says what weir sim needs",
            USAGE,
        )
    alone: dict[str, Any] = {"copies": None, "cached_copies": [], "calls": []}
    if stagers is None:
        return _changed(platform, [], alone, {"ranks_per_host": 1})
    kept, stages = _from_stagers(platform, simulation, route)
    way = {
        "to": "storage",
        "edges": [f"{edge['from']} -> {edge['to']}" for edge in kept],
        "beside_network": True,
    }
    changed = {
        "hosts": stagers,
        "ranks_per_host": 1,
        "nodes_per_io_group": None,
        "network_shape": None,
        "stages": stages,
        "edges": kept,
    }
    return _changed(
        platform,
        None,
        {
            **alone,
            "routes": [way],
            "messages": None,
            "network_links": None,
            "global_exchange": None,
        },
        changed,
    )


def _from_stagers(
    platform: Platform, simulation: Simulation, route: SimulatedRoute
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns the edges and stages between stagers on nodes of their own and the storage."""
    edges = {edge.name: edge for edge in platform.edges}
    stages = {stage.name: stage.model_dump(mode="json") for stage in platform.stages}
    passed = [edges[name] for name in route.edges]
    link = _link_of_a_stager(simulation, edges)
    kept: list[dict[str, Any]] = []
    before = STAGER
    if link is not None:
        stages[TO_STORAGE] = {
            "name": TO_STORAGE, "kind": "node link", "routes": ["durable"], "units": 1,
            "rate_bytes_per_second": platform.rate_of(link.name), "how": link.source,
        }  # fmt: skip
        kept.append(
            {"from": STAGER, "to": TO_STORAGE, "stages": [TO_STORAGE], "origin": link.origin}
        )
        before = TO_STORAGE
    for edge in passed:
        kinds = {stages[name]["kind"] for name in edge.stages}
        if not kinds or not kinds <= {*OF_STRIPES, "fabric", *(() if link else OF_NODES)}:
            continue
        for name in edge.stages:
            if stages[name]["kind"] == "fabric":
                # Its users are the stagers' nodes, and no I/O nodes.
                stages[name]["nodes_per_unit"] = 1
        document = edge.model_dump(mode="json", by_alias=True)
        kept.append({**document, "from": before})
        before = edge.to
    return kept, list(stages.values())


def _link_of_a_stager(simulation: Simulation, edges: dict[str, Edge]) -> Edge | None:
    """Returns the link of a stager's node, if the description has one."""
    route = _route(simulation, "stagers")
    return None if route is None else edges[route.edges[-1]]


def _route(simulation: Simulation, to: str) -> SimulatedRoute | None:
    return next((route for route in simulation.routes if route.to == to), None)


def _changed(
    platform: Platform,
    edges: list[dict[str, Any]] | None,
    simulation: dict[str, Any],
    fields: dict[str, Any] | None = None,
) -> Platform:
    """Returns the platform with more edges, and other fields of its simulation and its own."""
    document = platform.model_dump(mode="json", by_alias=True)
    if edges:
        document["edges"] = [*document["edges"], *edges]
    document["simulation"] = {**document["simulation"], **simulation}
    return Platform.model_validate({**document, **(fields or {})})
