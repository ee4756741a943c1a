"""Ceph: ``perf dump`` of the daemons, JSON over their admin sockets.

For an OSD the section ``osd`` has ``op`` (operations of clients), ``op_in_bytes``, ``op_out_bytes``
and ``op_latency`` (``sum`` in seconds over ``avgcount`` operations); for an MDS the section ``mds``
has ``request`` and ``reply_latency``. Ceph's documentation has them under "Perf counters". Bytes
of replicas (``subop``) are not counted, so that a sum over OSDs is what clients moved.
"""

from __future__ import annotations

import json
from typing import Any

from weir.monitor.counters import Key, Values

SOURCE = "ceph"
SECOND = 1_000_000_000


def parse_perf_dump(name: str, text: bytes) -> dict[Key, Values]:
    """Returns the counters of one daemon, named such as ``osd.3``; none for other daemons."""
    dump = json.loads(text)
    if isinstance(own := dump.get("osd"), dict):
        values = Values(
            int(own.get("op_out_bytes", 0)),
            int(own.get("op_in_bytes", 0)),
            int(own.get("op", 0)),
            _latency_ns(own.get("op_latency")),
        )
        return {Key("target", SOURCE, name): values}
    if isinstance(own := dump.get("mds"), dict):
        requests = int(own.get("request", 0))
        values = Values(operations=requests, busy_ns=_latency_ns(own.get("reply_latency")))
        return {Key("server", SOURCE, name): values}
    return {}


def _latency_ns(latency: Any) -> int:
    return round(float(latency.get("sum", 0)) * SECOND) if isinstance(latency, dict) else 0
