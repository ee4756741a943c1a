"""BeeGFS: ``beegfs-ctl --getentryinfo FILE``, as its documentation ("Deep Inspection") shows it.

The lines that matter are ``+ Chunksize: 512K`` and below ``+ Storage targets:`` one for each target
of the file in the order of its chunks: ``+ 101 @ storage1 [ID: 1]``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from weir.placement.layouts import Layout, Piece

_CHUNK = re.compile(r"^\s*\+ Chunksize: (\d+)([KMG]?)", re.IGNORECASE | re.MULTILINE)
_TARGET = re.compile(r"^\s*\+ (\d+) @ (\S+) \[ID: \d+\]", re.MULTILINE)
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_entry(text: str) -> tuple[Layout, Mapping[str, str]] | None:
    """Returns the layout of a file, and the server of each of its targets."""
    chunk, found = _CHUNK.search(text), _TARGET.findall(text)
    if chunk is None or not found:
        return None
    stripe_bytes = int(chunk.group(1)) * _FACTORS[chunk.group(2).upper()]
    targets = tuple(number for number, _ in found)
    return Layout((Piece(0, -1, stripe_bytes, targets),)), dict(found)
