"""GlusterFS: the extended attribute ``trusted.glusterfs.pathinfo``, as its documentation has it.

It names the translators of a file from the client down to the bricks: ``(<DISTRIBUTE:volume-dht>
<POSIX(/brick):host:/brick/file>)``; below ``<REPLICATE:...>`` each brick has a copy. Translators
that spread a file over its bricks (``STRIPE``, ``DISPERSE``, ``shard``) do not say how.
"""

from __future__ import annotations

import re

from weir.placement.layouts import Layout, Piece

ATTRIBUTES = ("trusted.glusterfs.pathinfo", "glusterfs.pathinfo")
_BRICK = re.compile(r"<POSIX\(([^)]*)\):([^:>]*):[^>]*>")
_SPREADS = re.compile(r"<(STRIPE|DISPERSE|EC)\b", re.IGNORECASE)


def parse_pathinfo(text: str) -> Layout | None:
    """Returns the layout of a file; targets are called as in the profile, ``HOST:BRICK``."""
    bricks = [f"{host}:{brick}" for brick, host in _BRICK.findall(text)]
    if not bricks or _SPREADS.search(text):
        return None
    return Layout((Piece(0, -1, 0, (bricks[0],), len(bricks)),))
