"""InfiniBand: each node's leaf switch and rates, from ``ibnetdiscover`` and /sys.

    Switch	36 "S-0002c90200484b18"		# "leaf1" base port 0 lid 3 lmc 0
    [1]	"H-0002c9030002f9d8"[1](2c9030002f9d9) 		# "n1 HCA-1" lid 11 4xEDR
    Ca	1 "H-0002c9030002f9d8"		# "n1 HCA-1"
    [1](2c9030002f9d9) 	"S-0002c90200484b18"[1]		# lid 11 lmc 0 "leaf1" lid 3 4xEDR

A node is known by the LID of its port in /sys, or by the first word of its description.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from weir.platform.discovery.findings import (
    Certainty,
    Finding,
    Link,
    Missing,
    Place,
    short_name,
)
from weir.platform.discovery.recording import IBNETDISCOVER, SYSTEM, Recording
from weir.platform.discovery.system_files import read_values
from weir.platform.discovery.texts import Text, excerpt

SYS_FOLDER = "/sys/class/infiniband/"
MOST_PARTS = 1 << 18
MOST_CABLES = 1 << 21

_PART = re.compile(r'(Switch|Ca|Rt)\s+[0-9]+\s+"([SHR]-[0-9a-f]+)"\s*#\s*"([^"]*)"(.*)')
_PORT = re.compile(
    r'\[[0-9]+\](?:\[ext [0-9]+\])?(?:\([0-9a-f]+\))?\s+"([SHR]-[0-9a-f]+)"\[[0-9]+\]'
    r"(?:\[ext [0-9]+\])?(?:\([0-9a-f]+\))?\s*#\s*(.*)"
)
_LID = re.compile(r"\blid ([0-9]+)")
_WIDTH = re.compile(r"\b(1|2|4|8|12)[xX] ?(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR)\b")
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?) Gb/sec(?: \((.*)\))?")
_PORT_FILE = re.compile(rf"{SYS_FOLDER}([^/]+)/ports/([0-9]+)/(rate|state|lid)")

LANE_BYTES_PER_SECOND = {
    "SDR": 2e9 / 8,
    "DDR": 4e9 / 8,
    "QDR": 8e9 / 8,
    "FDR10": 10e9 / 8,
    "FDR": 14.0625e9 * 64 / 66 / 8,
    "EDR": 25e9 / 8,
    "HDR": 50e9 / 8,
    "NDR": 100e9 / 8,
    "XDR": 200e9 / 8,
}
"""Data of one lane, without the bits of the line code: 2 of 10, and 2 of 66 from FDR10 on."""


@dataclass
class Part:
    """A switch or channel adapter, with the parts at the other ends of its cables."""

    key: str
    description: str
    line: int
    lids: set[int] = field(default_factory=set)
    cables: list[tuple[str, float | None]] = field(default_factory=list)

    @property
    def is_switch(self) -> bool:
        return self.key.startswith("S-")


@dataclass(frozen=True)
class Port:
    """A port of a node's adapter, by /sys."""

    device: str
    number: str
    state: str
    lid: int
    bytes_per_second: float | None


# ---- The fabric ---------------------------------------------------------------------------------


def from_ibnetdiscover(recording: Recording) -> Finding | Missing:
    """Returns the switches to which the nodes' adapters are connected."""
    source = "InfiniBand (ibnetdiscover)"
    text = recording.text(IBNETDISCOVER)
    if text is None:
        return Missing(
            source,
            f"it was not recorded: an administrator runs ibnetdiscover > {IBNETDISCOVER}; put the "
            "file into the folder for --from or --record",
        )
    parts = read_fabric(text)
    names = _names_of_switches(parts)
    nodes = _nodes_of_adapters(recording, parts)
    switches_of: dict[str, set[str]] = {}
    down: Counter[tuple[str, float | None]] = Counter()
    up: Counter[tuple[str, str, float | None]] = Counter()
    for part in parts.values():
        for other, rate in part.cables:
            if not part.is_switch:
                if part.key in nodes and other in names:
                    switches_of.setdefault(nodes[part.key], set()).add(names[other])
                    down[names[other], rate] += 1
            elif other in names and part.key < other:
                up[names[part.key], names[other], rate] += 1
    if not switches_of:
        adapters = sum(not part.is_switch for part in parts.values())
        return Missing(source, f"none of its {adapters} adapters belongs to one of these nodes")
    places = {
        node: Place("+".join(sorted(own)), (("switch", "+".join(sorted(own))),))
        for node in recording.names
        if (own := switches_of.get(node))
    }
    links = [
        Link("node", leaf, count, rate) for (leaf, rate), count in sorted(down.items(), key=str)
    ]
    used = {leaf for leaf, _ in down}
    links += [_upward(pair, count, used) for pair, count in sorted(up.items(), key=str)]
    return Finding(
        source, Certainty.SEEN, "leaf switch", places, links=tuple(links), notes=_cut(parts)
    )


