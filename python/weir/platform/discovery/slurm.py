"""Slurm: the switches above each node, from the job's variables or from the whole tree.

Variables on each node (man srun):    SLURM_TOPOLOGY_ADDR=root.s2.s0.tux0
                                      SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.switch.node
``scontrol show topology``:           SwitchName=s0 Level=0 LinkSpeed=1 Nodes=tux[0-3]
                                      SwitchName=s2 Level=1 LinkSpeed=1 Nodes=tux[0-3] Switches=s0
topology.conf:                        SwitchName=s0 Nodes=tux[0-3]   # without level
blocks of either:                     BlockName=b1 BlockIndex=0 Nodes=tux[0-3] BlockSize=4
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from weir.platform.discovery.findings import Certainty, Finding, Missing, Place, short_name
from weir.platform.discovery.recording import SCONTROL, TOPOLOGY_CONF, Recording
from weir.platform.discovery.texts import DiscoveryError, Text, excerpt
from weir.results.host_list import HostListError, expand_hosts

ADDRESS, PATTERN = "SLURM_TOPOLOGY_ADDR", "SLURM_TOPOLOGY_ADDR_PATTERN"
BESIDE_SWITCHES = {"aggregatedblock", "blocksizes", "blocksize"}
"""What lines without a switch and without a block begin with."""
MOST_LEVELS = 16
MOST_SWITCHES = 1 << 16
_FIELD = re.compile(r"([A-Za-z_]+)=(\S*)")
_UNITS = {"switch": "leaf switch", "block": "block"}


@dataclass(frozen=True)
class Switch:
    """A switch or block with what is directly below it, and the line that says so."""

    name: str
    kind: str
    nodes: tuple[str, ...]
    switches: tuple[str, ...]
    line: int


# ---- Variables ----------------------------------------------------------------------------------


def from_variables(recording: Recording) -> Finding | Missing:
    """Returns each node's leaf switch by its own SLURM_TOPOLOGY_ADDR."""
    source = f"Slurm's variables ({ADDRESS})"
    places: dict[str, Place] = {}
    without_switches = 0
    owners: dict[str, str] = {}
    for node in recording.nodes:
        address = node.variables.get(ADDRESS)
        if address is None:
            continue
        if owners.setdefault(address, node.name) != node.name:
            return Missing(
                source,
                f"{owners[address]} and {node.name} have the same one, so the launcher has passed "
                "one node's variables on to others: start the ranks with srun",
            )
        coordinates = split_address(address, node.variables.get(PATTERN), node.name)
        if coordinates:
            places[node.name] = Place(coordinates[-1][1], coordinates)
        else:
            without_switches += 1
    if places:
        kind = next(iter(places.values())).coordinates[-1][0]
        return Finding(source, Certainty.STATED, _UNITS.get(kind, kind), places)
    if without_switches:
        return Missing(
            source, "it has no switches: Slurm's topology plugin is neither tree nor block"
        )
    return Missing(source, "no node has the variable: start the ranks with srun in a job of Slurm")


def split_address(address: str, pattern: str | None, node: str) -> tuple[tuple[str, str], ...]:
    """Returns the switches of an address, the outermost first; none if it has the node alone.

    Names of nodes may have dots, so the pattern says into how many parts the address is split.
    """
    if not pattern:
        raise DiscoveryError(f"{PATTERN} of node {node} is missing: record it with {ADDRESS}")
    kinds = pattern.split(".")
    names = address.split(".", len(kinds) - 1)
    if len(kinds) > MOST_LEVELS:
        raise DiscoveryError(
            f"{PATTERN} of node {node} has {len(kinds)} levels, more than {MOST_LEVELS}: leave "
            "the variable out"
        )
    if len(names) != len(kinds) or kinds[-1] != "node" or not all(names):
        raise DiscoveryError(
            f"{ADDRESS} '{excerpt(address)}' of node {node} does not have the parts of the pattern "
            f"'{excerpt(pattern)}': record both again on that node"
        )
    return tuple(zip(kinds[:-1], names[:-1], strict=True))


# ---- The whole tree -----------------------------------------------------------------------------


def from_scontrol(recording: Recording) -> Finding | Missing:
    """Returns the nodes' leaf switches by ``scontrol show topology``."""
    why = f"there is no {SCONTROL}: scontrol was not found, or it answered nothing"
    return _from_text(recording, "scontrol show topology", SCONTROL, why)


