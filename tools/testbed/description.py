"""Writes the hosts that are up as a platform description, for ``weir sim`` and ``weir predict``.

Rates of links and targets are those that the test bed was asked for: a link's without the headers
of frames. Memory is not limited by the test bed, so its rates are assumed; they only have to be far
above those of links and targets.
"""

from __future__ import annotations

from testbed.errors import USAGE, TestbedError
from testbed.hosts import Host, Switch
from testbed.quantities import show_bit_rate
from testbed.targets import Target

PAYLOAD = 1448 / 1514
"""Share of a frame that TCP carries for the program."""
MEMORY_BYTES_PER_SECOND = 1e9
MESSAGE_SECONDS = 1e-4


def platform_of(
    hosts: list[Host], switches: list[Switch], target: Target | None, ranks_per_host: int
) -> str:
    """Returns the description's text; raises an error if ``weir sim`` has no words for the bed."""
    link = _one_rate("the hosts' links", {host.link for host in hosts})
    texts = [
        f"""\
# Hosts of Weir's test bed (docs/testbed.md), written by: testbed hosts platform
format = "weir-platform"
format_version = 1
name = "testbed"
hosts = {len(hosts)}
ranks_per_host = {ranks_per_host}
network_shape = "switches:{len(hosts) // max(1, len(switches))}"
""",
        _stage("host link", "node link", ["network"], link / 8 * PAYLOAD, f"a link of "
               f"{show_bit_rate(link)}, of which TCP carries 1448 of 1514 bytes"),
        _edge("compute node", "switch", "host link", "data sheet"),
    ]  # fmt: skip
    if target is None:
        how = "assumed: the hosts' files are in memory, which the test bed does not limit"
        texts.append(_stage("memory", "node", ["cached", "durable", "dropped"],
                            MEMORY_BYTES_PER_SECOND, how))  # fmt: skip
        end = "memory"
        texts.append(_edge("compute node", end, "memory", "assumed"))
    else:
        rate = target.limits.write_rate
        if rate is None or rate != target.limits.read_rate:
            raise TestbedError(
                f"{target.name} has no limit, or another for reading than for writing: a "
                "description needs one rate, as of: testbed targets up --rates 40MB/s",
                USAGE,
            )
        texts.append(_stage("target", "target", ["durable", "dropped", "direct"], rate,
                            f"the limit of {target.name}"))  # fmt: skip
        end = "target"
        texts.append(_edge("compute node", end, "target", "data sheet"))
    if switches:
        between = _one_rate("the switches' links", {switch.link for switch in switches})
        texts.append(f"""
[[edges]]
from = "switch"
to = "switch above"
units = {len(switches)}
rate_bytes_per_second = {between / 8 * PAYLOAD:.1f}
origin = "data sheet"
source = "a link of {show_bit_rate(between)}, of which TCP carries 1448 of 1514 bytes"
""")
    links = 'network_links = "switch -> switch above"\n' if switches else ""
    texts.append(f"""
[simulation]
messages = "compute node -> switch"
message_seconds = {MESSAGE_SECONDS}
message_how = "assumed: the kernel's path on a busy machine"
{links}
[[simulation.routes]]
to = "storage"
edges = ["compute node -> {end}"]
beside_network = true
how = "every host has the machine's own files"
""")
    return "".join(texts)


def _one_rate(of: str, rates: set[int]) -> int:
    if len(rates) > 1:
        several = ", ".join(show_bit_rate(rate) for rate in sorted(rates))
        raise TestbedError(f"{of} have {several}: weir sim needs links of one rate", USAGE)
    return rates.pop()


def _stage(name: str, kind: str, routes: list[str], rate: float, how: str) -> str:
    listed = ", ".join(f'"{route}"' for route in routes)
    return f"""
[[stages]]
name = "{name}"
kind = "{kind}"
routes = [{listed}]
units = 1
rate_bytes_per_second = {rate:.1f}
how = "{how}"
"""


def _edge(start: str, end: str, stage: str, origin: str) -> str:
    return f"""
[[edges]]
from = "{start}"
to = "{end}"
stages = ["{stage}"]
origin = "{origin}"
"""
