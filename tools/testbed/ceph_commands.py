"""The command ``ceph up``."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from testbed import ceph
from testbed.ceph import Ceph
from testbed.journal import Journal
from testbed.output import print_json
from testbed.quantities import parse_bytes
from testbed.undo import making


def add(parsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declares the command."""
    up = parsers.add_parser("up", help="start the servers and mount the file system")
    up.add_argument("--osds", type=int, default=4, help="how many, 4 unless told otherwise")
    up.add_argument("--store", choices=ceph.STORES, default="memstore")
    up.add_argument("--size", default="2GiB", help="of all OSDs together, in memory")
    up.add_argument(
        "--on-targets", action="store_true", help="one OSD (bluestore) on each target that is up"
    )
    up.add_argument("--json", action="store_true")
    up.set_defaults(act=_up)


def _up(arguments: argparse.Namespace) -> None:
    size = parse_bytes(arguments.size)
    journal = Journal()
    with making(journal, ceph.PART):
        made = ceph.up(journal, arguments.osds, arguments.store, size, arguments.on_targets)
    if arguments.json:
        print_json(asdict(made))
    else:
        print(described(made))


def described(made: Ceph) -> str:
    """Returns one line: mount point, store, OSDs."""
    return (
        f"{made.directory}  CephFS, {len(made.osds)} OSDs of {made.osd_bytes >> 20} MiB "
        f"({made.store}) in {' '.join(made.osds)}; ask it with: "
        f"nsenter --net=/run/netns/weir-ceph ceph -c {made.configuration} status"
    )