def from_topology_conf(recording: Recording) -> Finding | Missing:
    """Returns the nodes' leaf switches by topology.conf."""
    return _from_text(recording, TOPOLOGY_CONF, TOPOLOGY_CONF, "this file of Slurm is not there")


def _from_text(recording: Recording, name: str, file: str, why: str) -> Finding | Missing:
    source = f"Slurm ({name})"
    text = recording.text(file)
    if text is None:
        return Missing(source, why)
    switches = read_switches(text)
    if not switches:
        return Missing(source, "it describes no switches and no blocks")
    places = _places(text, switches, recording.known_as)
    if not places:
        return Missing(source, f"it has {len(switches)} switches, but none of these nodes")
    leaf = next(one for one in switches.values() if one.nodes)
    return Finding(source, Certainty.STATED, _UNITS[leaf.kind], places)


def read_switches(text: Text) -> dict[str, Switch]:
    """Returns the switches, or blocks, of either text by their names."""
    switches: dict[str, Switch] = {}
    for number, line in _logical_lines(text):
        fields = {name.lower(): value for name, value in _FIELD.findall(line)}
        kind = next((kind for kind in _UNITS if f"{kind}name" in fields), None)
        if kind is None:
            if "=" in line and not fields.keys() & BESIDE_SWITCHES:
                raise text.fault(
                    number,
                    f"names neither a switch nor a block: '{excerpt(line.strip())}'",
                    "record it again, without what other programs print",
                )
            continue
        name = fields[f"{kind}name"]
        if not name or name in switches:
            what = f"describes {name} twice" if name else "has a switch without a name"
            raise text.fault(number, what, "give each switch one line")
        if len(switches) == MOST_SWITCHES:
            raise text.fault(number, f"exceeds {MOST_SWITCHES} switches", "leave some out")
        below = _hosts(text, number, fields.get("switches", ""))
        nodes = _hosts(text, number, fields.get("nodes", ""))
        if not below and not nodes:
            raise text.fault(
                number, f"has neither nodes nor switches below {excerpt(name)}", "record it again"
            )
        # scontrol repeats at every level the nodes of all levels below.
        is_upper = bool(below) and "level" in fields
        switches[name] = Switch(name, kind, () if is_upper else nodes, below, number)
    return switches


def _logical_lines(text: Text) -> Iterator[tuple[int, str]]:
    """Yields lines without comments; one that ends in a backslash is joined with the next."""
    begun, begin = "", 0
    for number, line in text.lines():
        kept = line.partition("#")[0].rstrip()
        begin = begin or number
        if kept.endswith("\\"):
            begun += kept[:-1] + " "
            continue
        whole = begun + kept
        if whole.strip():
            yield begin, whole
        begun, begin = "", 0
    if begun.strip():
        raise text.fault(begin, "is continued, but no line follows", "record it again in full")


def _hosts(text: Text, number: int, listed: str) -> tuple[str, ...]:
    if listed in ("", "(null)"):
        return ()
    try:
        return tuple(expand_hosts(listed))
    except HostListError as error:
        raise text.fault(
            number, f"has no list of hosts in '{excerpt(listed)}', {error}", "record it again"
        ) from None


def _places(text: Text, switches: dict[str, Switch], known_as: dict[str, str]) -> dict[str, Place]:
    above: dict[str, str] = {}
    for one in switches.values():
        for lower in one.switches:
            if lower not in switches:
                raise text.fault(
                    one.line,
                    f"names the switch {excerpt(lower)}, which is not described",
                    "the text may be cut, record it again",
                )
            above.setdefault(lower, one.name)
    leaves: dict[str, list[Switch]] = {}
    for one in switches.values():
        for host in one.nodes:
            node = known_as.get(short_name(host))
            if node is not None and one not in leaves.setdefault(node, []):
                leaves[node].append(one)
    places = {}
    for node in known_as.values():
        if node in leaves and node not in places:
            own = leaves[node]
            upper = _way_up(text, own[0], above, switches)
            name = "+".join(sorted(one.name for one in own))
            places[node] = Place(name, (*upper, (own[0].kind, name)))
    return places


def _way_up(
    text: Text, leaf: Switch, above: dict[str, str], switches: dict[str, Switch]
) -> tuple[tuple[str, str], ...]:
    way: list[tuple[str, str]] = []
    name = leaf.name
    while name in above:
        name = above[name]
        if len(way) == MOST_LEVELS:
            raise text.fault(
                switches[name].line,
                f"has {excerpt(name)} above itself, or {MOST_LEVELS} levels",
                "mend the file",
            )
        way.append((switches[name].kind, name))
    return tuple(reversed(way))
