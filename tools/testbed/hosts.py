"""Hosts: network namespaces with their own names, joined to one switch by links of set speed.

    weir-host0 ── eth0 ══ port0 ──┐
    weir-host1 ── eth0 ══ port1 ──┤ bridge `switch` in the namespace weir-switch
    ...                           │
    weir-hostN ── eth0 ══ portN ──┘

A link is a veth pair with a token bucket at each end: that at the host's ``eth0`` limits what the
host sends, that at the switch's port what it receives. All hosts see the same files. An MPI
launcher starts ranks on them through ``launching.py``. Nothing is added to the machine's own
network: pairs are made inside the namespaces and disappear with them.

TCP uses Reno for congestion control on every host, so that figures from different systems are
comparable.

Addresses are in 198.18.0.0/15, which RFC 2544 reserves for measuring networks.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from testbed.errors import USAGE, TestbedError
from testbed.journal import Journal, Resource
from testbed.launching import write_launcher
from testbed.programs import require_programs, run
from testbed.removal import NAMESPACES

PART = "hosts"
SWITCH = "weir-switch"
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


def require() -> None:
    """Raises an error that names what this machine lacks for hosts."""
    require_programs(["ip", "tc", "unshare"])
    if not Path("/proc/self/ns/net").exists() or not Path("/proc/self/ns/uts").exists():
        raise TestbedError("this kernel has no namespaces for networks and host names")


def up(journal: Journal, links: list[int]) -> list[Host]:
    """Makes one host for each link rate, in bits per second; at most ``MOST_HOSTS``."""
    require()
    journal.begin(PART)
    journal.enter(PART, Resource("namespace folder", str(NAMESPACES)))
    if not HOSTS_FILES.is_dir():
        journal.enter(PART, Resource("directory", str(HOSTS_FILES)))
        HOSTS_FILES.mkdir()
    hosts = [
        Host(f"weir-host{number}", f"198.18.0.{number + 1}", link)
        for number, link in enumerate(links)
    ]
    _namespace_up(journal, SWITCH)
    run(["ip", "-n", SWITCH, "link", "add", "switch", "type", "bridge"])
    run(["ip", "-n", SWITCH, "link", "set", "switch", "up"])
    for number, host in enumerate(hosts):
        _host_up(journal, host, f"port{number}", hosts)
    write_launcher(journal, PART, [host.name for host in hosts])
    journal.set_facts(PART, {"hosts": [asdict(host) for host in hosts]})
    return hosts


def _namespace_up(journal: Journal, name: str) -> None:
    if (NAMESPACES / name).exists():
        raise TestbedError(f"the network namespace {name} exists already; if left over: down")
    journal.enter(PART, Resource("namespace", name))
    run(["ip", "netns", "add", name])
    run(["ip", "-n", name, "link", "set", "lo", "up"])
    # Systems have other defaults (some virtual machines use BBR), with which links shared by
    # several senders carry more or less data. Every namespace may select Reno.
    run(["ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.tcp_congestion_control=reno"])


def _host_up(journal: Journal, host: Host, port: str, hosts: list[Host]) -> None:
    folder = HOSTS_FILES / host.name
    journal.enter(PART, Resource("directory", str(folder)))
    folder.mkdir()
    journal.enter(PART, Resource("file", str(folder / "hosts")))
    lines = ["127.0.0.1 localhost", *(f"{each.address} {each.name}" for each in hosts)]
    (folder / "hosts").write_text("\n".join(lines) + "\n")
    _namespace_up(journal, host.name)
    pair = ["type", "veth", "peer", "name", "eth0", "netns", host.name]
    run(["ip", "-n", SWITCH, "link", "add", port, *pair])
    run(["ip", "-n", SWITCH, "link", "set", port, "master", "switch", "up"])
    run(["ip", "-n", host.name, "address", "add", f"{host.address}/24", "dev", "eth0"])
    run(["ip", "-n", host.name, "link", "set", "eth0", "up"])
    _slow_link(host, port)


def _slow_link(host: Host, port: str) -> None:
    """Sets the token buckets at both ends of the link."""
    burst = max(SMALLEST_BURST, round(host.link / 8 * BURST_SECONDS))
    bucket = ["tbf", "rate", f"{host.link}bit", "burst", f"{burst}b",
              "latency", f"{QUEUE_SECONDS * 1000:g}ms"]  # fmt: skip
    for namespace, device in ((host.name, "eth0"), (SWITCH, port)):
        run(["tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", *bucket])


def listed(journal: Journal) -> list[Host]:
    """Returns the hosts that are up; none if the part is not."""
    facts = journal.facts(PART) or {"hosts": []}
    return [Host(**entry) for entry in facts["hosts"]]


def find(journal: Journal, name: str) -> Host:
    """Returns the host of that name, or raises an error."""
    hosts = listed(journal)
    for host in hosts:
        if host.name == name:
            return host
    names = ", ".join(host.name for host in hosts) or "none"
    raise TestbedError(f"no host {name!r} is up; up are: {names}", USAGE)


def set_link(journal: Journal, name: str, link: int) -> Host:
    """Changes the rate of a host's link, in bits per second, while it is in use."""
    changed = Host(name, find(journal, name).address, link)
    hosts = listed(journal)
    number = next(number for number, host in enumerate(hosts) if host.name == name)
    _slow_link(changed, f"port{number}")
    hosts[number] = changed
    journal.set_facts(PART, {"hosts": [asdict(host) for host in hosts]})
    return changed


def unplug(journal: Journal, name: str) -> None:
    """Disconnects a host's cable from the switch: packets to and from it are lost silently.

    The host's own end still appears connected, as behind a switch or a firewall that drops packets.
    """
    _port_of(journal, name, "nomaster")


def plug_in(journal: Journal, name: str) -> None:
    """Undoes ``unplug``."""
    _port_of(journal, name, "master", "switch")


def _port_of(journal: Journal, name: str, *setting: str) -> None:
    find(journal, name)
    names = [host.name for host in listed(journal)]
    run(["ip", "-n", SWITCH, "link", "set", f"port{names.index(name)}", *setting])
