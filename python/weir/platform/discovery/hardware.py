"""Cores, caches, NUMA nodes and devices of one node: by hwloc's XML, else by files of /sys."""

from __future__ import annotations

import contextlib
import re
import xml.parsers.expat
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from weir.platform.discovery.findings import Certainty
from weir.platform.discovery.recording import LSTOPO, SYSTEM, Node
from weir.platform.discovery.system_files import read_values
from weir.platform.discovery.texts import DiscoveryError, Text, excerpt
from weir.results.host_list import HostListError, expand_hosts

MOST_OBJECTS = 1 << 18
DEEPEST_OBJECT = 64
MOST_DEVICES = 256

_CACHE = re.compile(r"L([1-5])(i?)Cache")
_CPU_FILE = re.compile(
    r"/sys/devices/system/cpu/cpu([0-9]+)/topology/(core_id|physical_package_id)"
)
_NODE_FILE = re.compile(r"/sys/devices/system/node/node([0-9]+)/cpulist")
_CACHE_FILE = re.compile(
    r"/sys/devices/system/cpu/cpu0/cache/index([0-9]+)/(level|type|size|shared_cpu_list)"
)
_NET_FILE = re.compile(r"/sys/class/net/([^/]+)/(?:speed|operstate)")
_BLOCK_FILE = re.compile(r"/sys/class/block/([^/]+)/size")
_DEVICE_KINDS = {"0": "block", "1": "GPU", "2": "network", "3": "InfiniBand", "5": "coprocessor"}
_SIZES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class Device:
    """A device of a node."""

    kind: str
    name: str
    numa_node: int | None = None


@dataclass
class Hardware:
    """The hardware of a node; what is not known is 0 or empty."""

    source: str = ""
    certainty: Certainty = Certainty.SEEN
    model: str = ""
    packages: int = 0
    cores: int = 0
    threads: int = 0
    numa_nodes: int = 0
    memory_bytes: int = 0
    caches: Counter[tuple[int, str, int]] = field(default_factory=Counter)
    """How many there are of each level, type and size in bytes."""
    devices: list[Device] = field(default_factory=list)

    def described(self) -> dict[str, Any]:
        """Returns the entry ``topology.hardware`` of a description, as the probe writes it."""
        processor = {
            "model": self.model,
            "sockets": self.packages,
            "cores": self.cores,
            "hardware_threads": self.threads,
            "numa_nodes": self.numa_nodes,
            "caches": [
                {"level": level, "type": kind, "bytes": size, "count": count}
                for (level, kind, size), count in sorted(self.caches.items())
            ],
        }
        found: dict[str, Any] = {
            "processor": {name: value for name, value in processor.items() if value}
        }
        if self.memory_bytes:
            found["memory"] = {"bytes": self.memory_bytes}
        if self.devices:
            found["devices"] = [
                {"kind": one.kind, "name": one.name}
                | ({} if one.numa_node is None else {"numa_node": one.numa_node})
                for one in self.devices
            ]
        return found


def hardware_of(node: Node, *, strict: bool = True) -> Hardware | None:
    """Returns a node's hardware by the better of its texts; None if it has neither.

    A text that cannot be read raises DiscoveryError, or is passed over if not ``strict``.
    """
    readers: tuple[tuple[str, Callable[[Text], Hardware | None]], ...] = (
        (LSTOPO, read_lstopo),
        (SYSTEM, read_system),
    )
    for file, read in readers:
        try:
            text = node.text(file)
            found = None if text is None else read(text)
        except DiscoveryError:
            if strict:
                raise
            continue
        if found is not None:
            return found
    return None


# ---- hwloc --------------------------------------------------------------------------------------


