"""Returns a platform's hosts, processors, memory and targets as a tree of one-line texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from weir.results.platform import Platform
from weir.results.quantities import rate_text, size_text

SHOWN_GROUPS = 16
LONGEST_LIST = 200


@dataclass
class Branch:
    """A line, and the lines below it."""

    text: str
    children: list[Branch] = field(default_factory=list)


def topology_tree(platform: Platform) -> Branch:
    """Returns the topology in the description; what is unknown is left out."""
    hosts = "host" if platform.hosts == 1 else "hosts"
    tree = Branch(
        f"{platform.name}: {platform.hosts} {hosts}, {platform.ranks_per_host} ranks each"
    )
    if platform.machine is not None:
        if platform.machine.source:
            tree.children.append(Branch(f"described from {platform.machine.source}"))
        tree.children += [Branch(f"note: {text}") for text in platform.machine.remarks]
    by_host = platform.topology.get("ranks_by_host")
    if isinstance(by_host, dict) and len(by_host) > 1:
        shown = [f"{host} ({ranks})" for host, ranks in list(by_host.items())[:8]]
        more = f" and {len(by_host) - len(shown)} more" if len(by_host) > len(shown) else ""
        tree.children.append(Branch(f"hosts (ranks): {', '.join(shown)}{more}"))
    if platform.nodes_per_io_group is not None:
        nodes = "node" if platform.nodes_per_io_group == 1 else "consecutive nodes"
        tree.children.append(Branch(f"I/O groups of {platform.nodes_per_io_group} {nodes}"))
    if platform.network_shape is not None:
        tree.children.append(
            Branch(f"network of nodes: {platform.network_shape}{_links(platform)}")
        )
    network = platform.topology.get("network")
    if isinstance(network, dict):
        tree.children += _network(network, platform.topology.get("io_groups"))
    hardware = platform.topology.get("hardware")
    if isinstance(hardware, dict):
        tree.children += _hardware(hardware)
    if platform.memory_available_bytes:
        tree.children.append(
            Branch(f"memory available when probed: {size_text(platform.memory_available_bytes)}")
        )
    for target in platform.targets:
        branch = Branch(f"target {target.directory}: {target.file_system} on {target.device}")
        branch.children += _target(target.mount, target.layout)
        tree.children.append(branch)
    return tree


def _links(platform: Platform) -> str:
    """What a link of the network carries, which is what a hop costs; "" if it is not known."""
    named = platform.simulation.network_links if platform.simulation is not None else None
    rate = platform.rate_of(named) if named is not None else 0.0
    return f"; a hop occupies a link of {rate_text(rate)}" if rate > 0 else ""


def _network(network: dict[str, Any], io_groups: Any) -> list[Branch]:
    """Returns what ``weir platform discover`` found: the nodes of each group."""
    groups = network.get("groups")
    if not isinstance(groups, dict):
        return []
    unit, source = _known(network.get("unit"), "group"), _known(network.get("source"), "?")
    branch = Branch(f"nodes by {unit}, from {source}, {_known(network.get('certainty'), '?')}")
    for name, nodes in list(groups.items())[:SHOWN_GROUPS]:
        if isinstance(nodes, str):
            cut = "…" if len(nodes) > LONGEST_LIST else ""
            branch.children.append(Branch(f"{name}: {nodes[:LONGEST_LIST]}{cut}"))
    if len(groups) > SHOWN_GROUPS:
        branch.children.append(Branch(f"and {len(groups) - SHOWN_GROUPS} more"))
    if isinstance(io_groups, str) and len(io_groups) <= LONGEST_LIST:
        branch.children.append(Branch(f"WEIR_IO_GROUPS={io_groups} for these nodes in this order"))
    return [branch]


def _hardware(hardware: dict[str, Any]) -> list[Branch]:
    branches = []
    processor = hardware.get("processor")
    if isinstance(processor, dict):
        branch = Branch(f"processor: {_known(processor.get('model'), 'of unknown model')}")
        counts = [
            f"{processor[name]} {label if processor[name] != 1 else label.removesuffix('s')}"
            for name, label in COUNTS.items()
            if isinstance(processor.get(name), int)
        ]
        if counts:
            branch.children.append(Branch(", ".join(counts)))
        caches = processor.get("caches")
        if isinstance(caches, list):
            branch.children += [Branch(_cache(one)) for one in caches if isinstance(one, dict)]
        branches.append(branch)
    memory = hardware.get("memory")
    if isinstance(memory, dict) and isinstance(memory.get("bytes"), int):
        branches.append(Branch(f"memory: {size_text(memory['bytes'])}"))
    return branches


COUNTS = {
    "packages": "packages",
    "sockets": "packages",
    "numa_nodes": "NUMA nodes",
    "cores": "cores",
    "hardware_threads": "hardware threads",
    "threads": "hardware threads",
}


def _cache(cache: dict[str, Any]) -> str:
    size = cache.get("bytes", cache.get("size_bytes"))
    text = f"L{cache.get('level', '?')} {cache.get('type', '')}".strip()
    if isinstance(size, int):
        text += f": {size_text(size)}"
    count = cache.get("count")
    return f"{text}, {count} of them" if isinstance(count, int) and count > 1 else text


def _target(mount: str, layout: dict[str, Any]) -> list[Branch]:
    branches = [Branch(f"mounted at {mount}")]
    available, total = layout.get("available_bytes"), layout.get("total_bytes")
    if isinstance(available, int) and isinstance(total, int):
        branches.append(Branch(f"{size_text(available)} of {size_text(total)} free"))
    striping = layout.get("layout")
    if isinstance(striping, dict):
        striping = ", ".join(f"{name} {value}" for name, value in striping.items())
    if _known(striping, ""):
        branches.append(Branch(f"layout: {striping}"))
    device = layout.get("block_device")
    if isinstance(device, dict):
        facts = [_known(device.get("model"), ""), _known(device.get("scheduler"), "")]
        named = f"device {device.get('name', 'unknown')}"
        if isinstance(device.get("size_bytes"), int):
            facts.insert(0, size_text(device["size_bytes"]))
        branches.append(Branch(", ".join([named, *(fact for fact in facts if fact)])))
    return branches


def _known(value: Any, otherwise: str) -> str:
    return value if isinstance(value, str) and value not in ("", "unknown") else otherwise
