"""Network cards: ``/proc/net/dev`` (proc(5)) and the port counters of InfiniBand in /sys.

A card reads what it receives and writes what it transmits; operations are packets. InfiniBand
counts data in words of 4 bytes (sysfs-class-infiniband of the kernel's Documentation/ABI).
"""

from __future__ import annotations

from collections.abc import Mapping

from weir.monitor.counters import Key, Values

SOURCE = "network"
INFINIBAND = "infiniband"
WORD_BYTES = 4
COLUMNS = 16


def parse_line(line: bytes) -> tuple[Key, Values] | None:
    """Returns the counters of one card from a line of ``/proc/net/dev``; None for its headings."""
    name, colon, rest = line.partition(b":")
    words = rest.split()
    if not colon or len(words) < COLUMNS:
        return None
    received, packets_in, sent, packets_out = (int(words[place]) for place in (0, 1, 8, 9))
    key = Key("link", SOURCE, name.strip().decode())
    return key, Values(received, sent, packets_in + packets_out)


def parse_port(name: str, texts: Mapping[str, bytes]) -> tuple[Key, Values] | None:
    """Returns the counters of a port from the contents of its files, by the files' names."""
    try:
        received, sent, packets_in, packets_out = (
            int(texts[file])
            for file in (
                "port_rcv_data",
                "port_xmit_data",
                "port_rcv_packets",
                "port_xmit_packets",
            )
        )
    except (KeyError, ValueError):
        return None
    counted = Values(received * WORD_BYTES, sent * WORD_BYTES, packets_in + packets_out)
    return Key("link", INFINIBAND, name), counted
