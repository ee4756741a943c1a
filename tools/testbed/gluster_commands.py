"""The command ``gluster up``."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from testbed import gluster
from testbed.gluster import Gluster
from testbed.journal import Journal
from testbed.output import print_json
from testbed.quantities import parse_bytes
from testbed.undo import making


def add(parsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declares the command."""
    up = parsers.add_parser("up", help="start the servers and mount the volume")
    up.add_argument("--bricks", type=int, default=4, help="how many, 4 unless told otherwise")
    up.add_argument("--volume", choices=gluster.KINDS, default="distribute", dest="kind")
    up.add_argument("--shard-size", default="4MiB", help="of a shard volume")
    up.add_argument("--size", default="1GiB", help="of all bricks together, in memory")
    up.add_argument("--on-targets", action="store_true", help="one brick on each target that is up")
    up.add_argument("--json", action="store_true")
    up.set_defaults(act=_up)


def _up(arguments: argparse.Namespace) -> None:
    shard, size = parse_bytes(arguments.shard_size), parse_bytes(arguments.size)
    journal = Journal()
    with making(journal, gluster.PART):
        volume = gluster.up(
            journal, arguments.bricks, arguments.kind, shard, size, arguments.on_targets
        )
    if arguments.json:
        print_json(asdict(volume))
    else:
        print(described(volume))


def described(volume: Gluster) -> str:
    """Returns one line: mount point, kind, bricks."""
    kind = volume.kind
    if volume.shard_bytes is not None:
        kind += f" of {volume.shard_bytes >> 10} KiB"
    return f"{volume.directory}  GlusterFS, {kind}, bricks {' '.join(volume.bricks)}"
