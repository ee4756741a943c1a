"""A folder of recorded texts: what ``weir platform discover`` reads, wherever they are from.

nodes.txt                        names of the nodes in the order of their first ranks, one to a
                                 line or as Slurm's lists; without it: by the ranks below
scontrol-topology.txt            ``scontrol show topology``
topology.conf                    Slurm's configuration file
ibnetdiscover.txt                ``ibnetdiscover``
probe.json                       of ``weir platform probe``
pairs.txt                        ``HOST HOST SECONDS``: times of messages, measured by other means
nodes/NAME/environment.txt       variables of Slurm and PMIx on that node, ``NAME=VALUE``
nodes/NAME/lstopo.xml            ``lstopo --of xml``
nodes/NAME/sys.txt               files of /sys and /proc, ``PATH:LINE`` as ``grep -H .`` prints them
nodes/NAME/cray-name.txt         ``/proc/cray_xt/cname`` or ``/etc/cray/xname``
nodes/NAME/lnet-routes.txt       ``/proc/sys/lnet/routes``, ``lctl route_list`` or
                                 ``lnetctl route show -v``

Every file may be missing. All texts are read with limits on their sizes.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from weir.platform.discovery.findings import Place, short_name
from weir.platform.discovery.system_files import read_values
from weir.platform.discovery.texts import DiscoveryError, Text, excerpt, read_text
from weir.results.host_list import MOST_HOSTS, HostListError, expand_hosts

NODES_FOLDER = "nodes"
NODES_LIST = "nodes.txt"
SCONTROL = "scontrol-topology.txt"
TOPOLOGY_CONF = "topology.conf"
IBNETDISCOVER = "ibnetdiscover.txt"
PROBE = "probe.json"
PAIRS = "pairs.txt"
ENVIRONMENT = "environment.txt"
LSTOPO = "lstopo.xml"
SYSTEM = "sys.txt"
CRAY_NAME = "cray-name.txt"
LNET_ROUTES = "lnet-routes.txt"

BOOT_FILE = "/proc/sys/kernel/random/boot_id"

MOST_NODES = 1 << 16
MOST_MACHINE_BYTES = 256 << 20
MOST_NODE_BYTES = 16 << 20

RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID", "SLURM_PROCID")
LOCAL_SIZE_VARIABLES = (
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "PALS_LOCAL_SIZE",
    "SLURM_NTASKS_PER_NODE",
)

_NODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,254}")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)")


@dataclass(frozen=True)
class Node:
    """One node of the recording. Its texts are read when they are asked for."""

    name: str
    folder: Path | None
    variables: dict[str, str]

    def text(self, file: str) -> Text | None:
        return None if self.folder is None else read_text(self.folder / file, MOST_NODE_BYTES)

    @property
    def boot(self) -> str:
        """Identifies the kernel that runs; empty if it was not recorded."""
        text = self.text(SYSTEM)
        return "" if text is None else read_values(text).get(BOOT_FILE, (0, ""))[1]

    @property
    def first_rank(self) -> int | None:
        return _number(self.variables, RANK_VARIABLES)

    @property
    def ranks(self) -> int | None:
        """Ranks on the node, if the launcher says."""
        return _number(self.variables, LOCAL_SIZE_VARIABLES)


@dataclass(frozen=True)
class Recording:
    """The nodes in the order of their first ranks, and the texts of the whole machine."""

    folder: Path
    nodes: tuple[Node, ...]

    def text(self, file: str) -> Text | None:
        return read_text(self.folder / file, MOST_MACHINE_BYTES)

    @property
    def names(self) -> list[str]:
        return [node.name for node in self.nodes]

    @cached_property
    def known_as(self) -> dict[str, str]:
        """The node of each name without its domain: the host's, and the one that Slurm gives it."""
        known = {}
        for node in self.nodes:
            known[short_name(node.variables.get("SLURMD_NODENAME", node.name))] = node.name
        for node in self.nodes:
            known[short_name(node.name)] = node.name
        return known

    def covers(self, places: dict[str, Place]) -> bool:
        return all(node.name in places for node in self.nodes)


