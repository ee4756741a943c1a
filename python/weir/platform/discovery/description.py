"""The description of the platform that was discovered, and how a given one overrides it."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import dataclass
from typing import Any

from weir.platform.discovery.choice import (
    Choice,
    group_numbers,
    io_groups_text,
    nodes_per_group,
)
from weir.platform.discovery.findings import Finding, Link
from weir.platform.discovery.hardware import Hardware
from weir.platform.discovery.recording import Recording
from weir.platform.discovery.shape import Tree, tree_of
from weir.results.host_list import fold_hosts
from weir.results.platform import LEAF_SWITCH, SWITCH_ABOVE, Edge, Platform
from weir.results.record import Quantity

MOST_LISTED_HOSTS = 4096
MOST_LISTED_CHARACTERS = 1 << 18
MOST_NAMED_EDGES = 64
"""With more edges, those of switches of one kind are one edge."""


def describe(
    recording: Recording,
    choice: Choice,
    hardware: Hardware | None,
    name: str,
    ranks: int | None,
) -> Platform:
    """Returns a description without stages: rates of a byte's path are not known yet."""
    hosts = len(recording.nodes)
    by_host = {node.name: node.ranks for node in recording.nodes if node.ranks is not None}
    known = max(by_host.values(), default=0) or (-(-ranks // hosts) if ranks else 0)
    cores = hardware.cores if hardware is not None else 0
    topology: dict[str, Any] = {}
    if len(by_host) == hosts <= MOST_LISTED_HOSTS:
        topology["ranks_by_host"] = by_host
    if hardware is not None:
        topology["hardware"] = hardware.described()
    size = None
    if choice.taken is not None:
        numbers = group_numbers(recording.names, choice.taken)
        size = nodes_per_group(numbers) if choice.divides else None
        topology["network"] = _network(choice.taken)
        if choice.divides:
            topology["io_groups"] = io_groups_text(numbers)
    tree = tree_of(recording.names, choice)
    return Platform(
        format="weir-platform",
        format_version=1,
        name=name,
        conditions={
            "discovered_utc": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        },
        topology=topology,
        hosts=hosts,
        ranks_per_host=known or cores or 1,
        nodes_per_io_group=size,
        network_shape=tree.text if isinstance(tree, Tree) else None,
        stages=[],
        edges=[*edges_of(choice), *_edges_of_tree(tree)],
    )


def _network(taken: Finding) -> dict[str, Any]:
    """Returns the groups with their nodes as lists such as ``n[1-4]``, unless these are too long.

    The library refuses descriptions of more than a MiB.
    """
    groups = {name: fold_hosts(nodes) for name, nodes in taken.groups.items()}
    network: dict[str, Any] = {
        "source": taken.source,
        "certainty": taken.certainty.text,
        "unit": taken.unit,
    }
    if sum(len(name) + len(nodes) for name, nodes in groups.items()) <= MOST_LISTED_CHARACTERS:
        network["groups"] = groups
    return network


# ---- Edges --------------------------------------------------------------------------------------


def edges_of(choice: Choice) -> list[Edge]:
    """Returns the wiring from the nodes upwards, by the first source that knows cables."""
    cabled = next((one for one in choice.findings if one.links), None)
    if cabled is not None:
        return _edges(cabled, list(cabled.links))
    if choice.taken is None or not choice.divides:
        return []
    places = choice.taken.places.values()
    named = Counter(next(iter(place.coordinates[-1:]), ("", place.group))[1] for place in places)
    return _edges(choice.taken, [Link("node", group, count) for group, count in named.items()])


def _edges(finding: Finding, links: list[Link]) -> list[Edge]:
    if len(links) > MOST_NAMED_EDGES:
        links = _together(finding, links)
    return [
        Edge.model_validate(
            {
                "from": link.from_,
                "to": link.to,
                "units": link.count,
                "rate_bytes_per_second": _rate(link.bytes_per_second),
                "origin": "discovered",
                "source": f"{finding.source}, {finding.certainty.text}",
            }
        )
        for link in links
    ]


def _together(finding: Finding, links: list[Link]) -> list[Link]:
    leaves = {link.to for link in links if link.from_ == "node"}
    total: Counter[tuple[str, str, float | None]] = Counter()
    for link in links:
        if link.from_ == "node":
            ends = ("node", f"{len(leaves)} x {finding.unit}")
        else:
            from_leaf = link.from_ in leaves
            ends = (f"{len(leaves)} x {finding.unit}" if from_leaf else "upper switch",
                    "upper switch" if from_leaf else "upper switch above")  # fmt: skip
        total[*ends, link.bytes_per_second] += link.count
    return [Link(from_, to, count, rate) for (from_, to, rate), count in total.items()]


def _edges_of_tree(tree: Tree | str) -> list[Edge]:
    """Returns the edge that says how fast a link of the described shape is."""
    if isinstance(tree, str):
        return []
    link = Link(LEAF_SWITCH, SWITCH_ABOVE, tree.leaves * tree.above, tree.bytes_per_second)
    return _edges(tree.source, [link])


def _rate(bytes_per_second: float | None) -> Quantity | None:
    if bytes_per_second is None:
        return None
    return Quantity(value=bytes_per_second, low=bytes_per_second, high=bytes_per_second)


# ---- A given description ------------------------------------------------------------------------


@dataclass(frozen=True)
class Overridden:
    """A description in which a given one has the last word, and one line for each such case."""

    platform: Platform
    differences: tuple[str, ...]
    given_groups: int | None
    """The given ``nodes_per_io_group``."""


def override(discovered: Platform, given: Platform, name: str) -> Overridden:
    """Returns the given description with what was discovered where it says nothing.

    The entries of ``topology`` are taken one by one.
    """
    kept: dict[str, Any] = {
        field: getattr(given, field)
        for field in given.model_fields_set
        if getattr(given, field) not in (None, [], {}) or field == "stages"
    }
    differences = [
        f"{field} is {kept[field]} by {name}, not {found} as discovered"
        for field in ("hosts", "ranks_per_host", "nodes_per_io_group", "network_shape")
        if field in kept and (found := getattr(discovered, field)) not in (None, kept[field])
    ]
    if "edges" in kept and discovered.edges:
        differences.append(f"edges are those of {name}, not the {len(discovered.edges)} discovered")
    topology = dict(discovered.topology)
    for entry, value in given.topology.items():
        if entry in topology and topology[entry] != value:
            differences.append(f"topology.{entry} is that of {name}, not what was discovered")
        topology[entry] = value
    if "nodes_per_io_group" in kept:
        topology.pop("io_groups", None)
    conditions = {**discovered.conditions, **given.conditions}
    record = {
        **{field: getattr(discovered, field) for field in discovered.model_fields_set},
        **kept,
        "topology": topology,
        "conditions": conditions,
    }
    return Overridden(Platform.model_validate(record), tuple(differences), given.nodes_per_io_group)
