"""What each source of ``weir platform discover`` reads from recorded text, and what it refuses."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discovery_recordings import RECORDINGS, copied, found, made, recorded, text, why
from weir.platform.discovery import cray, infiniband, lnet, pairs, pmix, slurm
from weir.platform.discovery.findings import Certainty, Finding
from weir.platform.discovery.hardware import hardware_of, read_lstopo, read_system
from weir.platform.discovery.recording import read_recording
from weir.platform.discovery.texts import DiscoveryError, Text, read_text
from weir.results.host_list import HostListError, expand_hosts, fold_hosts

LEAVES = {"s0": ["n1", "n2"], "s1": ["n3", "n4"]}


# ---- Lists of hosts -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "hosts"),
    [
        ("n1", ["n1"]),
        ("n1,n3", ["n1", "n3"]),
        ("n[1-3,7]", ["n1", "n2", "n3", "n7"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("r[0-1]n[1-2]x", ["r0n1x", "r0n2x", "r1n1x", "r1n2x"]),
        ("a[1],b[2-3]", ["a1", "b2", "b3"]),
    ],
)
def test_lists_of_hosts_are_expanded_in_order(listed: str, hosts: list[str]) -> None:
    assert expand_hosts(listed) == hosts


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        ("", "empty"),
        ("n1,,n2", "empty"),
        ("n[1-2", "brackets do not match"),
        ("n1-2]", "brackets do not match"),
        ("n[[1]]", "brackets do not match"),
        ("n[]", "something else than numbers"),
        ("n[a-b]", "something else than numbers"),
        ("n[3-1]", "ends before it begins"),
        ("n[0-2000000]", "more than 1048576 hosts"),
        ("n[0-9999][0-9999]", "more than 1048576 hosts"),
        ("n[0-999999999999999999999999]", "something else than numbers"),
        ("n;rm", "other characters"),
        ("n" + "[0]" * 9, "more than 8 brackets"),
    ],
)
def test_wrong_lists_of_hosts_are_refused_at_once(listed: str, reason: str) -> None:
    with pytest.raises(HostListError, match=reason):
        expand_hosts(listed)


@pytest.mark.parametrize(
    ("hosts", "folded"),
    [
        (["n1", "n2", "n4"], "n[1-2,4]"),
        (["n9", "n10"], "n[9-10]"),
        (["n09", "n10", "n011"], "n[09-10,011]"),
        (["r1n1", "r1n2", "r2n1"], "r1n[1-2],r2n1"),
        (["n1.a2", "n2.a2", "n3.b"], "n[1-2].a2,n3.b"),
        (["n2", "n1"], "n[2,1]"),
        (["login", "a", "7", "8"], "login,a,[7-8]"),
        ([f"n{10**12 + n}" for n in range(2)], "n1000000000000,n1000000000001"),
    ],
)
def test_hosts_are_folded_into_what_expands_to_them(hosts: list[str], folded: str) -> None:
    assert fold_hosts(hosts) == folded
    assert expand_hosts(folded) == hosts


# ---- Slurm --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source", [slurm.from_scontrol, slurm.from_topology_conf, slurm.from_variables]
)
def test_slurm_says_the_leaf_switch_and_what_is_above(source: Callable[..., Any]) -> None:
    finding = found(source(recorded("fat-tree")))
    assert finding.groups == LEAVES
    assert finding.places["n3"].coordinates == (("switch", "s2"), ("switch", "s1"))
    assert finding.certainty == Certainty.STATED


def test_slurms_name_of_a_node_may_differ_from_the_hosts(tmp_path: Path) -> None:
    recording = made(
        tmp_path,
        {
            "scontrol-topology.txt": "SwitchName=s0 Nodes=slurm[1-2]\nSwitchName=s1 Nodes=slurm3\n",
            **{
                f"nodes/host{n}.example.org/environment.txt": f"SLURMD_NODENAME=slurm{n}\n"
                for n in (1, 2, 3)
            },
        },
    )
    groups = found(slurm.from_scontrol(recording)).groups
    assert groups == {"s0": ["host1.example.org", "host2.example.org"], "s1": ["host3.example.org"]}


def test_slurms_blocks_are_groups(tmp_path: Path) -> None:
    recording = made(
        tmp_path,
        {
            "nodes.txt": "n[1-4]\n",
            "scontrol-topology.txt": "BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n"
            "BlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2\n"
            "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-4] BlockSize=4\n",
            "topology.conf": "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2\n",
        },
    )
    for source in (slurm.from_scontrol, slurm.from_topology_conf):
        finding = found(source(recording))
        assert finding.unit == "block"
        assert finding.groups == {"b1": ["n1", "n2"], "b2": ["n3", "n4"]}


def test_nodes_may_be_named_by_their_addresses(tmp_path: Path) -> None:
    nodes = "10.140.71.103,10.140.88.115"
    tree = "BlockName=a Nodes=10.140.71.103\nBlockName=b Nodes=10.140.88.115\n"
    recording = made(tmp_path, {"nodes.txt": nodes, "topology.conf": tree})
    groups = found(slurm.from_topology_conf(recording)).groups
    assert groups == {"a": ["10.140.71.103"], "b": ["10.140.88.115"]}


def test_a_node_on_several_switches_is_with_those_that_are_on_the_same(tmp_path: Path) -> None:
    recording = made(
        tmp_path,
        {
            "nodes.txt": "n[1-3]\n",
            "topology.conf": "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[1-2]\n",
        },
    )
    assert found(slurm.from_topology_conf(recording)).groups == {"a+b": ["n1", "n2"], "a": ["n3"]}


def test_an_address_without_switches_is_no_finding(tmp_path: Path) -> None:
    flat = "SLURM_TOPOLOGY_ADDR=n1\nSLURM_TOPOLOGY_ADDR_PATTERN=node\n"
    recording = made(tmp_path, {"nodes/n1/environment.txt": flat})
    assert "neither tree nor block" in why(slurm.from_variables(recording))


def test_addresses_that_a_launcher_has_passed_on_are_not_believed(tmp_path: Path) -> None:
    variables = "SLURM_TOPOLOGY_ADDR=s0.n1\nSLURM_TOPOLOGY_ADDR_PATTERN=switch.node\n"
    recording = made(tmp_path, {f"nodes/n{n}/environment.txt": variables for n in (1, 2)})
    assert why(slurm.from_variables(recording)).startswith("n1 and n2 have the same one")


def test_names_of_nodes_in_addresses_may_have_dots() -> None:
    assert slurm.split_address("s1.n1.example.org", "switch.node", "n1") == (("switch", "s1"),)


@pytest.mark.parametrize(
    ("address", "pattern"),
    [("s1", "switch.node"), ("s1.", "switch.node"), ("a.b", "switch.switch"), ("a", "")],
)
def test_addresses_that_do_not_have_the_pattern_are_refused(address: str, pattern: str) -> None:
    with pytest.raises(DiscoveryError, match="of node n1"):
        slurm.split_address(address, pattern, "n1")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("SwitchName=s0 Nodes=n[1-", "recorded.txt, line 2 has no list of hosts in 'n\\[1-'"),
        ("SwitchName=s9", "line 2 has neither nodes nor switches"),
        ("SwitchName= Nodes=n1", "line 2 has a switch without a name"),
        ("SwitchName=first Nodes=n2", "line 2 describes first twice"),
        ("PartitionName=debug", "line 2 names neither a switch nor a block"),
        ("SwitchName=s1 \\", "line 2 is continued, but no line follows"),
    ],
)
def test_wrong_lines_of_slurm_are_named(line: str, reason: str) -> None:
    with pytest.raises(DiscoveryError, match=reason):
        slurm.read_switches(text(f"SwitchName=first Nodes=n1\n{line}"))


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        ("SwitchName=a Nodes=n1\nSwitchName=b Switches=a,c", "line 2 names the switch c, which is"),
        (
            "SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Switches=a",
            "above itself, or 16 levels",
        ),
    ],
)
def test_trees_that_are_none_are_refused(tree: str, reason: str, tmp_path: Path) -> None:
    recording = made(tmp_path, {"nodes.txt": "n1", "topology.conf": tree})
    with pytest.raises(DiscoveryError, match=reason):
        slurm.from_topology_conf(recording)


# ---- InfiniBand ---------------------------------------------------------------------------------


def test_ibnetdiscover_says_leaf_switches_cables_and_rates() -> None:
    finding = found(infiniband.from_ibnetdiscover(recorded("fat-tree")))
    # n4's adapter has the maker's name as its description, so only its LID says whose it is.
    assert finding.groups == {"leaf1": ["n1", "n2"], "leaf2": ["n3", "n4"]}
    assert finding.certainty == Certainty.SEEN
    links = {(one.from_, one.to): (one.count, one.bytes_per_second) for one in finding.links}
    assert links == {
        ("node", "leaf1"): (2, 12.5e9),
        ("node", "leaf2"): (2, 12.5e9),
        ("leaf1", "spine1"): (2, 12.5e9),
        ("leaf2", "spine1"): (2, 12.5e9),
    }
    assert finding.notes == ()


def test_switches_of_one_description_are_told_apart(tmp_path: Path) -> None:
    file = copied("fat-tree", tmp_path) / "ibnetdiscover.txt"
    file.write_text(file.read_text().replace('"leaf2"', '"leaf1"'))
    finding = found(infiniband.from_ibnetdiscover(read_recording(tmp_path / "fat-tree")))
    assert set(finding.groups) == {"S-ec0d9a0300000001", "S-ec0d9a0300000002"}


def test_ports_say_rates_and_no_switches() -> None:
    finding = found(infiniband.from_ports(recorded("fat-tree")))
    assert finding.places == {}
    assert [(one.count, one.bytes_per_second) for one in finding.links] == [(4, 12.5e9)]
    assert "4 ports are not active" in finding.notes


@pytest.mark.parametrize(
    ("rate", "bytes_per_second"),
    [
        ("40 Gb/sec (4X QDR)", 4e9),  # 8 of 10 bits are data
        ("56 Gb/sec (4X FDR)", 4 * 14.0625e9 * 64 / 66 / 8),
        ("200 Gb/sec (4X HDR)", 25e9),
        ("25 Gb/sec (1X EDR)", 3.125e9),
        ("8 Gb/sec", 1e9),
    ],
)
def test_rates_are_those_of_data(rate: str, bytes_per_second: float) -> None:
    path = "/sys/class/infiniband/mlx5_0/ports/1"
    port = infiniband.read_ports(text(f"{path}/rate:{rate}\n{path}/state:4: ACTIVE\n"))[0]
    assert port.bytes_per_second == pytest.approx(bytes_per_second)


@pytest.mark.parametrize("where", [0.2, 0.5, 0.9])
def test_a_cut_fabric_is_an_error_with_its_line_or_a_note(where: float, tmp_path: Path) -> None:
    whole = (RECORDINGS / "fat-tree" / "ibnetdiscover.txt").read_text()
    lines = whole[: int(len(whole) * where)].splitlines()
    cut = next(n for n in range(len(lines) - 1, 0, -1) if lines[n].startswith("["))
    inside = "\n".join([*lines[:cut], lines[cut][:12]])
    with pytest.raises(DiscoveryError, match=rf"recorded.txt, line {cut + 1} is no port"):
        infiniband.read_fabric(text(inside))
    recording = made(tmp_path, {"nodes.txt": "n[1-4]", "ibnetdiscover.txt": "\n".join(lines[:cut])})
    answer = infiniband.from_ibnetdiscover(recording)
    if isinstance(answer, Finding):
        assert "the text may be cut" in answer.notes[0]
    else:
        assert "none of its" in answer.why


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "line 1 and those below name no switch"),
        ('[1]\t"S-01"[1] # lid 3', "line 1 is no port of a part above it"),
        ("Switch\t36 S-01", "line 1 is no switch, adapter or router"),
        ('Switch\t1 "S-01" # "a"\nSwitch\t1 "S-01" # "a"', "line 2 describes S-01 again"),
    ],
)
def test_wrong_fabrics_are_refused(content: str, reason: str) -> None:
    with pytest.raises(DiscoveryError, match=reason):
        infiniband.read_fabric(text(content))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("/sys/class/infiniband/a/ports/1/rate:fast", "line 1 has no rate: 'fast'"),
        ("/sys/class/infiniband/a/ports/1/lid:many", "line 1 has no LID: 'many'"),
        ("nonsense", "line 1 is not PATH:VALUE"),
    ],
)
def test_wrong_ports_are_refused(line: str, reason: str) -> None:
    with pytest.raises(DiscoveryError, match=reason):
        infiniband.read_ports(text(line))


# ---- Cray and Lustre ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "group", "levels"),
    [
        ("c1-0c2s15n3", "c1-0c2", ["c1-0", "c1-0c2", "c1-0c2s15"]),
        ("x1000c0s5b1n0", "x1000c0", ["x1000", "x1000c0", "x1000c0s5", "x1000c0s5b1"]),
    ],
)
def test_a_crays_name_says_cabinet_and_chassis(name: str, group: str, levels: list[str]) -> None:
    place = cray.read_name(name)
    assert place is not None
    assert place.group == group
    assert [level for _, level in place.coordinates] == levels


@pytest.mark.parametrize(
    "name", ["n1", "c1-0", "c1-0c2s15", "x1000", "c1-0c2s15n3x", "c" + "1" * 99]
)
def test_other_names_are_no_crays(name: str) -> None:
    assert cray.read_name(name) is None


def test_names_of_a_cray_are_less_certain_than_what_is_reported() -> None:
    finding = found(cray.from_names(recorded("cray")))
    assert finding.groups == {
        "c0-0c0": ["nid00001", "nid00002"],
        "c0-0c1": ["nid00003", "nid00004"],
    }
    assert finding.certainty == Certainty.NAMED


def test_a_recorded_name_that_is_none_is_an_error(tmp_path: Path) -> None:
    folder = copied("cray", tmp_path)
    (folder / "nodes/nid00002/cray-name.txt").write_text("nid00002\n")
    with pytest.raises(DiscoveryError, match=r"nid00002/cray-name.txt, line 1 is no name"):
        cray.from_names(read_recording(folder))


def test_nodes_with_the_same_routers_share_a_way_to_storage() -> None:
    finding = found(lnet.from_routes(recorded("cray")))
    assert finding.groups == {
        "41@gni99 42@gni99": ["nid00001", "nid00002", "nid00004"],
        "43@gni99 44@gni99": ["nid00003"],
    }
    assert finding.subject == "way to storage"
    assert finding.notes == ("routers that are down are left out: 45@gni99",)


LCTL = """\
net              o2ib1 hops 1 gw                      10.0.0.1@tcp up pri 0
net              o2ib1 hops 4294967295 gw             10.0.0.2@tcp down pri 0
"""
LNETCTL = """\
route:
    - net: o2ib1
      gateway: 10.0.0.1@tcp
      hop: -1
      priority: 0
      state: up
    - net: o2ib1
      gateway: 10.0.0.2@tcp
      hop: -1
      state: down