class _Reader:
    """Counts the objects of hwloc's XML, version 2; nothing is kept of the tree but its path."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.found = Hardware("hwloc")
        self.parser = xml.parsers.expat.ParserCreate()
        self.parser.StartElementHandler = self.begin
        self.parser.EndElementHandler = self.end
        self.parser.EntityDeclHandler = self.refuse_entity
        self.path: list[tuple[str, dict[str, str]]] = []
        self.nodesets: list[str] = []
        self.objects = 0

    def read(self) -> Hardware:
        try:
            self.parser.Parse(self.text.content, True)
        except xml.parsers.expat.ExpatError as error:
            what = xml.parsers.expat.errors.messages[error.code]
            raise self.text.fault(
                error.lineno,
                f"is no XML, {what}",
                "the text may be cut, record lstopo --of xml again",
            ) from None
        if self.found.threads == 0:
            raise self.text.fault(
                1, "begins a text without processing units", "record lstopo --of xml again"
            )
        return self.found

    def fault(self, what: str) -> Exception:
        return self.text.fault(self.parser.CurrentLineNumber, what, "record lstopo --of xml again")

    def refuse_entity(self, *_: object) -> None:
        raise self.fault("declares an entity, which lstopo never does")

    def begin(self, name: str, about: dict[str, str]) -> None:
        if not self.path and name != "topology":
            raise self.fault(f"begins with {excerpt(name)}, not with hwloc's topology")
        self.objects += 1
        if len(self.path) >= DEEPEST_OBJECT or self.objects > MOST_OBJECTS:
            raise self.fault(f"is deeper than {DEEPEST_OBJECT} levels or has too many objects")
        self.path.append((name, about))
        if name == "object":
            self.count(about.get("type", ""), about)
        elif name == "info" and about.get("name") == "CPUModel" and not self.found.model:
            self.found.model = about.get("value", "")

    def end(self, _name: str) -> None:
        self.path.pop()

    def count(self, kind: str, about: dict[str, str]) -> None:
        found = self.found
        if kind == "Package":
            found.packages += 1
        elif kind == "Core":
            found.cores += 1
        elif kind == "PU":
            found.threads += 1
        elif kind == "NUMANode":
            found.numa_nodes += 1
            found.memory_bytes += self.number(about, "local_memory")
        elif cache := _CACHE.fullmatch(kind):
            type_ = "instruction" if cache[2] else "data" if cache[1] == "1" else "unified"
            found.caches[int(cache[1]), type_, self.number(about, "cache_size")] += 1
        elif kind == "OSDev" and len(found.devices) < MOST_DEVICES:
            self.add_device(about)

    def add_device(self, about: dict[str, str]) -> None:
        device = _DEVICE_KINDS.get(about.get("osdev_type", ""))
        if device is None:  # such as DMA engines
            return
        near = [one.get("nodeset") for _, one in self.path if one.get("nodeset")]
        self.found.devices.append(Device(device, about.get("name", ""), _only_bit(near)))

    def number(self, about: dict[str, str], name: str) -> int:
        value = about.get(name, "0")
        if not (value.isascii() and value.isdigit() and len(value) < 19):
            raise self.fault(f"has no number in {name}: '{excerpt(value)}'")
        return int(value)


def _only_bit(nodesets: list[str | None]) -> int | None:
    """Returns the NUMA node of the innermost set, if that has one node."""
    if not nodesets or nodesets[-1] is None or "," in nodesets[-1]:
        return None
    try:
        value = int(nodesets[-1], 16)
    except ValueError:
        return None
    return value.bit_length() - 1 if value.bit_count() == 1 else None


def read_lstopo(text: Text) -> Hardware:
    """Reads the output of ``lstopo --of xml``."""
    return _Reader(text).read()


# ---- /sys ---------------------------------------------------------------------------------------


def read_system(text: Text) -> Hardware | None:
    """Reads files of /sys and /proc; None if the processors are not among them."""
    values = read_values(text)
    found = Hardware("/sys")
    cores: dict[str, dict[str, str]] = {}
    caches: dict[str, dict[str, str]] = {}
    interfaces: dict[str, None] = {}
    for path, (_, value) in values.items():
        if one := _CPU_FILE.fullmatch(path):
            cores.setdefault(one[1], {})[one[2]] = value
        elif _NODE_FILE.fullmatch(path):
            found.numa_nodes += 1
        elif one := _CACHE_FILE.fullmatch(path):
            caches.setdefault(one[1], {})[one[2]] = value
        elif one := _NET_FILE.fullmatch(path):
            interfaces[one[1]] = None
        elif (one := _BLOCK_FILE.fullmatch(path)) and value != "0":
            found.devices.append(Device("block", one[1]))
    if not cores:
        return None
    found.devices += [Device("network", name) for name in interfaces if name != "lo"]
    found.devices = found.devices[:MOST_DEVICES]
    found.threads = len(cores)
    found.packages = len({one.get("physical_package_id") for one in cores.values()})
    found.cores = len({tuple(sorted(one.items())) for one in cores.values()})
    found.model = values.get("/proc/cpuinfo#model name", (0, ""))[1]
    line, memory = values.get("/proc/meminfo#MemTotal", (0, "0 kB"))
    found.memory_bytes = _number(text, line, memory.removesuffix(" kB")) * 1024
    for cache in caches.values():
        _add_cache(text, found, cache)
    return found


def _add_cache(text: Text, found: Hardware, cache: dict[str, str]) -> None:
    size, level = cache.get("size", ""), cache.get("level", "")
    if not size or size[-1] not in _SIZES or level not in {*"12345"}:
        return
    sharing = 1
    with contextlib.suppress(KeyError, HostListError):
        sharing = len(expand_hosts(f"[{cache['shared_cpu_list']}]"))
    kind = cache.get("type", "").lower()
    bytes_ = _number(text, 0, size[:-1]) * _SIZES[size[-1]]
    found.caches[int(level), kind, bytes_] += max(1, found.threads // sharing)


def _number(text: Text, line: int, value: str) -> int:
    if value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    raise text.fault(line, f"has no number: '{excerpt(value)}'", "record it again")
