"""GlusterFS: ``gluster volume profile VOLUME info cumulative``.

The Administrator Guide ("Monitoring your GlusterFS Workload") shows its output: for each brick a
heading ``Brick: HOST:PATH``, the part ``Cumulative Stats:`` with a table of calls (share; average,
least and greatest latency; number of calls; name), and the totals ``Data Read:`` and ``Data
Written:`` in bytes. Latencies are in ``us`` in the guide; version 10 prints them in ``ns``. A part
``Interval N Stats:`` may follow, which is passed over. The volume's profile must have been started
by ``gluster volume profile VOLUME start``.
"""

from __future__ import annotations

import re

from weir.monitor.counters import Key, Values

SOURCE = "gluster"
NANOSECONDS = {"ns": 1, "us": 1_000}
_LATENCY = r"([\d.]+) (ns|us)\s+"
_CALL = re.compile(rf"\s*[\d.]+\s+{_LATENCY}{_LATENCY}{_LATENCY}(\d+)\s+\w+\s*$")


def parse_profile(text: str) -> dict[Key, Values]:
    """Returns the counters of every brick."""
    found: dict[Key, Values] = {}
    key: Key | None = None
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("Brick: "):
            key = Key("target", SOURCE, stripped.removeprefix("Brick: ").strip())
            found[key] = Values()
            counts = True
        elif key is None:
            continue
        elif stripped.startswith("Interval "):
            counts = False
        elif stripped.startswith("Cumulative "):
            counts = True
        elif counts:
            found[key] = _with_line(found[key], stripped)
    return found


def _with_line(own: Values, line: str) -> Values:
    if line.startswith("Data Read:"):
        return own._replace(bytes_read=int(line.split()[2]))
    if line.startswith("Data Written:"):
        return own._replace(bytes_written=int(line.split()[2]))
    call = _CALL.match(line)
    if call is None:
        return own
    average, unit, count = float(call.group(1)), call.group(2), int(call.group(7))
    return own._replace(
        operations=own.operations + count,
        busy_ns=own.busy_ns + round(average * count * NANOSECONDS[unit]),
    )
