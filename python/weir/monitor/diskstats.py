"""Block devices: ``/proc/diskstats``, as the kernel's Documentation/admin-guide/iostats.rst has it.

After the device's numbers and name come reads completed, reads merged, sectors read, milliseconds
of reads, the same four of writes, requests in flight, and milliseconds in which the device had any
request. A sector has 512 bytes, whatever the device's own size. Later kernels append more columns.
"""

from __future__ import annotations

from weir.monitor.counters import Key, Values

SOURCE = "diskstats"
SECTOR_BYTES = 512
MILLISECOND = 1_000_000
COLUMNS = 13


def parse_line(line: bytes) -> tuple[Key, Values] | None:
    """Returns the counters of one device; None for a line that is not one."""
    words = line.split(None, COLUMNS)
    if len(words) < COLUMNS:
        return None
    reads, sectors_read = int(words[3]), int(words[5])
    writes, sectors_written = int(words[7]), int(words[9])
    return Key("target", SOURCE, words[2].decode()), Values(
        sectors_read * SECTOR_BYTES,
        sectors_written * SECTOR_BYTES,
        reads + writes,
        int(words[12]) * MILLISECOND,
    )
