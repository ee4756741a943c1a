"""BeeGFS: ``beegfs-ctl --serverstats --nodetype=storage --perserver --names --interval=1``.

It prints every second a heading ``===== time index: SECONDS =====``, the names of columns, and one
row for each server with what it moved in that second: ``nodeID write_KiB read_KiB reqs qlen bsy
name`` (ModeIOStat.cpp of BeeGFS 7). The servers keep no totals, so they are summed here; nothing
shorter than a second can be seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from weir.monitor.counters import Key, Values

SOURCE = "beegfs"
KIB = 1024
COMMAND = (
    "beegfs-ctl",
    "--serverstats",
    "--nodetype=storage",
    "--perserver",
    "--names",
    "--interval=1",
)
COLUMNS = 7
_HEADING = re.compile(r"=+ time index: (\d+)\b.*=+\s*$")


@dataclass
class ServerTotals:
    """Sums what servers moved, from the lines of the command as they arrive."""

    totals: dict[Key, Values] = field(default_factory=dict)
    second: int = -1
    counts: bool = False
    """Whether the rows belong to a second that was not summed before."""

    def add(self, line: str) -> bool:
        """Processes one line; returns whether it begins a second."""
        if heading := _HEADING.match(line.strip()):
            second = int(heading.group(1))
            self.counts = second > self.second
            self.second = max(self.second, second)
            return self.counts
        words = line.split(None, COLUMNS - 1)
        if not self.counts or len(words) < COLUMNS or not words[1].isdigit():
            return False
        key = Key("target", SOURCE, words[6].strip())
        old = self.totals.get(key, Values())
        self.totals[key] = old._replace(
            bytes_read=old.bytes_read + int(words[2]) * KIB,
            bytes_written=old.bytes_written + int(words[1]) * KIB,
            operations=old.operations + int(words[3]),
        )
        return False
