"""Processors: the first line of ``/proc/stat``, as proc_stat(5) has it.

The words after ``cpu`` are ticks of all processors in user mode, nice, system, idle, waiting for
input and output, in interrupts of two kinds, and stolen by the hypervisor. All but idle, waiting
and stolen ones are busy. The time is summed over the processors. On a server it says whether the
server itself is what limits.
"""

from __future__ import annotations

import os

from weir.monitor.counters import Key, Values

SOURCE = "processors"
SECOND = 1_000_000_000
BUSY_AT = (0, 1, 2, 5, 6)
_TICK_NS = SECOND // os.sysconf("SC_CLK_TCK")


def parse_line(line: bytes) -> tuple[Key, Values] | None:
    """Returns the counter of all processors; None for a line of one of them, or another."""
    words = line.split()
    if len(words) <= max(BUSY_AT) + 1 or words[0] != b"cpu":
        return None
    busy = sum(int(words[1 + place]) for place in BUSY_AT)
    return Key("host", SOURCE, "processors"), Values(busy_ns=busy * _TICK_NS)
