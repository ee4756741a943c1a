"""The command line of the test bed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from testbed import (
    ceph,
    ceph_commands,
    gluster,
    gluster_commands,
    host_commands,
    hosts,
    lock_commands,
    locks,
    slow_commands,
    target_commands,
    targets,
)
from testbed.down import everything_down, part_down, raise_failures
from testbed.errors import FAILED, USAGE, TestbedError
from testbed.journal import Journal, locked
from testbed.output import print_json
from testbed.undo import Interrupted, raise_signals

DESCRIPTION = """Hardware of known behaviour made out of this machine, as root.
docs/testbed.md says what each part gives and how exact it is."""

PARTS: dict[str, tuple[str, Callable[..., None]]] = {
    "targets": ("mounted file systems of set speed", target_commands.add),
    "hosts": ("hosts joined by links of set speed", host_commands.add),
    "ceph": ("CephFS: OSDs, their servers and a mount", ceph_commands.add),
    "gluster": ("GlusterFS: a volume over bricks, by its own servers", gluster_commands.add),
    "locks": ("a shared file system that counts changes of owner", lock_commands.add),
}


def parser() -> argparse.ArgumentParser:
    """Returns a parser for all commands with their options."""
    top = argparse.ArgumentParser(prog="testbed", description=DESCRIPTION)
    top.add_argument(
        "--wait", type=float, default=0.0, metavar="SECONDS",
        help="wait so long for another testbed command to end (otherwise refuse at once)",
    )  # fmt: skip
    top.set_defaults(is_exclusive=True, least_wait=0.0)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for part, (text, add) in PARTS.items():
        its_parser = commands.add_parser(part, help=text, description=text)
        its_commands = its_parser.add_subparsers(required=True, metavar="COMMAND")
        add(its_commands)
        down = its_commands.add_parser("down", help="take this part away")
        _add_kill(down)
        down.set_defaults(act=_part_down, part=part)
    text = "run a command slowed on purpose"
    slow = commands.add_parser("slow", help=text, description=text)
    slow_commands.add(slow.add_subparsers(required=True, metavar="COMMAND"))
    status = commands.add_parser("status", help="what is up")
    status.add_argument("--json", action="store_true")
    status.set_defaults(act=_status)
    down = commands.add_parser("down", help="take every trace away, also after a crash")
    _add_kill(down)
    # Processes that a killed command started may still run for a moment.
    down.set_defaults(act=_down, least_wait=30.0)
    return top


def _add_kill(down: argparse.ArgumentParser) -> None:
    down.add_argument("--kill", action="store_true", help="end processes that use what goes away")


def _part_down(arguments: argparse.Namespace) -> None:
    journal = Journal()
    raise_failures(part_down(journal, arguments.part, end_users=arguments.kill))


def _down(arguments: argparse.Namespace) -> None:
    everything_down(end_users=arguments.kill)


def _status(arguments: argparse.Namespace) -> None:
    journal = Journal()
    if arguments.json:
        print_json({part: journal.facts(part) for part in journal.parts()})
        return
    if not journal.parts():
        print("nothing is up")
    for part in journal.parts():
        facts = journal.facts(part)
        if facts is None:
            print(f"{part}: half made; take it away with: testbed down")
        elif part == "targets":
            target_commands.show(targets.listed(journal), False)
        elif part == "hosts":
            host_commands.show(hosts.listed(journal), hosts.listed_switches(journal), False)
        elif part == "ceph":
            print(ceph_commands.described(ceph.from_facts(facts)))
        elif part == "gluster":
            print(gluster_commands.described(gluster.from_facts(facts)))
        elif part == "locks":
            print(lock_commands.described(locks.from_facts(facts)))


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    arguments = parser().parse_args(words)
    raise_signals()
    try:
        if os.geteuid() != 0:
            raise TestbedError("only root can change what the test bed is made of; use sudo", USAGE)
        if not arguments.is_exclusive:
            status: int | None = arguments.act(arguments)
            return status or 0
        with locked(max(arguments.wait, arguments.least_wait)):
            arguments.act(arguments)
    except TestbedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return error.status
    except OSError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return FAILED
    except Interrupted as interrupted:
        print("testbed: interrupted; `testbed status` tells what is up", file=sys.stderr)
        return 128 + interrupted.number
    return 0
