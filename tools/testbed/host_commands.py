"""The commands of ``hosts``, except ``down``: to make, change, describe, count and use them."""

from __future__ import annotations

import argparse
import os
import shlex
from dataclasses import asdict

from testbed import hosts, targets
from testbed.description import platform_of
from testbed.errors import USAGE, TestbedError
from testbed.hosts import Host, Switch
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
    up.add_argument("--switches", type=int, default=1, help="with an equal block of hosts each")
    up.add_argument(
        "--between", metavar="LIST", help="link of each switch to the one above: 25mbit"
    )
    up.add_argument("--json", action="store_true")
    up.set_defaults(act=_up)

    change = parsers.add_parser("set", help="change the link of a host or switch that is up")
    change.add_argument("host", metavar="host|switch")
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

    carried = parsers.add_parser("traffic", help="print the bytes that each link has carried")
    carried.add_argument("--json", action="store_true")
    carried.set_defaults(act=_traffic)

    text = "print the hosts as a platform description for weir sim"
    platform = parsers.add_parser("platform", help=text, description=text)
    platform.add_argument("--ranks-per-host", type=int, required=True)
    platform.add_argument("--target", help="where the files are; otherwise in memory")
    platform.set_defaults(act=_platform)

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
    between = _between(arguments, count)
    journal = Journal()
    with making(journal, hosts.PART):
        made, switches = hosts.up(journal, links, between)
    show(made, switches, arguments.json)


def _between(arguments: argparse.Namespace, count: int) -> list[int]:
    """Returns the rate of the link of each switch; none if there is one switch."""
    switches = arguments.switches
    if switches < 1 or count % switches:
        raise TestbedError(
            f"--switches {switches}: give a number that divides the {count} hosts", USAGE
        )
    if (arguments.between is None) != (switches == 1):
        raise TestbedError(
            "--between is the rate of the links of several switches: give both or neither", USAGE
        )
    if switches == 1:
        return []
    between = parse_list(arguments.between, parse_bit_rate)
    if len(between) not in (1, switches):
        raise TestbedError(f"--between lists {len(between)} rates for {switches} switches", USAGE)
    return between if len(between) == switches else between * switches


def _set(arguments: argparse.Namespace) -> None:
    changed = hosts.set_link(Journal(), arguments.host, parse_bit_rate(arguments.link))
    if arguments.json:
        kind = "hosts" if isinstance(changed, Host) else "switches"
        print_json({kind: [asdict(changed)]})
    else:
        print(described(changed))


def _unplug(arguments: argparse.Namespace) -> None:
    hosts.unplug(Journal(), arguments.host)


def _plug_in(arguments: argparse.Namespace) -> None:
    hosts.plug_in(Journal(), arguments.host)


def _traffic(arguments: argparse.Namespace) -> None:
    carried = hosts.traffic(Journal())
    if arguments.json:
        print_json({"links": [asdict(link) for link in carried]})
        return
    for link in carried:
        print(f"{link.name}  {link.up} bytes up, {link.down} bytes down")


def _platform(arguments: argparse.Namespace) -> None:
    journal = Journal()
    if arguments.ranks_per_host < 1:
        raise TestbedError(f"--ranks-per-host {arguments.ranks_per_host}: give 1 or more", USAGE)
    target = None if arguments.target is None else targets.find(journal, arguments.target)
    switches = hosts.listed_switches(journal)
    print(platform_of(hosts.needed(journal), switches, target, arguments.ranks_per_host), end="")


def _launcher(arguments: argparse.Namespace) -> None:
    made = hosts.needed(Journal())
    if arguments.ranks < 1:
        raise TestbedError(f"{arguments.ranks} ranks asked for; give 1 or more", USAGE)
    print(shlex.join(launcher(len(made), arguments.ranks)))


def _run(arguments: argparse.Namespace) -> None:
    words = entering(hosts.find(Journal(), arguments.host).name, command_of(arguments))
    environment = {**os.environ, "PATH": search_path()}
    os.execve(words[0], [str(word) for word in words], environment)


def show(made: list[Host], switches: list[Switch], as_json: bool) -> None:
    """Prints the hosts and how to start ranks on them, for a person or as JSON."""
    example = launcher(len(made), 2 * len(made))
    if as_json:
        print_json(
            {
                "hosts": [asdict(host) for host in made],
                "switches": [asdict(switch) for switch in switches],
                "launcher": example,
                "environment": str(ENVIRONMENT),
            }
        )
        return
    for host in made:
        at = f", on {switches[host.switch].name}" if switches else ""
        print(described(host) + at)
    for switch in switches:
        print(described(switch))
    print(f'ranks on them:  weir bench ... --launcher "{shlex.join(example)}"')
    print(f"environment of that launcher:  {ENVIRONMENT}")


def described(one: Host | Switch) -> str:
    """Returns one line: name, address, link."""
    address = f"{one.address}, " if isinstance(one, Host) else ""
    return f"{one.name}  {address}link {show_bit_rate(one.link)} each way"
