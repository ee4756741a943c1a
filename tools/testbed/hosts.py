"""Hosts: network namespaces with their own names, joined to switches by links of set speed.

    weir-host0 ── eth0 ══ port0 ──┐
    weir-host1 ── eth0 ══ port1 ──┤ bridge `switch` in the namespace weir-switch
    ...                           │
    weir-hostN ── eth0 ══ portN ──┘

With several switches each has an equal block of the hosts, and a link to one above them:

    weir-host0 ── eth0 ══ port0 ──┬ switch0 ── up0 ══ down0 ──┐
    weir-host1 ── eth0 ══ port1 ──┘                           │ bridge `switch`, as the others
    weir-host2 ── eth0 ══ port2 ──┬ switch1 ── up1 ══ down1 ──┘ in the namespace weir-switch
    weir-host3 ── eth0 ══ port3 ──┘

A link is a veth pair with a token bucket at each end: that at the host's ``eth0`` limits what the
host sends, that at the switch's port what it receives; a switch's link likewise. All hosts see the
same files. An MPI launcher starts ranks on them through ``launching.py``. Nothing is added to the
machine's own network: pairs are made inside the namespaces and disappear with them.

TCP uses Reno for congestion control on every host, so that figures from different systems are
comparable.

Addresses are in 198.18.0.0/15, which RFC 2544 reserves for measuring networks.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from testbed.errors import USAGE, TestbedError
from testbed.journal import Journal, Resource
from testbed.launching import write_launcher
from testbed.programs import require_programs, run
from testbed.removal import NAMESPACES

PART = "hosts"
SWITCH = "weir-switch"
ABOVE = "switch"
"""The bridge of all hosts, or above the switches."""
NAME_PATTERN = r"weir-(host\d+|switch)"
HOSTS_FILES = Path("/etc/netns")
MOST_HOSTS = 64

BURST_SECONDS = 0.008
SMALLEST_BURST = 128 << 10
"""A bucket holds at least one large segment of 64 KiB; otherwise the kernel divides segments."""
QUEUE_SECONDS = 0.05


@dataclass(frozen=True)
class Host:
    """A host that is up; the link's rate is in bits per second, in each direction."""

    name: str
    address: str
    link: int
    switch: int = 0


@dataclass(frozen=True)
class Switch:
    """One of several switches, with the rate of its link to the switch above, as of a host's."""

    name: str
    link: int


@dataclass(frozen=True)
class Traffic:
    """What a link has carried since it is up, in bytes of whole frames.

    ``up`` is what a host sent, or a switch to the one above; ``down`` is the other direction.
    """

    name: str
    up: int
    down: int


def require() -> None:
    """Raises an error that names what this machine lacks for hosts."""
    require_programs(["ip", "tc", "unshare"])
    if not Path("/proc/self/ns/net").exists() or not Path("/proc/self/ns/uts").exists():
        raise TestbedError("this kernel has no namespaces for networks and host names")


