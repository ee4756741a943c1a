"""How the parts of an environment are named and written, of rank 0's node and of other nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weir.results.node_differences import TOO_LONG, ComparedNodes, hosts_of
from weir.results.node_records import NodeKind
from weir.results.quantities import size_text
from weir.results.schema import Environment
from weir.results.secrets import may_be_secret, without_secrets

NONE = "none"
PREFIXES = {
    "hardware": "",
    "system_software": "",
    "file_system": "file system",
    "test_application": "Weir",
}
"""What stands before the names of the parts of each group."""
NAMES = {
    "described host": "host",
    "mpi": "MPI",
    "mpi io": "MPI-IO",
    "file system type": "file system",
    "file system options": "mount options",
}
LEFT_OUT = {
    "file system available",
    "file system directory",
    "file system magic",
    "scheduler job id",
    "Weir command",
    "Weir name",
}
"""Parameters or measured quantities say them too; a job's id differs between all jobs."""


def told(groups: Mapping[str, Any]) -> dict[str, str]:
    """Returns the parts of the groups of an environment by name; nothing that may be a secret."""
    return {
        NAMES.get(name, name): text
        for group, prefix in PREFIXES.items()
        for name, text in _flattened(prefix, groups.get(group, {}))
        if name not in LEFT_OUT and not may_be_secret(name.replace(" ", "_"))
    }


def told_of(environment: Environment) -> dict[str, str]:
    """Returns what an environment says of the node of rank 0."""
    return told(environment.model_dump(include=set(PREFIXES)))


def told_of_kind(kind: NodeKind) -> dict[str, str]:
    """Returns in what nodes differ from that of rank 0."""
    found = told(kind.differences)
    for name in kind.left_out:
        group, _, part = name.partition(".")
        found |= told({group: {part: TOO_LONG}})
    return found


def node_texts(compared: ComparedNodes | None) -> Iterator[str]:
    """Yields whether nodes are alike, and in what each kind of them differs."""
    if compared is None or compared.nodes.described < 2:
        return
    nodes = compared.nodes
    if not nodes.unlike:
        yield f"all {nodes.described} nodes are described alike"
        return
    yield f"{nodes.unlike} of {nodes.described} nodes differ from that of rank 0"
    first = told(compared.first)
    for kind in nodes.kinds:
        differences = [
            f"{name} {text}{_beside(first, name)}" for name, text in told_of_kind(kind).items()
        ]
        yield f"{hosts_of(compared.hosts, kind)}: {', '.join(differences)}"
    if nodes.unlisted:
        yield f"{nodes.unlisted} nodes of further kinds"


def _beside(first: Mapping[str, str], name: str) -> str:
    """Returns what the node of rank 0 has, unless that consists of several parts."""
    if name not in first and any(part.startswith(f"{name} ") for part in first):
        return ""
    return f" (rank 0: {first.get(name, NONE)})"


def _flattened(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flattened(f"{name} {key}".replace("_", " ").strip(), inner)
    elif value is None:
        yield name, NONE
    elif isinstance(value, bool):
        yield name, "yes" if value else "no"
    elif isinstance(value, int) and name.endswith("bytes"):
        yield name.removesuffix(" bytes"), size_text(value)
    elif isinstance(value, list):
        yield name, without_secrets(", ".join(map(str, value)))
    else:
        yield name, without_secrets(str(value))
