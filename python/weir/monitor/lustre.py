"""Lustre: the files ``stats`` of llite, osc and obdfilter, ``md_stats`` of mdt, and ``job_stats``.

They are described in the Lustre Operations Manual (Monitoring a Lustre File System) and printed by
lprocfs_status.c. A line of ``stats`` is ``NAME COUNT samples [UNIT] MIN MAX SUM [SUMSQUARES]``;
lines of events without a unit of their own end after ``[regs]`` or ``[reqs]``. ``job_stats`` is
YAML with such figures by name, one entry for each job.

obdfilter counts at the target, whoever moved the bytes. osc counts, by target, what this client
moved, and llite what its programs asked for, which the page cache may have served.
"""

from __future__ import annotations

import re

from weir.monitor.counters import Key, Kind, Values

MICROSECOND = 1_000
SUM_AT = 6
KIND_OF: dict[str, Kind] = {
    "obdfilter": "target",
    "mdt": "server",
    "osc": "client",
    "llite": "client",
    "job_stats": "client",
}
CALLS = {"osc": ("ost_read", "ost_write"), "obdfilter": ("read", "write")}
_INSTANCE = re.compile(r"(-osc)?-[0-9a-f]{8,}$|-osc-MDT[0-9a-f]{4}$")
_JOB = re.compile(r"^- job_id:\s*(\S+)")
_FIGURE = re.compile(r"^\s+(read_bytes|write_bytes):\s*\{(.*)\}")


def name_of(folder: str) -> str:
    """Returns the name of a file system or target: without the mount's address at the end."""
    return _INSTANCE.sub("", folder)


def parse_stats(source: str, name: str, text: str) -> dict[Key, Values]:
    """Returns the counters of one file ``stats`` or ``md_stats``."""
    own = Values()
    for line in text.splitlines():
        words = line.split()
        if len(words) < 3 or words[2] != "samples":
            continue
        count = int(words[1])
        total = int(words[SUM_AT]) if len(words) > SUM_AT else 0
        what = words[0]
        if what == "read_bytes":
            own = own._replace(bytes_read=total, operations=own.operations + count)
        elif what == "write_bytes":
            own = own._replace(bytes_written=total, operations=own.operations + count)
        elif source == "mdt":
            own = own._replace(operations=own.operations + count)
        if what in CALLS.get(source, ()) or source == "mdt":
            own = own._replace(busy_ns=own.busy_ns + total * _unit_ns(words))
    return {Key(KIND_OF[source], source, name): own}


def _unit_ns(words: list[str]) -> int:
    return MICROSECOND if len(words) > 3 and words[3] in ("[usec]", "[usecs]") else 0


def parse_job_stats(name: str, text: str) -> dict[Key, Values]:
    """Returns what each job moved on one target; the key's name is ``JOB@TARGET``."""
    found: dict[Key, Values] = {}
    key: Key | None = None
    for line in text.splitlines():
        if job := _JOB.match(line):
            key = Key(KIND_OF["job_stats"], "job_stats", f"{job.group(1)}@{name}")
            found[key] = Values()
        elif key is not None and (figure := _FIGURE.match(line)):
            parts = dict(part.split(":", 1) for part in figure.group(2).split(",") if ":" in part)
            parts = {what.strip(): value.strip() for what, value in parts.items()}
            total, count = int(parts.get("sum", 0)), int(parts.get("samples", 0))
            own = found[key]
            field = "bytes_read" if figure.group(1) == "read_bytes" else "bytes_written"
            found[key] = own._replace(**{field: total}, operations=own.operations + count)
    return found
