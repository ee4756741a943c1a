"""``weir platform discover``: what it takes, prints, writes and records."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from discovery_recordings import RECORDINGS, copied, made, recorded, replaced
from platforms import make_platform, make_stage
from probes import make_probe
from weir.bench.errors import BenchError
from weir.bench.launcher import Launcher
from weir.cli import application
from weir.errors import Error
from weir.platform.discovery import collect, commands
from weir.platform.discovery.choice import (
    Choice,
    group_numbers,
    io_groups_text,
    look,
    nodes_per_group,
)
from weir.platform.discovery.collect import collect_node
from weir.platform.discovery.description import MOST_NAMED_EDGES, describe, edges_of
from weir.platform.discovery.findings import Certainty, Finding, Link, Place
from weir.platform.discovery.hardware import hardware_of
from weir.platform.discovery.recording import NODES_FOLDER, read_recording
from weir.platform.discovery.shape import Tree, tree_of
from weir.platform.discovery.texts import DiscoveryError
from weir.results.platform_file import load_platform, write_platform


def discover(*words: str | Path) -> None:
    application()(["platform", "discover", *map(str, words)], standalone_mode=False)


@pytest.fixture(autouse=True)
def _nothing_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("WEIR_", "SLURM", "PMI", "OMPI_COMM")):
            monkeypatch.delenv(name)


# ---- The order of nodes -------------------------------------------------------------------------


def test_nodes_are_in_the_order_of_their_first_ranks(tmp_path: Path) -> None:
    recording = made(
        tmp_path,
        {
            "nodes/a/environment.txt": "PMIX_RANK=20\n",
            "nodes/b/environment.txt": "SLURM_PROCID=0\n",
            "nodes/c/environment.txt": "OMPI_COMM_WORLD_RANK=3\n",
        },
    )
    assert recording.names == ["b", "c", "a"]


def test_nodes_without_ranks_are_in_the_order_of_numbers(tmp_path: Path) -> None:
    recording = made(tmp_path, {f"nodes/n{n}/environment.txt": "" for n in (1, 2, 10)})
    assert recording.names == ["n1", "n2", "n10"]


def test_a_list_of_nodes_gives_their_order_and_adds_those_without_texts(tmp_path: Path) -> None:
    texts = {"nodes.txt": "# ranks 0 to 7\nn[3-4]\nn1\n", "nodes/n1.site/environment.txt": ""}
    assert made(tmp_path, texts).names == ["n3", "n4", "n1.site"]


def test_slurms_list_is_taken_where_no_ranks_are_known(tmp_path: Path) -> None:
    variables = "SLURM_JOB_NODELIST=n[1-3]\nSLURMD_NODENAME=n2\n"
    assert made(tmp_path, {"nodes/host/environment.txt": variables}).names == ["n1", "host", "n3"]


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ({"topology.conf": ""}, "has no nodes: it needs nodes.txt or nodes/NAME/environment.txt"),
        ({"nodes.txt": "n1\nn["}, "nodes.txt, line 2 is no list of hosts"),
        ({"nodes.txt": "n1,n1"}, "lists the node n1 twice"),
        ({"nodes.txt": "n1", "nodes/n2/environment.txt": ""}, "does not list the node n2"),
        ({"nodes/n 1/environment.txt": ""}, "'n 1', which is no name of a node"),
        ({"nodes/n1/environment.txt": "\nrm -rf"}, "environment.txt, line 2 is not NAME=VALUE"),
        ({"nodes.txt": "n[1-70000]"}, "has 70000 nodes: give at most 65536"),
    ],
)
def test_recordings_that_are_none_are_refused(
    texts: dict[str, str], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(DiscoveryError, match=reason):
        made(tmp_path, texts)


# ---- What is taken ------------------------------------------------------------------------------


def finding(source: str, certainty: Certainty, groups: dict[str, str], **more: str) -> Finding:
    """Returns a finding by the nodes of each group, such as ``{"s0": "a b"}``."""
    places = {node: Place(group) for group, nodes in groups.items() for node in nodes.split()}
    return Finding(source, certainty, "switch", places, **more)  # type: ignore[arg-type]


def test_the_most_certain_source_is_taken_and_those_that_agree_are_quiet() -> None:
    choice = look(recorded("fat-tree"))
    assert choice.taken is not None
    assert choice.taken.source == "InfiniBand (ibnetdiscover)"
    assert choice.contradictions == ()


def test_a_contradiction_names_two_nodes_and_the_source_that_is_not_taken(tmp_path: Path) -> None:
    folder = copied("fat-tree", tmp_path)
    for file in ("scontrol-topology.txt", "topology.conf"):
        replaced(folder / file, "Nodes=n[1-2]", "Nodes=n1")
        replaced(folder / file, "Nodes=n[3-4]", "Nodes=n[2-4]")
    choice = look(read_recording(folder))
    assert choice.taken is not None
    assert choice.taken.groups == {"leaf1": ["n1", "n2"], "leaf2": ["n3", "n4"]}
    assert [one.partition(" is not taken")[0] for one in choice.contradictions] == [
        "Slurm (scontrol show topology) (stated by the administrator)",
        "Slurm (topology.conf) (stated by the administrator)",
    ]
    assert "n1 and n2 have no leaf switch in common" in choice.contradictions[0]


def test_a_source_that_joins_more_nodes_contradicts_too(tmp_path: Path) -> None:
    folder = copied("fat-tree", tmp_path)
    (folder / "scontrol-topology.txt").write_text("SwitchName=s0 Level=0 Nodes=n[1-4]\n")
    (text,) = look(read_recording(folder)).contradictions
    assert "there n1 and n3 share the leaf switch s0, but by InfiniBand" in text


def test_routers_to_storage_are_taken_before_the_network_if_they_divide_the_nodes(
    tmp_path: Path,
) -> None:
    choice = look(recorded("cray"))
    assert choice.taken is not None
    assert choice.taken.subject == "way to storage"
    assert len(choice.contradictions) == 1
    folder = copied("cray", tmp_path)
    routes = (folder / "nodes/nid00001/lnet-routes.txt").read_text()
    (folder / "nodes/nid00003/lnet-routes.txt").write_text(routes)
    choice = look(read_recording(folder))
    assert choice.taken is not None
    assert choice.taken.source == "Cray's names of nodes"


def test_a_source_that_does_not_know_all_nodes_is_not_taken(tmp_path: Path) -> None:
    folder = copied("fat-tree", tmp_path)
    lines = (folder / "ibnetdiscover.txt").read_text().splitlines()
    end = next(n for n, line in enumerate(lines) if line.startswith("Ca") and "MT4115" in line)
    (folder / "ibnetdiscover.txt").write_text("\n".join(lines[:end]) + "\n")
    choice = look(read_recording(folder))
    assert choice.taken is not None
    assert choice.taken.source == "Slurm (scontrol show topology)"
    nothing = look(
        made(tmp_path / "other", {"nodes.txt": "n[1-9]", "topology.conf": "SwitchName=a Nodes=n1"})
    )
    assert nothing.taken is None
    assert "Slurm (topology.conf) knows 1, but not n2" in nothing.reason


# ---- I/O groups ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "text", "size"),
    [
        ({"x": "a b", "y": "c d"}, "2", 2),
        ({"x": "a b", "y": "c"}, "2", 2),
        ({"x": "a", "y": "b", "z": "c"}, "1", 1),
        ({"y": "a", "x": "b c"}, "0,1*2", None),
        ({"x": "a c", "y": "b"}, "0,1,0", None),
        ({"x": "a b e", "y": "c d"}, "0*2,1*2,0", None),
        ({"x": "a b", "y": "c d e"}, "0*2,1*3", None),
    ],
)
def test_groups_are_numbered_by_their_first_nodes(
    groups: dict[str, str], text: str, size: int | None
) -> None:
    names = sorted(node for nodes in groups.values() for node in nodes.split())
    numbers = group_numbers(names, finding("a", Certainty.SEEN, groups))
    assert io_groups_text(numbers) == text
    assert nodes_per_group(numbers) == size


# ---- The description ----------------------------------------------------------------------------


def test_a_description_has_groups_wiring_and_hardware(tmp_path: Path) -> None:
    output = tmp_path / "found.toml"
    discover("--from", RECORDINGS / "fat-tree", "--output", output)
    platform = load_platform(output)
    assert (platform.hosts, platform.ranks_per_host, platform.nodes_per_io_group) == (4, 8, 2)
    assert platform.topology["hardware"]["processor"]["cores"] == 8
    assert platform.topology["network"]["groups"] == {"leaf1": "n[1-2]", "leaf2": "n[3-4]"}
    edge = platform.edges[0]
    assert (edge.from_, edge.to, edge.units, edge.origin) == ("node", "leaf1", 2, "discovered")
    assert edge.rate_bytes_per_second is not None
    assert edge.rate_bytes_per_second.value == 12.5e9
    assert platform.network_shape == "switches:2"
    links = platform.edges[-1]
    assert (links.name, links.units) == ("leaf switch -> switch above", 2)
    assert links.rate_bytes_per_second is not None
    assert links.rate_bytes_per_second.value == 25e9


def cabled(places: dict[str, str], *links: Link) -> Choice:
    known = {node: Place(leaf) for node, leaf in places.items()}
    finding = Finding("fabric", Certainty.SEEN, "leaf switch", known, links=links)
    return Choice((finding,), (), finding, "", ())


TWO_LEAVES = {"n1": "a", "n2": "a", "n3": "b"}


def test_leaves_with_the_same_links_upwards_are_a_tree() -> None:
    ways = [Link(leaf, spine, 2, 10e9) for leaf in "ab" for spine in ("s", "t")]
    tree = tree_of(list(TWO_LEAVES), cabled(TWO_LEAVES, *ways))
    assert isinstance(tree, Tree)
    assert (tree.text, tree.leaves, tree.bytes_per_second) == ("fat-tree:2x2", 2, 20e9)
    mixed = tree_of(
        list(TWO_LEAVES),
        cabled(TWO_LEAVES, *(Link(leaf, "s", 1, rate) for leaf in "ab" for rate in (5e9, 10e9))),
    )
    assert isinstance(mixed, Tree)
    assert (mixed.text, mixed.bytes_per_second) == ("switches:2", 15e9)


@pytest.mark.parametrize(
    ("places", "links", "reason"),
    [
        (TWO_LEAVES, [], "no source says which cables are between switches"),
        ({"n1": "a", "n2": "a"}, [Link("node", "a", 2)], "fabric does not know n3"),
        (
            dict.fromkeys(TWO_LEAVES, "a"),
            [Link("node", "a", 3)],
            "all nodes are on one leaf switch",
        ),
        ({**TWO_LEAVES, "n2": "b"}, [Link("a", "s", 1, 1e9)], "not every leaf switch has equally"),
        (TWO_LEAVES, [Link("a", "s", 1)], "fabric does not say how fast a reaches s"),
        (TWO_LEAVES, [Link("a", "b", 1, 1e9)], "a and b are connected without a switch above"),
        (TWO_LEAVES, [Link("a", "s", 1, 1e9)], "no switch above b is known"),
        (
            TWO_LEAVES,
            [Link("a", "s", 1, 1e9), Link("b", "s", 2, 1e9)],
            "b and a have different connections to switches above",
        ),
        (
            TWO_LEAVES,
            [Link(leaf, "s", 1, 1e9) for leaf in "ab"] + [Link(leaf, "t", 1, 2e9) for leaf in "ab"],
            "a reaches the switches above at different rates",
        ),
    ],
)
def test_other_networks_have_no_shape_and_say_why(
    places: dict[str, str], links: list[Link], reason: str
) -> None:
    why = tree_of(list(TWO_LEAVES), cabled(places, *links))
    assert isinstance(why, str)
    assert why.startswith(reason)


def test_groups_that_are_not_regular_are_a_list_in_the_description(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "found.toml"
    discover("--from", RECORDINGS / "cray", "--output", output)
    platform = load_platform(output)
    assert platform.nodes_per_io_group is None
    assert platform.topology["io_groups"] == "0*2,1,0"
    capsys.readouterr()
    application()(["platform", "show", str(output)], standalone_mode=False)
    shown = capsys.readouterr().out
    assert (
        "nodes by set of LNet routers, from Lustre's LNet routes, reported by the system" in shown
    )
    assert "43@gni99 44@gni99: nid00003" in shown
    assert "WEIR_IO_GROUPS=0*2,1,0 for these nodes in this order" in shown


def test_an_older_description_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "found.toml"
    for _ in range(2):
        discover("--from", RECORDINGS / "pairs", "--output", output)
    assert (tmp_path / "found.1.toml").is_file()
    assert "found.1.toml" in capsys.readouterr().out


def test_many_cables_are_few_edges() -> None:
    links = [Link("node", f"leaf{n}", 18, 12.5e9) for n in range(200)]
    links += [Link(f"leaf{n}", f"spine{n % 6}", 3, 25e9) for n in range(200)]
    links += [Link(f"spine{n}", "core", 2) for n in range(6)]
    cabled = Finding("fabric", Certainty.SEEN, "leaf switch", {}, links=tuple(links))
    edges = edges_of(Choice((cabled,), (), None, "", ()))
    assert len(edges) <= MOST_NAMED_EDGES
    assert [(edge.from_, edge.to, edge.units) for edge in edges] == [
        ("node", "200 x leaf switch", 3600),
        ("200 x leaf switch", "upper switch", 600),
        ("upper switch", "upper switch above", 12),
    ]


def test_a_machine_of_many_nodes_fits_into_what_the_library_reads(tmp_path: Path) -> None:
    lines = [f"SwitchName=leaf{n} Nodes=node[{n + 1:05}-{n + 48:05}]" for n in range(0, 60000, 48)]
    recording = made(
        tmp_path, {"nodes.txt": "node[00001-60000]\n", "topology.conf": "\n".join(lines)}
    )
    file = tmp_path / "large.toml"
    write_platform(file, describe(recording, look(recording), None, "large", None))
    assert file.stat().st_size < 1 << 20
    platform = load_platform(file)
    assert platform.nodes_per_io_group == 48
    assert platform.topology["network"]["groups"]["leaf48"] == "node[00049-00096]"


def test_groups_that_are_too_long_for_a_description_are_left_out(tmp_path: Path) -> None:
    recording = made(tmp_path, {"nodes.txt": "node[00001-60000]\n"})
    alone = {name: Place(f"switch of {name}") for name in recording.names}
    choice = Choice((), (), Finding("a", Certainty.SEEN, "switch", alone), "", ())
    network = describe(recording, choice, None, "large", None).topology["network"]
    assert network == {"source": "a", "certainty": Certainty.SEEN.text, "unit": "switch"}


def test_ranks_of_a_node_are_those_that_the_launcher_says(tmp_path: Path) -> None:
    sizes = {"a": 4, "b": 3}
    texts = {
        f"nodes/{name}/environment.txt": f"OMPI_COMM_WORLD_LOCAL_SIZE={ranks}\nPMIX_RANK={rank}\n"
        for rank, (name, ranks) in enumerate(sizes.items())
    }
    recording = made(tmp_path, texts)
    platform = describe(recording, look(recording), None, "here", None)
    assert platform.ranks_per_host == 4
    assert platform.topology["ranks_by_host"] == sizes
    assert describe(recorded("pairs"), look(recorded("pairs")), None, "", 13).ranks_per_host == 3


def test_a_given_description_has_the_last_word_and_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = make_platform([make_stage()], nodes_per_io_group=1, hosts=9)
    file, output = tmp_path / "own.toml", tmp_path / "both.toml"
    write_platform(file, own)
    discover("--from", RECORDINGS / "fat-tree", "--platform", file, "--output", output)
    both = load_platform(output)
    assert (both.hosts, both.nodes_per_io_group) == (9, 1)
    assert both.stages == load_platform(file).stages
    assert both.topology["network"]["unit"] == "leaf switch"
    assert len(both.edges) == 5
    shown = capsys.readouterr().out
    assert f"Overridden: hosts is 9 by {file}, not 4 as discovered" in shown
    assert f"Overridden: nodes_per_io_group is 1 by {file}, not 2 as discovered" in shown
    assert "WEIR_IO_GROUPS=1 " in shown
    assert "WEIR_IO_GROUPS=2" not in shown


def test_a_given_description_without_groups_leaves_those_that_are_discovered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, output = tmp_path / "own.toml", tmp_path / "both.toml"
    write_platform(file, make_platform([make_stage()], hosts=4))
    discover("--from", RECORDINGS / "fat-tree", "--platform", file, "--output", output)
    assert load_platform(output).nodes_per_io_group == 2
    assert "WEIR_IO_GROUPS=2\n" in capsys.readouterr().out


# ---- What is printed ----------------------------------------------------------------------------


def test_what_is_found_and_what_is_not_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    discover("--from", RECORDINGS / "fat-tree")
    out, err = capsys.readouterr()
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[0] == "4 nodes: n[1-4]"
    fabric = next(line for line in lines if line.startswith("InfiniBand (ibnetdiscover)"))
    assert "2 leaf switches: 2 nodes each" in fabric
    assert fabric.endswith("reported by the system itself")
    assert any(
        line.startswith("Lustre's LNet routes") and "no node has LNet" in line for line in lines
    )
    assert lines[-5:] == [
        "I/O groups: 2, the nodes of each leaf switch by InfiniBand (ibnetdiscover), reported by "
        "the system itself; it is the most certain source that knows all nodes",
        "  0: n[1-2] (leaf1)",
        "  1: n[3-4] (leaf2)",
        "WEIR_IO_GROUPS=2",
        "Network: switches:2, 23.3 GiB/s from a leaf switch to a switch above it, by InfiniBand "
        "(ibnetdiscover); weir sim lets messages pass its links",
    ]
    assert err == ""


def test_job_scripts_get_the_value_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    discover("--from", RECORDINGS / "cray", "--io-groups", "--output", tmp_path / "found.toml")
    assert capsys.readouterr() == ("0*2,1,0\n", "")
    assert load_platform(tmp_path / "found.toml").hosts == 4
    made(tmp_path / "flat", {"nodes.txt": "n[1-2]"})
    discover("--from", tmp_path / "flat", "--io-groups")
    out, err = capsys.readouterr()
    assert out == "\n"
    assert err == "weir: I/O groups: not known, no source says where the nodes are\n"


def test_hosts_on_one_kernel_and_nodes_that_differ_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def system(boot: str, cores: int) -> str:
        cpus = [f"/sys/devices/system/cpu/cpu{n}/topology/core_id:{n}\n" for n in range(cores)]
        return f"/proc/sys/kernel/random/boot_id:{boot}\n" + "".join(cpus)

    kinds = {"n1": ("a", 4), "n2": ("b", 4), "n3": ("b", 2)}
    made(tmp_path, {f"nodes/{name}/sys.txt": system(*kind) for name, kind in kinds.items()})
    discover("--from", tmp_path)
    out = capsys.readouterr().out
    assert "2 of these hosts run on the same kernel as another one" in out
    assert "/sys, 2 nodes such as n1" in out
    assert "/sys, n3" in out


def test_texts_are_not_taken_for_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(tmp_path, {"nodes.txt": "a,b", "topology.conf": "SwitchName=[red] Nodes=a,b\n"})
    discover("--from", tmp_path)
    assert "I/O groups: none are needed, all nodes share one leaf switch" in capsys.readouterr().out


def test_a_damaged_text_is_one_line_with_its_file(tmp_path: Path) -> None:
    made(tmp_path, {"nodes.txt": "n1", "ibnetdiscover.txt": 'Switch\t36 "S-0\n'})
    with pytest.raises(Error, match=r"ibnetdiscover.txt, line 1 is no switch") as error:
        discover("--from", tmp_path)
    assert "\n" not in str(error.value)


def test_a_new_form_of_one_text_hides_no_other_on_the_machine_itself(tmp_path: Path) -> None:
    folder = copied("fat-tree", tmp_path)
    (folder / "scontrol-topology.txt").write_text("Topology=of a later version\n")
    (folder / "nodes/n1/lstopo.xml").write_text("<topology")
    recording = read_recording(folder)
    with pytest.raises(DiscoveryError, match="names neither a switch nor a block"):
        look(recording)
    choice = look(recording, strict=False)
    assert choice.divides
    assert "scontrol-topology.txt, line 1 names neither" in choice.missing[1].why
    assert hardware_of(recording.nodes[0], strict=False) is None
    with pytest.raises(DiscoveryError, match="is no XML"):
        hardware_of(recording.nodes[0])


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--from", ".", "-n", "4"], "leave -n out"),
        (["--from", ".", "--record", "there"], "leave --record out"),
        (["--output", "found.json"], "ends in .toml"),
        (["--from", "nowhere"], "nowhere is not a folder"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    words: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Error, match=reason):
        discover(*words)
    assert list(tmp_path.iterdir()) == []


# ---- Recording ----------------------------------------------------------------------------------


def test_this_node_is_recorded_and_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLURM_PROCID", "5")  # of the shell of a job, which is no rank of it
    discover("--record", "kept", "--output", "here.toml")
    recording = read_recording(Path("kept"))
    assert recording.names == [socket.gethostname()]
    assert recording.nodes[0].first_rank is None
    assert recording.nodes[0].boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    cores = load_platform(Path("here.toml")).topology["hardware"]["processor"]["cores"]
    assert 1 <= cores <= (os.cpu_count() or 1)
    out, err = capsys.readouterr()
    assert "I/O groups: none are needed for one node" in out
    assert "only this node was looked at" in err
    with pytest.raises(BenchError, match="has nodes of an earlier recording"):
        discover("--record", "kept")


def test_own_texts_are_removed_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    discover()
    assert list(tmp_path.iterdir()) == []


def test_ranks_of_several_hosts_record_each_host_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank in range(6):
        monkeypatch.setattr(socket, "gethostname", lambda rank=rank: f"h{rank // 2}")
        environment = {
            "SLURM_PROCID": str(rank),
            "SLURM_LOCALID": str(rank % 2),
            "SLURM_TOPOLOGY_ADDR": f"s{rank // 4}.h{rank // 2}",
            "SLURM_TOPOLOGY_ADDR_PATTERN": "switch.node",
            "SECRET": "kept to itself",
        }
        collect_node(tmp_path, environment, ranked=True)
    recording = read_recording(tmp_path)
    assert recording.names == ["h0", "h1", "h2"]
    choice = look(recording)
    assert choice.taken is not None
    assert choice.taken.groups == {"s0": ["h0", "h1"], "s1": ["h2"]}
    for file in (tmp_path / NODES_FOLDER).rglob("*.txt"):
        assert "kept to itself" not in file.read_text()


def test_a_launcher_starts_the_ranks_and_the_probe_and_slurms_file_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = tmp_path / "etc"
    slurm.mkdir()
    (slurm / "topology.conf").write_text(f"SwitchName=a Nodes={socket.gethostname()}\n")
    monkeypatch.setenv("SLURM_CONF", str(slurm / "slurm.conf"))
    probe = tmp_path / "here.probe.json"
    probe.write_text(make_probe([]).model_dump_json())
    launcher = tmp_path / "launch"
    launcher.write_text(
        "#!/bin/sh\nfor rank in 0 1; do PMIX_RANK=$rank OMPI_COMM_WORLD_LOCAL_RANK=$rank "
        'OMPI_COMM_WORLD_LOCAL_SIZE=2 "$@" || exit 1; done\n'
    )
    launcher.chmod(0o755)
    folder = tmp_path / "kept"
    said: list[str] = []
    commands.record(folder, Launcher((str(launcher),), 2, {}), probe, said.append)
    recording = read_recording(folder)
    assert [(node.first_rank, node.ranks) for node in recording.nodes] == [(0, 2)]
    assert (folder / "topology.conf").read_text() == (slurm / "topology.conf").read_text()
    assert (folder / "probe.json").read_text() == probe.read_text()
    assert said == []


def test_a_launcher_that_fails_is_one_line(tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(BenchError, match="recording the nodes failed, exit status 3") as error:
        commands.record(
            tmp_path / "kept", Launcher(("sh", "-c", "exit 3"), 2, {}), None, said.append
        )
    assert sys.executable in str(error.value)


def test_a_command_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "COMMAND_SECONDS", 0.2)
    assert collect.output_of("sleep", "60") is None
    assert collect.output_of("no-such-program-at-all") is None
    assert collect.output_of("false") is None
    assert collect.output_of("echo", "there") == ["there"]
