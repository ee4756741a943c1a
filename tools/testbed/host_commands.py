"""The commands ``hosts up``, ``set``, ``unplug``, ``plug-in``, ``launcher`` and ``run``."""

from __future__ import annotations

import argparse
import os
import shlex
from dataclasses import asdict

from testbed import hosts
from testbed.errors import USAGE, TestbedError
from testbed.hosts import Host
from testbed.journal import Journal
from testbed.launching import ENVIRONMENT, entering, launcher
from testbed.output import print_json
from testbed.programs import search_path
from testbed.quantities import parse_bit_rate, parse_list, show_bit_rate
from testbed.slow_commands import command_of
from testbed.undo import making


def add(parsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declares the commands."""
    up = parsers.add_parser("up", help="make hosts")
    up.add_argument("--count", type=int, help="how many; otherwise as many as links are listed")
    up.add_argument("--link", default="1gbit", metavar="LIST", help="1gbit, or 1gbit,1gbit,100mbit")
    up.add_argument("--json", action="store_true")
    up.set_defaults(act=_up)

    change = parsers.add_parser("set", help="change the link of a host that is up")
    change.add_argument("host")
    change.add_argument("--link", required=True, metavar="RATE", help="such as 100mbit")
    change.add_argument("--json", action="store_true")
    change.set_defaults(act=_set)

    for name, act, about in (
        ("unplug", _unplug, "lose all packets to and from a host, in silence"),
        ("plug-in", _plug_in, "undo unplug"),
    ):
        cable = parsers.add_parser(name, help=about)
        cable.add_argument("host")
        cable.set_defaults(act=act)

    words = parsers.add_parser("launcher", help="print the command that starts ranks on the hosts")
    words.add_argument("-n", "--ranks", type=int, required=True)
    words.set_defaults(act=_launcher)

    inside = parsers.add_parser("run", help="run a command on a host")
    inside.add_argument("host")
    inside.add_argument("command", nargs=argparse.REMAINDER, help="-- COMMAND [WORD...]")
    inside.set_defaults(act=_run, is_exclusive=False)


def _up(arguments: argparse.Namespace) -> None:
    links = parse_list(arguments.link, parse_bit_rate)
    count = len(links) if arguments.count is None else arguments.count
    if not 1 <= count <= hosts.MOST_HOSTS:
        raise TestbedError(f"{count} hosts asked for; 1 to {hosts.MOST_HOSTS} can be", USAGE)
    if len(links) not in (1, count):
        raise TestbedError(f"--link lists {len(links)} rates for {count} hosts", USAGE)
    if len(links) == 1:
        links *= count
    journal = Journal()
    with making(journal, hosts.PART):
        made = hosts.up(journal, links)
    show(made, arguments.json)


def _set(arguments: argparse.Namespace) -> None:
    changed = hosts.set_link(Journal(), arguments.host, parse_bit_rate(arguments.link))
    if arguments.json:
        print_json({"hosts": [asdict(changed)]})
    else:
        print(described(changed))


def _unplug(arguments: argparse.Namespace) -> None:
    hosts.unplug(Journal(), arguments.host)


def _plug_in(arguments: argparse.Namespace) -> None:
    hosts.plug_in(Journal(), arguments.host)


def _launcher(arguments: argparse.Namespace) -> None:
    made = hosts.listed(Journal())
    if not made:
        raise TestbedError("no hosts are up; make some with: testbed hosts up", USAGE)
    if arguments.ranks < 1:
        raise TestbedError(f"{arguments.ranks} ranks asked for; give 1 or more", USAGE)
    print(shlex.join(launcher(len(made), arguments.ranks)))


def _run(arguments: argparse.Namespace) -> None:
    words = entering(hosts.find(Journal(), arguments.host).name, command_of(arguments))
    environment = {**os.environ, "PATH": search_path()}
    os.execve(words[0], [str(word) for word in words], environment)


def show(made: list[Host], as_json: bool) -> None:
    """Prints the hosts and how to start ranks on them, for a person or as JSON."""
    example = launcher(len(made), 2 * len(made))
    if as_json:
        print_json(
            {
                "hosts": [asdict(host) for host in made],
                "launcher": example,
                "environment": str(ENVIRONMENT),
            }
        )
        return
    for host in made:
        print(described(host))
    print(f'ranks on them:  weir bench ... --launcher "{shlex.join(example)}"')
    print(f"environment of that launcher:  {ENVIRONMENT}")


def described(host: Host) -> str:
    """Returns one line: name, address, link."""
    return f"{host.name}  {host.address}, link {show_bit_rate(host.link)} each way"
