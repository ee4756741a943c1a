"""The commands ``locks up``, ``locks count`` and ``locks clear``."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from testbed import locks
from testbed.journal import Journal
from testbed.locks import Locks
from testbed.output import print_json
from testbed.quantities import parse_bytes
from testbed.undo import making


def add(parsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declares the commands."""
    up = parsers.add_parser("up", help="mount the file system once for each client")
    up.add_argument("--clients", type=int, default=4, help="how many, 4 unless told otherwise")
    up.add_argument("--extent", default="1MiB", help="what one client at a time may own")
    up.add_argument("--size", default="256MiB", help="of all files together, in memory")
    up.add_argument(
        "--pages-of",
        metavar="TYPE",
        help="clients keep pages as NFS's do, and the type is fuse.TYPE; else their writes are "
        "seen at once",
    )
    up.add_argument("--json", action="store_true")
    up.set_defaults(act=_up)

    count = parsers.add_parser("count", help="how often extents changed their owner")
    count.add_argument("--json", action="store_true")
    count.set_defaults(act=_count)

    clear = parsers.add_parser("clear", help="forget owners and counts")
    clear.set_defaults(act=_clear)


def _up(arguments: argparse.Namespace) -> None:
    extent, size = parse_bytes(arguments.extent), parse_bytes(arguments.size)
    journal = Journal()
    with making(journal, locks.PART):
        made = locks.up(journal, arguments.clients, extent, size, arguments.pages_of)
    if arguments.json:
        print_json(asdict(made))
    else:
        print(described(made))


def _count(arguments: argparse.Namespace) -> None:
    counts = locks.counted(Journal())
    if arguments.json:
        print_json(asdict(counts))
    else:
        print(
            f"{counts.changes} changes of owner; {counts.extents} extents written by "
            f"{counts.writes} calls"
        )


def _clear(_arguments: argparse.Namespace) -> None:
    locks.clear(Journal())


def described(made: Locks) -> str:
    """Returns one line for each client, and one that says where hosts have theirs."""
    lines = [f"{client}  extents of {made.extent_bytes >> 10} KiB" for client in made.clients]
    lines.append(f"on each host its own client:  {made.own}")
    return "\n".join(lines)