def read_recording(folder: Path) -> Recording:
    """Reads which nodes a recording has; raises DiscoveryError if it has none."""
    if not folder.is_dir():
        raise DiscoveryError(f"{folder} is not a folder: give a folder of recorded texts")
    recorded = _recorded_nodes(folder)
    listing = read_text(folder / NODES_LIST, MOST_MACHINE_BYTES)
    listed = _list_of_slurm(folder, recorded) if listing is None else _listed_nodes(listing)
    if not listed:
        nodes = sorted(recorded.values(), key=_place)
    else:
        unlisted = {_listed_name(node, listing): node for node in recorded.values()}
        nodes = []
        for name in listed:
            node = unlisted.pop(short_name(name), None)
            nodes.append(Node(name, None, {}) if node is None else node)
        if unlisted and listing is not None:
            raise DiscoveryError(
                f"{listing.name} does not list the node {min(unlisted)}, of which there are texts: "
                "add it, or leave the file out"
            )
        nodes += sorted(unlisted.values(), key=_place)
    if not nodes:
        raise DiscoveryError(
            f"{folder} has no nodes: it needs {NODES_LIST} or {NODES_FOLDER}/NAME/{ENVIRONMENT}"
        )
    if len(nodes) > MOST_NODES:
        raise DiscoveryError(f"{folder} has {len(nodes)} nodes: give at most {MOST_NODES}")
    return Recording(folder, tuple(nodes))


def _listed_name(node: Node, listing: Text | None) -> str:
    """Returns the name by which a list has a node: Slurm's own lists have Slurm's names."""
    name = node.name if listing is not None else node.variables.get("SLURMD_NODENAME", node.name)
    return short_name(name)


def _recorded_nodes(folder: Path) -> dict[str, Node]:
    nodes: dict[str, Node] = {}
    below = folder / NODES_FOLDER
    if not below.is_dir():
        return nodes
    for one in sorted(below.iterdir()):
        if not one.is_dir():
            continue
        if len(nodes) == MOST_NODES:
            raise DiscoveryError(f"{below} has more than {MOST_NODES} nodes: leave some out")
        if _NODE.fullmatch(one.name) is None:
            raise DiscoveryError(
                f"{below} has a folder '{excerpt(one.name)}', which is no name of a node: rename it"
            )
        variables = read_text(one / ENVIRONMENT, MOST_NODE_BYTES)
        nodes[one.name] = Node(one.name, one, {} if variables is None else _variables(variables))
    return nodes


def _variables(text: Text) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in text.lines():
        if not line or line.startswith("#"):
            continue
        pair = _VARIABLE.fullmatch(line)
        if pair is None:
            raise text.fault(number, "is not NAME=VALUE", "record it again with env")
        found[pair[1]] = pair[2]
    return found


def _listed_nodes(text: Text) -> list[str]:
    names: list[str] = []
    for number, line in text.lines():
        words = line.partition("#")[0].strip()
        if not words:
            continue
        try:
            names += expand_hosts(words)
        except HostListError as error:
            raise text.fault(number, f"is no list of hosts, {error}", "write n1,n[2-4]") from None
        if len(names) > MOST_HOSTS:
            raise text.fault(number, f"exceeds {MOST_HOSTS} hosts", "leave some out")
    for name, count in Counter(short_name(name) for name in names).items():
        if count > 1:
            raise DiscoveryError(f"{text.name} lists the node {name} twice: list each node once")
    return names


def _list_of_slurm(folder: Path, recorded: dict[str, Node]) -> list[str]:
    """Returns the nodes of the job by Slurm's own list, in case only some of them were recorded."""
    for node in recorded.values():
        listed = node.variables.get("SLURM_JOB_NODELIST", "")
        if not listed or any(one.first_rank is not None for one in recorded.values()):
            continue
        try:
            return expand_hosts(listed)
        except HostListError as error:
            raise DiscoveryError(
                f"{folder / NODES_FOLDER / node.name / ENVIRONMENT}: SLURM_JOB_NODELIST is no list "
                f"of hosts, {error}: record it again"
            ) from None
    return []


def _place(node: Node) -> tuple[bool, int, list[tuple[str, int]]]:
    """Returns the key of the order: by rank, else by name with n9 before n10."""
    words = re.findall(r"([^0-9]*)([0-9]{0,18})", node.name)
    rank = node.first_rank
    return rank is None, rank or 0, [(word, int(number or 0)) for word, number in words]


def _number(variables: dict[str, str], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = variables.get(name, "")
        if value.isascii() and value.isdigit() and len(value) < 10:
            return int(value)
    return None
