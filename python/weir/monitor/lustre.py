"""Lustre: ``stats`` of llite, osc and obdfilter, ``md_stats`` of mdt, ``job_stats``, ``brw_stats``.

They are described in the Lustre Operations Manual (Monitoring a Lustre File System) and printed by
lprocfs_status.c. A line of ``stats`` is ``NAME COUNT samples [UNIT] MIN MAX SUM [SUMSQUARES]``;
lines of events without a unit of their own end after ``[regs]`` or ``[reqs]``. ``job_stats`` is
YAML with such figures by name, one entry for each job; at an MDT they are operations. ``brw_stats``
of targets and ``rpc_stats`` of osc are histograms: each has a heading, and lines ``SIZE: COUNT % %
| COUNT % %`` for reads and writes. The size is the largest of its line, in pages or bytes.

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
    "mdt_job_stats": "client",
    "brw_stats": "requests",
    "rpc_stats": "requests",
}
CALLS = {"osc": ("ost_read", "ost_write"), "obdfilter": ("read", "write")}
_INSTANCE = re.compile(r"(-osc)?-[0-9a-f]{8,}$|-osc-MDT[0-9a-f]{4}$")
_JOB = re.compile(r"^- job_id:\s*(\S+)")
_FIGURE = re.compile(r"^\s+(\w+):\s*\{(.*)\}")
_BYTES = {"read_bytes": "bytes_read", "write_bytes": "bytes_written"}
_HISTOGRAM = re.compile(r"^(\S.*?)\s+\w+\s+% cum %")
_BUCKET = re.compile(r"^(\d+[KMG]?):\s+(\d+)\s+\d+\s+\d+\s+\|\s+(\d+)\s+\d+\s+\d+\s*$")
_SIZES = {
    "pages per bulk r/w": "{} RPCs of {} pages",
    "pages per rpc": "{} RPCs of {} pages",
    "disk I/O size": "{} disk I/Os of {}",
}
"""The histograms of sizes by their headings, and how a line of them is called."""


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


def parse_job_stats(source: str, name: str, text: str) -> dict[Key, Values]:
    """Returns what each job did on one target; the key's name is ``JOB@TARGET``."""
    found: dict[Key, Values] = {}
    key: Key | None = None
    for line in text.splitlines():
        if job := _JOB.match(line):
            key = Key(KIND_OF[source], source, f"{job.group(1)}@{name}")
            found[key] = Values()
        elif key is not None and (figure := _FIGURE.match(line)):
            what, own = figure.group(1), found[key]
            parts = dict(part.split(":", 1) for part in figure.group(2).split(",") if ":" in part)
            parts = {word.strip(): value.strip() for word, value in parts.items()}
            count = int(parts.get("samples", 0))
            if field := _BYTES.get(what):
                total = int(parts.get("sum", 0))
                found[key] = own._replace(**{field: total}, operations=own.operations + count)
            elif source == "mdt_job_stats":
                found[key] = own._replace(operations=own.operations + count)
    return found


def parse_sizes(source: str, name: str, text: str) -> dict[Key, Values]:
    """Returns how many requests of each size a target or client had, of sizes that occurred."""
    found: dict[Key, Values] = {}
    called: str | None = None
    for line in text.splitlines():
        if heading := _HISTOGRAM.match(line):
            called = _SIZES.get(heading.group(1))
        elif called is not None and (bucket := _BUCKET.match(line)):
            for direction, count in (("read", bucket.group(2)), ("write", bucket.group(3))):
                if int(count):
                    words = called.format(direction, bucket.group(1))
                    key = Key(KIND_OF[source], source, f"{name} {words}")
                    found[key] = Values(operations=int(count))
    return found
