"""In which parts of their descriptions the nodes of a run differ from rank 0's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weir.results.host_list import fold_hosts
from weir.results.node_records import NodeKind
from weir.results.schema import Run

TOO_LONG = "differs, too long to be recorded"


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


def node_differences(run: Run) -> Iterator[NodeDifference]:
    """Yields the differences by kind of nodes."""
    environment = run.environment
    if environment is None or environment.nodes is None:
        return
    first = environment.model_dump()
    for number, kind in enumerate(environment.nodes.kinds, 1):
        hosts = hosts_of(run, kind)
        for path, value in leaves(kind.differences):
            yield NodeDifference(number, kind.nodes, hosts, path, value, _at(first, path))
        for name in kind.left_out:
            path = tuple(name.split("."))
            yield NodeDifference(number, kind.nodes, hosts, path, TOO_LONG, _at(first, path))


def hosts_of(run: Run, kind: NodeKind) -> str:
    """Returns the hosts of a kind as ``n[4-6],n9``, with the number of those that are not known."""
    names = [node.host for first, last in kind.places for node in run.nodes[first : last + 1]]
    listed = fold_hosts(names)
    more = kind.nodes - len(names)
    if more <= 0:
        return listed
    return f"{listed} and {more} more" if listed else f"{more} nodes"


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