def up(journal: Journal, links: list[int], between: list[int]) -> tuple[list[Host], list[Switch]]:
    """Makes one host for each link rate, in bits per second; at most ``MOST_HOSTS``.

    `between` has the rate of the link of each switch; none: one switch. Their number divides that
    of the hosts.
    """
    require()
    journal.begin(PART)
    journal.enter(PART, Resource("namespace folder", str(NAMESPACES)))
    if not HOSTS_FILES.is_dir():
        journal.enter(PART, Resource("directory", str(HOSTS_FILES)))
        HOSTS_FILES.mkdir()
    per_switch = len(links) // max(1, len(between))
    hosts = [
        Host(f"weir-host{number}", f"198.18.0.{number + 1}", link, number // per_switch)
        for number, link in enumerate(links)
    ]
    switches = [Switch(f"switch{number}", link) for number, link in enumerate(between)]
    _namespace_up(journal, SWITCH)
    _bridge_up(ABOVE)
    for number, switch in enumerate(switches):
        _switch_up(number, switch)
    for number, host in enumerate(hosts):
        _host_up(journal, host, number, hosts, _bridge_of(host, switches))
    write_launcher(journal, PART, [host.name for host in hosts])
    _set_facts(journal, hosts, switches)
    return hosts, switches


def _set_facts(journal: Journal, hosts: list[Host], switches: list[Switch]) -> None:
    facts = {"hosts": [asdict(host) for host in hosts], "switches": [asdict(s) for s in switches]}
    journal.set_facts(PART, facts)


def _bridge_of(host: Host, switches: list[Switch]) -> str:
    return switches[host.switch].name if switches else ABOVE


def _bridge_up(name: str) -> None:
    run(["ip", "-n", SWITCH, "link", "add", name, "type", "bridge"])
    run(["ip", "-n", SWITCH, "link", "set", name, "up"])


def _switch_up(number: int, switch: Switch) -> None:
    _bridge_up(switch.name)
    up, down = f"up{number}", f"down{number}"
    run(["ip", "-n", SWITCH, "link", "add", up, "type", "veth", "peer", "name", down])
    run(["ip", "-n", SWITCH, "link", "set", up, "master", switch.name, "up"])
    run(["ip", "-n", SWITCH, "link", "set", down, "master", ABOVE, "up"])
    _slow_switch_link(number, switch.link)


def _namespace_up(journal: Journal, name: str) -> None:
    if (NAMESPACES / name).exists():
        raise TestbedError(f"the network namespace {name} exists already; if left over: down")
    journal.enter(PART, Resource("namespace", name))
    run(["ip", "netns", "add", name])
    run(["ip", "-n", name, "link", "set", "lo", "up"])
    # Systems have other defaults (some virtual machines use BBR), with which links shared by
    # several senders carry more or less data. Every namespace may select Reno.
    run(["ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno"])


def _host_up(journal: Journal, host: Host, number: int, hosts: list[Host], bridge: str) -> None:
    port = f"port{number}"
    folder = HOSTS_FILES / host.name
    journal.enter(PART, Resource("directory", str(folder)))
    folder.mkdir()
    journal.enter(PART, Resource("file", str(folder / "hosts")))
    lines = ["127.0.0.1 localhost", *(f"{each.address} {each.name}" for each in hosts)]
    (folder / "hosts").write_text("\n".join(lines) + "\n")
    _namespace_up(journal, host.name)
    pair = ["type", "veth", "peer", "name", "eth0", "netns", host.name]
    run(["ip", "-n", SWITCH, "link", "add", port, *pair])
    run(["ip", "-n", SWITCH, "link", "set", port, "master", bridge, "up"])
    run(["ip", "-n", host.name, "address", "add", f"{host.address}/24", "dev", "eth0"])
    run(["ip", "-n", host.name, "link", "set", "eth0", "up"])
    _slow_host_link(host, number)


def _slow_host_link(host: Host, number: int) -> None:
    _slow_link(host.link, (host.name, "eth0"), (SWITCH, f"port{number}"))


def _slow_switch_link(number: int, link: int) -> None:
    _slow_link(link, (SWITCH, f"up{number}"), (SWITCH, f"down{number}"))


def _slow_link(link: int, *ends: tuple[str, str]) -> None:
    """Sets the token buckets at both ends of a link, each a namespace and a device in it."""
    burst = max(SMALLEST_BURST, round(link / 8 * BURST_SECONDS))
    bucket = ["tbf", "rate", f"{link}bit", "burst", f"{burst}b",
              "latency", f"{QUEUE_SECONDS * 1000:g}ms"]  # fmt: skip
    for namespace, device in ends:
        run(["tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", *bucket])


def listed(journal: Journal) -> list[Host]:
    """Returns the hosts that are up; none if the part is not."""
    facts = journal.facts(PART) or {"hosts": []}
    return [Host(**entry) for entry in facts["hosts"]]


def needed(journal: Journal) -> list[Host]:
    """Returns the hosts that are up, or raises an error if the part is not."""
    hosts = listed(journal)
    if not hosts:
        raise TestbedError("no hosts are up; make some with: testbed hosts up", USAGE)
    return hosts


def find(journal: Journal, name: str) -> Host:
    """Returns the host of that name, or raises an error."""
    hosts = listed(journal)
    for host in hosts:
        if host.name == name:
            return host
    names = ", ".join(host.name for host in hosts) or "none"
    raise TestbedError(f"no host {name!r} is up; up are: {names}", USAGE)


def listed_switches(journal: Journal) -> list[Switch]:
    """Returns the switches that are up if there are several; otherwise none."""
    facts = journal.facts(PART) or {"switches": []}
    return [Switch(**entry) for entry in facts["switches"]]


def set_link(journal: Journal, name: str, link: int) -> Host | Switch:
    """Changes the rate of a host's or a switch's link, in bits per second, while it is in use."""
    hosts, switches = listed(journal), listed_switches(journal)
    for number, switch in enumerate(switches):
        if switch.name != name:
            continue
        _slow_switch_link(number, link)
        switches[number] = replace(switch, link=link)
        _set_facts(journal, hosts, switches)
        return switches[number]
    number = hosts.index(find(journal, name))
    hosts[number] = replace(hosts[number], link=link)
    _slow_host_link(hosts[number], number)
    _set_facts(journal, hosts, switches)
    return hosts[number]


def traffic(journal: Journal) -> list[Traffic]:
    """Returns what each link has carried: those of hosts, then those of switches."""
    hosts, switches = needed(journal), listed_switches(journal)
    told = json.loads(run(["ip", "-n", SWITCH, "-s", "-j", "link", "show"]))
    counted = {one["ifname"]: one["stats64"] for one in told}
    carried = []
    # What a device of the switches' namespace receives comes from a host, or from above.
    for number, host in enumerate(hosts):
        port = counted[f"port{number}"]
        carried.append(Traffic(host.name, port["rx"]["bytes"], port["tx"]["bytes"]))
    for number, switch in enumerate(switches):
        port = counted[f"up{number}"]
        carried.append(Traffic(switch.name, port["tx"]["bytes"], port["rx"]["bytes"]))
    return carried


def unplug(journal: Journal, name: str) -> None:
    """Disconnects a host's cable from the switch: packets to and from it are lost silently.

    The host's own end still appears connected, as behind a switch or a firewall that drops packets.
    """
    _port_of(journal, name, "nomaster")


def plug_in(journal: Journal, name: str) -> None:
    """Undoes ``unplug``."""
    bridge = _bridge_of(find(journal, name), listed_switches(journal))
    _port_of(journal, name, "master", bridge)


def _port_of(journal: Journal, name: str, *setting: str) -> None:
    find(journal, name)
    names = [host.name for host in listed(journal)]
    run(["ip", "-n", SWITCH, "link", "set", f"port{names.index(name)}", *setting])
