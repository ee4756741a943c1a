"""In which parts of their descriptions the nodes of a run or a probe differ from rank 0's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weir.results.host_list import fold_hosts
from weir.results.node_records import DescribedNodes, NodeKind
from weir.results.probe import Probe
from weir.results.schema import Run
from weir.results.secrets import may_be_secret, without_secrets

TOO_LONG = "differs, too long to be recorded"


@dataclass(frozen=True)
class ComparedNodes:
    """The nodes of a run or a probe, each compared with that of rank 0."""

    first: Mapping[str, Any]
    """The description of rank 0's node, by groups such as ``hardware``."""
    nodes: DescribedNodes
    hosts: Sequence[str]
    """The hosts by their places."""


@dataclass(frozen=True)
class NodeDifference:
    """One part of the description that some nodes have otherwise than rank 0's."""

    kind: int
    """The number of the kind of nodes in the run, from 1."""
    nodes: int
    hosts: str
    path: tuple[str, ...]
    """Such as ``("hardware", "memory", "bytes")``."""
    value: Any
    """None if these nodes have no such part."""
    first_value: Any
    """That of rank 0's node; None if it has no such part."""


def nodes_of_run(run: Run) -> ComparedNodes | None:
    """Returns the nodes of a run; None if they were not described."""
    environment = run.environment
    if environment is None or environment.nodes is None:
        return None
    hosts = [node.host for node in run.nodes]
    return ComparedNodes(environment.model_dump(), environment.nodes, hosts)


def nodes_of_probe(probe: Probe) -> ComparedNodes | None:
    """Returns the nodes of a probe; None if they were not compared.

    Their file system and block device are those of the first directory.
    """
    if probe.nodes is None:
        return None
    target = probe.targets[0]
    told = {"type": target.file_system, "mount_point": target.mount, "source": target.device}
    file_system = {**target.layout, **told}
    hardware = {**probe.hardware, "block_device": file_system.pop("block_device", None)}
    first = {
        "hardware": hardware,
        "system_software": probe.system_software,
        "file_system": file_system,
    }
    return ComparedNodes(first, probe.nodes, list(probe.ranks_by_host))


def node_differences(compared: ComparedNodes | None) -> Iterator[NodeDifference]:
    """Yields the differences by kind of nodes."""
    if compared is None:
        return
    first = compared.first
    for number, kind in enumerate(compared.nodes.kinds, 1):
        hosts = hosts_of(compared.hosts, kind)
        for path, value in leaves(kind.differences):
            yield NodeDifference(number, kind.nodes, hosts, path, value, _at(first, path))
        for name in kind.left_out:
            path = tuple(name.split("."))
            yield NodeDifference(number, kind.nodes, hosts, path, TOO_LONG, _at(first, path))


def hosts_of(hosts: Sequence[str], kind: NodeKind) -> str:
    """Returns the hosts of a kind as ``n[4-6],n9``, with the number of those that are not known."""
    names = [host for first, last in kind.places for host in hosts[first : last + 1]]
    listed = fold_hosts(names)
    more = kind.nodes - len(names)
    if more <= 0:
        return listed
    return f"{listed} and {more} more" if listed else f"{more} nodes"


def difference_rows(compared: ComparedNodes | None) -> Iterator[dict[str, Any]]:
    """Yields each difference with its name and its values as SQL has them, without secrets."""
    for one in node_differences(compared):
        if not may_be_secret("_".join(one.path)):
            yield {
                "difference": one,
                "name": ".".join(one.path),
                "value": shown_part(one.value),
                "first_value": shown_part(one.first_value),
            }


def shown_part(value: object) -> str | None:
    """Returns a part of a node's description as text, without values that may be secrets."""
    return None if value is None else without_secrets(text_of(value))


def text_of(value: object) -> str:
    """Returns a value as a parameter in JSON is read by SQL, such as ``true``."""
    return json.dumps(value) if isinstance(value, bool | list | dict) else str(value)


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields the innermost values of a description, with the names that lead to them."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    else:
        yield path, value


def _at(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value
