"""GlusterFS: the extended attribute ``trusted.glusterfs.pathinfo``, as its documentation has it.

It names the translators of a file from the client down to the bricks: ``(<DISTRIBUTE:volume-dht>
<POSIX(/brick):host:/brick/file>)``; below ``<REPLICATE:...>`` each brick has a copy. Translators
that spread a file over its bricks (``STRIPE``, ``DISPERSE``) do not say how, and a translator
``features/shard`` above them is not named at all: the client's folder ``.meta`` has it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection
from pathlib import Path

from weir.placement.layouts import Layout, Piece

ATTRIBUTES = ("trusted.glusterfs.pathinfo", "glusterfs.pathinfo")
USUAL_SHARD_BYTES = 64 << 20
"""The default of ``features.shard-block-size``."""
_BRICK = re.compile(r"<POSIX\(([^)]*)\):([^:>]*):[^>]*>")
_SPREADS = re.compile(r"<(STRIPE|DISPERSE|EC)\b", re.IGNORECASE)


def shard_bytes_of(mount: Path) -> int | None:
    """Returns the bytes of a shard; None if the volume at this mount point has no shards.

    None also where the client does not show its translators in the folder ``.meta``.
    """
    for kind in mount.glob(".meta/graphs/active/*/type"):
        with contextlib.suppress(OSError, ValueError):
            if kind.read_text().strip() != "features/shard":
                continue
            size = kind.parent / "options" / "shard-block-size"
            return int(size.read_text()) if size.exists() else USUAL_SHARD_BYTES
    return None


def names_in_profile(placed: Collection[str], counted: Collection[str]) -> dict[str, str]:
    """Returns what ``gluster volume profile`` calls bricks that pathinfo calls otherwise.

    Pathinfo has the own name of a brick's server, and the profile the name or the address by which
    the brick was added to its volume. A brick is left out if several servers have its path.
    """
    found = {}
    for name in set(placed) - set(counted):
        path = name.partition(":")[2]
        alike = [one for one in counted if one.partition(":")[2] == path]
        same = [one for one in placed if one.partition(":")[2] == path]
        if len(alike) == len(same) == 1:
            found[name] = alike[0]
    return found


def parse_pathinfo(text: str) -> Layout | None:
    """Returns the layout of a file; targets are called ``HOST:BRICK``, as in the profile.

    The host may be called otherwise there, see ``names_in_profile``.
    """
    bricks = [f"{host}:{brick}" for brick, host in _BRICK.findall(text)]
    if not bricks or _SPREADS.search(text):
        return None
    return Layout((Piece(0, -1, 0, (bricks[0],), len(bricks)),))