def read_fabric(text: Text) -> dict[str, Part]:
    """Returns switches, adapters and routers by their keys, such as ``S-0002c90200484b18``."""
    parts: dict[str, Part] = {}
    current: Part | None = None
    cables = 0
    for number, line in text.lines():
        words = line.strip()
        if words.startswith(("Switch\t", "Switch ", "Ca\t", "Ca ", "Rt\t", "Rt ")):
            current = _read_part(text, number, words)
            if current.key in parts:
                raise text.fault(number, f"describes {current.key} again", "record it again")
            if len(parts) == MOST_PARTS:
                raise text.fault(number, f"exceeds {MOST_PARTS} parts", "leave some out")
            parts[current.key] = current
        elif words.startswith("["):
            cable = _PORT.fullmatch(words)
            if cable is None or current is None:
                raise text.fault(
                    number,
                    f"is no port of a part above it: '{excerpt(words)}'",
                    "the text may be cut, record it again",
                )
            cables += 1
            if cables > MOST_CABLES:
                raise text.fault(number, f"exceeds {MOST_CABLES} ports", "leave some out")
            current.cables.append((cable[1], _rate_of_lanes(cable[2])))
            own = _LID.search(cable[2])
            if own is not None and not current.is_switch:
                current.lids.add(int(own[1]))
    if not any(part.is_switch for part in parts.values()):
        raise text.fault(1, "and those below name no switch", "give the output of ibnetdiscover")
    return parts


def _read_part(text: Text, number: int, words: str) -> Part:
    found = _PART.fullmatch(words)
    if found is None:
        raise text.fault(
            number,
            f"is no switch, adapter or router: '{excerpt(words)}'",
            "the text may be cut, record it again",
        )
    return Part(found[2], found[3], number)


def _rate_of_lanes(text: str) -> float | None:
    found = _WIDTH.search(text)
    return None if found is None else int(found[1]) * LANE_BYTES_PER_SECOND[found[2]]


def _names_of_switches(parts: dict[str, Part]) -> dict[str, str]:
    """Returns each switch's description, or its key where several have the same or none."""
    switches = [part for part in parts.values() if part.is_switch]
    alike = Counter(["", "", *(part.description for part in switches)])
    return {
        part.key: part.description if alike[part.description] == 1 else part.key
        for part in switches
    }


def _nodes_of_adapters(recording: Recording, parts: dict[str, Part]) -> dict[str, str]:
    by_lid: dict[int, str] = {}
    for node in recording.nodes:
        text = node.text(SYSTEM)
        for port in () if text is None else read_ports(text):
            if port.lid:
                by_lid[port.lid] = node.name
    found: dict[str, str] = {}
    for part in parts.values():
        if part.is_switch:
            continue
        named = recording.known_as.get(short_name(part.description.split(" ")[0]))
        owner = next((by_lid[lid] for lid in sorted(part.lids) if lid in by_lid), named)
        if owner is not None:
            found[part.key] = owner
    return found


def _upward(pair: tuple[str, str, float | None], count: int, leaves: set[str]) -> Link:
    first, second, rate = pair
    from_, to = (first, second) if first in leaves else (second, first)
    return Link(from_, to, count, rate)


def _cut(parts: dict[str, Part]) -> tuple[str, ...]:
    named = {other for part in parts.values() for other, _ in part.cables}
    lacking = len(named - parts.keys())
    if not lacking:
        return ()
    return (f"{lacking} parts are named but not described: the text may be cut",)


# ---- Ports of the nodes -------------------------------------------------------------------------


def from_ports(recording: Recording) -> Finding | Missing:
    """Returns the rate of the nodes' active ports; /sys does not know the switches."""
    source = f"InfiniBand ({SYS_FOLDER.rstrip('/')})"
    active: Counter[float | None] = Counter()
    nodes, idle = 0, 0
    for node in recording.nodes:
        text = node.text(SYSTEM)
        ports = [] if text is None else read_ports(text)
        own = [port for port in ports if port.state == "ACTIVE"]
        idle += len(ports) - len(own)
        nodes += bool(own)
        active.update(port.bytes_per_second for port in own)
    if not active:
        why = f"{idle} ports are there, none of which is active" if idle else "no node has a port"
        return Missing(source, why)
    links = [Link("node", "InfiniBand", count, rate) for rate, count in active.items()]
    total = sum(active.values())
    notes = [f"{total} active ports on {nodes} nodes"]
    if idle:
        notes.append(f"{idle} ports are not active")
    return Finding(source, Certainty.SEEN, "port", links=tuple(links), notes=tuple(notes))


def read_ports(text: Text) -> list[Port]:
    """Returns the ports whose rate, state and lid are among the recorded files."""
    found: dict[tuple[str, str], dict[str, tuple[int, str]]] = {}
    for path, (number, value) in read_values(text).items():
        file = _PORT_FILE.fullmatch(path)
        if file is not None:
            found.setdefault((file[1], file[2]), {})[file[3]] = (number, value)
    return [_port(text, device, number, files) for (device, number), files in found.items()]


def _port(text: Text, device: str, number: str, files: dict[str, tuple[int, str]]) -> Port:
    state = files.get("state", (0, ""))[1].partition(":")[2].strip()
    line, written = files.get("lid", (0, "0"))
    try:
        lid = int(written, 0)
    except ValueError:
        raise text.fault(line, f"has no LID: '{excerpt(written)}'", "record it again") from None
    rate: float | None = None
    if "rate" in files:
        line, written = files["rate"]
        told = _RATE.fullmatch(written)
        if told is None:
            raise text.fault(line, f"has no rate: '{excerpt(written)}'", "record it again")
        rate = _rate_of_lanes(told[2] or "") or float(told[1]) * 1e9 / 8
    return Port(device, number, state, lid, rate)
