"""Derives what ``weir sim`` needs of a machine that ``weir platform probe`` has measured."""

from __future__ import annotations

from typing import Any

from weir.results.platform import LEAF_SWITCH, SWITCH_ABOVE, Platform, PlatformStage

NODE = "compute node"
NETWORK = "network"
COPIES = "memory copy"
LINK = "node link"
ROUTES = {"write": "durable", "read": "dropped"}
"""Routes of the path model on which the bytes come to storage and from it."""
SOURCE = "weir platform probe"


def exchange_of(platform: Platform) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Returns the edges of messages between nodes, and the simulation's fields about them.

    Copies in the memory of a node are among these fields if the probe has measured them.
    """
    names = {stage.name for stage in platform.stages}
    edges: list[dict[str, Any]] = []
    simulation: dict[str, Any] = {"copies": COPIES} if COPIES in names else {}
    if platform.hosts > 1 and LINK in names:
        edges.append({"from": NODE, "to": NETWORK, "stages": [LINK], "origin": "probe"})
        simulation["messages"] = f"{NODE} -> {NETWORK}"
        if (message := platform.latencies_seconds.get("message")) is not None:
            simulation["message_seconds"] = message.value
    return edges, simulation


def with_simulation(platform: Platform, direction: str) -> Platform:
    """Returns the platform with a way to storage in this direction, if it has no simulation.

    The way has the stages of durable writes or of reads from storage, in their order. The fixed
    cost of a node's stage counts; that of a target does not, because the simulation has operations
    in turn at nodes only. Messages pass the links between switches that ``weir platform discover``
    has described. The platform is returned as it is if it has a simulation, was not
    measured, or has no such stage.
    """
    if platform.simulation is not None or platform.measured_utc is None:
        return platform
    passed = [stage for stage in platform.stages if _is_on_the_way(stage, direction)]
    if not passed:
        return platform
    edges, simulation = exchange_of(platform)
    before = NODE
    way = []
    for stage in passed:
        edge: dict[str, Any] = {
            "from": before, "to": stage.name, "stages": [stage.name], "origin": "probe"
        }  # fmt: skip
        if stage.kind == "node" and stage.fixed_seconds.value > 0:
            edge["operation"] = {
                "seconds": stage.fixed_seconds.model_dump(mode="json"),
                "how": f"{SOURCE}: fixed cost of {stage.name}",
            }
        edges.append(edge)
        way.append(f"{before} -> {stage.name}")
        before = stage.name
    simulation["routes"] = [{"to": "storage", "edges": way, "how": SOURCE}]
    links = f"{LEAF_SWITCH} -> {SWITCH_ABOVE}"
    if platform.network_shape is not None and any(edge.name == links for edge in platform.edges):
        # Rates of stages are those that the probe found through whatever is on the way to storage.
        simulation["network_links"] = links
        simulation["routes"][0]["beside_network"] = True
        edges += [
            edge.model_dump(mode="json", by_alias=True)
            for edge in platform.edges
            if edge.name == links
        ]
    document = platform.model_dump(mode="json", by_alias=True)
    return Platform.model_validate({**document, "edges": edges, "simulation": simulation})


def _is_on_the_way(stage: PlatformStage, direction: str) -> bool:
    return ROUTES[direction] in stage.routes and stage.direction in (None, direction)