"""
PROC = """\
Routing disabled
net      hops priority   state router
o2ib1       1        0      up 10.0.0.1@tcp
o2ib1       1        0    down 10.0.0.2@tcp
"""
OLDER_PROC = """\
Routing disabled
net      hops   state router
o2ib1       1      up 10.0.0.1@tcp
o2ib1       1    down 10.0.0.2@tcp
"""


@pytest.mark.parametrize("routes", [LCTL, LNETCTL, PROC, OLDER_PROC])
def test_routes_are_read_in_each_form(routes: str) -> None:
    assert [(one.net, one.router, one.is_down) for one in lnet.read_routes(text(routes))] == [
        ("o2ib1", "10.0.0.1@tcp", False),
        ("o2ib1", "10.0.0.2@tcp", True),
    ]


@pytest.mark.parametrize(
    ("routes", "reason"),
    [
        (PROC[:-6], "line 4 is no route"),
        (LCTL[:110], "line 2 is no route"),
        (LNETCTL[: LNETCTL.rindex("gateway")], "a route has no gateway"),
        ("route:\n  gateway: a@b\n", "line 2 is no route"),
    ],
)
def test_cut_routes_are_refused(routes: str, reason: str) -> None:
    with pytest.raises(DiscoveryError, match=reason):
        lnet.read_routes(text(routes))


def test_nodes_without_routes_reach_servers_directly(tmp_path: Path) -> None:
    recording = made(tmp_path, {"nodes/n1/lnet-routes.txt": "Routing disabled\n"})
    assert "reached directly" in why(lnet.from_routes(recording))


def test_pmix_says_what_its_variables_do_not_have() -> None:
    assert "PMIx 4.2.2" in why(pmix.from_variables(recorded("fat-tree")))


# ---- Hardware -----------------------------------------------------------------------------------


def test_hwlocs_machine_is_counted() -> None:
    one = hardware_of(recorded("fat-tree").nodes[0])
    assert one is not None
    assert (one.packages, one.numa_nodes, one.cores, one.threads) == (2, 2, 8, 16)
    assert one.memory_bytes == 2 << 30
    assert dict(one.caches) == {(3, "unified", 16 << 20): 2}


DEVICES = """\
<topology version="2.0">
<object type="Machine" nodeset="0x3"><object type="Package" nodeset="0x2">
<object type="PU"/>
<object type="PCIDev"><object type="OSDev" name="hfi1_0" osdev_type="3"/></object></object>
<object type="PCIDev"><object type="OSDev" name="eth0" osdev_type="2"/>
<object type="OSDev" name="dma0chan0" osdev_type="4"/></object></object>
</topology>"""


def test_devices_have_the_numa_node_of_their_package() -> None:
    devices = read_lstopo(text(DEVICES)).devices
    assert [(one.kind, one.name, one.numa_node) for one in devices] == [
        ("InfiniBand", "hfi1_0", 1),
        ("network", "eth0", None),
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (DEVICES[:200], "line 4 is no XML"),
        ("<html/>", "line 1 begins with html"),
        ("<topology/>", "without processing units"),
        ('<!DOCTYPE t [<!ENTITY a "aa">]><topology>&a;</topology>', "declares an entity"),
        ("<topology>" + "<object>" * 100, "deeper than 64 levels"),
        ('<topology><object type="NUMANode" local_memory="much"/></topology>', "has no number"),
    ],
)
def test_wrong_xml_is_refused(content: str, reason: str) -> None:
    with pytest.raises(DiscoveryError, match=reason):
        read_lstopo(text(content))


SYSTEM = (
    "".join(
        f"/sys/devices/system/cpu/cpu{cpu}/topology/core_id:{cpu % 2}\n"
        f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id:{cpu // 4}\n"
        for cpu in range(8)
    )
    + "".join(
        f"/sys/devices/system/node/node{node}/cpulist:0-3\n"
        f"/sys/devices/system/cpu/cpu0/cache/index{node}/level:{node + 2}\n"
        f"/sys/devices/system/cpu/cpu0/cache/index{node}/type:Unified\n"
        f"/sys/devices/system/cpu/cpu0/cache/index{node}/size:{512 << node}K\n"
        f"/sys/devices/system/cpu/cpu0/cache/index{node}/shared_cpu_list:0-{1 + 2 * node}\n"
        for node in range(2)
    )
    + "/sys/class/net/lo/operstate:up\n/sys/class/net/ib0/speed:100000\n"
    + "/sys/class/block/sda/size:8\n"
)


def test_without_hwloc_the_files_of_sys_are_counted() -> None:
    one = read_system(text(SYSTEM + "/proc/meminfo#MemTotal:1024 kB\n"))
    assert one is not None
    assert (one.packages, one.numa_nodes, one.cores, one.threads) == (2, 2, 4, 8)
    assert one.memory_bytes == 1 << 20
    assert dict(one.caches) == {(2, "unified", 512 << 10): 4, (3, "unified", 1 << 20): 2}
    assert [(device.kind, device.name) for device in one.devices] == [
        ("block", "sda"),
        ("network", "ib0"),
    ]
    assert read_system(text("/sys/class/net/lo/operstate:up\n")) is None


# ---- Texts --------------------------------------------------------------------------------------


def test_a_text_is_bounded_and_has_no_control_characters(tmp_path: Path) -> None:
    file = tmp_path / "text"
    assert read_text(file, 9) is None
    file.write_bytes(b"0123456789")
    with pytest.raises(DiscoveryError, match="more than 9 bytes"):
        read_text(file, 9)
    file.write_bytes(b"a\nb\x1b[31m")
    with pytest.raises(DiscoveryError, match="line 2 has control characters"):
        read_text(file, 99)
    file.write_bytes(b"a\n\n\xff")
    with pytest.raises(DiscoveryError, match="line 3 is not UTF-8"):
        read_text(file, 99)
    with pytest.raises(DiscoveryError, match="cannot be read"):
        read_text(tmp_path, 99)


def test_a_line_is_bounded() -> None:
    with pytest.raises(DiscoveryError, match="line 2 has more than 1048576 characters"):
        list(Text("t", "a\n" + "b" * (2**20 + 1)).lines())


# ---- Damage -------------------------------------------------------------------------------------

DAMAGED: dict[Callable[[Text], object], str] = {
    slurm.read_switches: (RECORDINGS / "fat-tree/topology.conf").read_text(),
    infiniband.read_fabric: (RECORDINGS / "fat-tree/ibnetdiscover.txt").read_text(),
    infiniband.read_ports: (RECORDINGS / "fat-tree/nodes/n1/sys.txt").read_text(),
    lnet.read_routes: LCTL + PROC,
    pairs.read_pairs: (RECORDINGS / "pairs/pairs.txt").read_text(),
    read_lstopo: (RECORDINGS / "fat-tree/nodes/n1/lstopo.xml").read_text(),
    read_system: SYSTEM,
}


def damaged(whole: str, luck: random.Random) -> str:
    """Cuts, repeats, inserts or removes pieces of a text."""
    for _ in range(luck.randint(1, 5)):
        begin = luck.randrange(len(whole) + 1)
        end = min(len(whole), begin + luck.randint(1, 20))
        inserted = "".join(luck.choices('[]()"=:@#-,.\\ \t\n0189abSné', k=3))
        middle = luck.choice(["", inserted, whole[begin:end] * 30])
        whole = whole[:begin] + middle + luck.choice([whole[end:], whole[end:], ""])
    return whole


@pytest.mark.parametrize("read", DAMAGED, ids=lambda read: read.__name__)
def test_damaged_texts_are_read_or_refused_in_one_line(read: Callable[[Text], object]) -> None:
    luck = random.Random(read.__name__)
    refusals = []
    for _ in range(400):
        try:
            read(text(damaged(DAMAGED[read], luck)))
        except DiscoveryError as error:
            refusals.append(str(error))
    assert len(refusals) > 10
    for refusal in refusals:
        assert refusal.startswith("recorded.txt, line ")
        assert "\n" not in refusal
