"""Shipped machines: they load, are found, predict, and have the figures of the papers' tables."""

from __future__ import annotations

import csv
import io
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from rich.console import Console

from cli_with_doubles import Cli
from platforms import make_platform, make_stage
from weir.model.flow import Flow
from weir.platform.drawing import draw_machines, draw_platform
from weir.platform.files import find_description, shipped
from weir.platform.picture import write_picture
from weir.platform.table import machine_row
from weir.results.errors import ResultError
from weir.results.platform import MOST_EDGES, Edge, Machine, Platform
from weir.results.platform_file import load_platform, write_platform

REFERENCE = Path(__file__).parents[1] / "reference"
sys.path.insert(0, str(Path(__file__).parents[2] / "bench" / "compare"))

import paper_predictions  # noqa: E402
from paper_predictions import Point, shipped_platform  # noqa: E402

NAMES = [
    "bassi",
    "columbia",
    "franklin",
    "intrepid",
    "intrepid-2008",
    "jacquard",
    "jaguar",
    "made-up",
    "surveyor",
    "thunder",
]
NOT_FOUND = [
    "Jaguar gains from 64 to 256",
    "rates of shared files on franklin are flat",
    "slowest with unique files at 256: Columbia, then Surveyor",
    "shared files on Thunder are far below unique ones",
    "Bassi is fastest with shared files",
    "Intrepid with shared files is third, after Bassi and Jacquard",
    "Jacquard still gains from 64 to 256",
    "Intrepid nears 8 GB/s at 1024",
    "Surveyor is as fast at 16 as at 64, and four times as fast at 256",
    "reading is slower than writing on Jaguar and Thunder",
    "rates at 256 differ by up to 75 times",
]
"""Findings of MADbench2 that its own account of the machines does not lead to."""


def table_2() -> list[dict[str, str]]:
    with (REFERENCE / "madbench2_platforms.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def drawn(platform: Platform, width: int = 100) -> str:
    text = io.StringIO()
    draw_platform(Console(file=text, width=width), platform)
    return text.getvalue()


def test_the_machines_of_the_papers_are_shipped() -> None:
    assert shipped() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_of_a_machine_has_a_source(name: str) -> None:
    platform = shipped_platform(name)
    assert platform.name == name
    assert all(stage.how for stage in platform.stages)
    wired = [stage for edge in platform.edges for stage in edge.stages]
    assert sorted(wired) == sorted(stage.name for stage in platform.stages)
    assert platform.machine is not None
    assert platform.machine.source


@pytest.mark.parametrize("name", NAMES)
def test_nodes_behind_an_io_node_are_an_io_group_for_sessions(name: str) -> None:
    platform = shipped_platform(name)
    units = {stage.nodes_per_unit for stage in platform.stages if stage.kind == "I/O node"}
    assert {platform.nodes_per_io_group} == (units or {None})


@pytest.mark.parametrize("row", table_2(), ids=lambda row: row["name"])
def test_a_row_of_the_table_is_that_of_the_paper(row: dict[str, str]) -> None:
    name = {"Intrepid": "intrepid-2008"}.get(row["name"], row["name"].lower())
    ours = machine_row(shipped_platform(name))

    def figure(field: str) -> float | None:
        return float(row[field]) if row[field] else None

    def scaled(value: float | None, unit: float) -> Any:
        return None if value is None else pytest.approx(value / unit, rel=0.005)

    assert ours.file_system == row["file_system"]
    assert ours.processor == row["processor"]
    assert ours.interconnect == row["interconnect"]
    assert figure("node_max_bw") == scaled(ours.node_most, 1e9)
    assert figure("node_measured_bw") == scaled(ours.node_measured, 1e9)
    assert figure("max_disk_bw") == scaled(ours.disk_most, 1e9)
    assert figure("disk_TB") == scaled(ours.capacity, 1e12)
    clients = row["io_servers_per_client"].partition(":")[2]
    assert (f"{ours.clients_per_server:.0f}" if ours.clients_per_server else "") == clients


def test_several_machines_are_a_table_of_at_most_100_columns() -> None:
    text = io.StringIO()
    draw_machines(Console(file=text, width=100), [shipped_platform(name) for name in NAMES])
    lines = text.getvalue().splitlines()
    assert max(len(line) for line in lines) <= 100
    assert [line.split()[0] for line in lines[1 : 1 + len(NAMES)]] == NAMES
    assert "\u2026" not in text.getvalue()
    (jaguar,) = (line for line in lines if line.startswith("jaguar"))
    assert jaguar.split()[1:] == [
        *("Lustre", "Opteron", "SeaStar-1", "6.40", "1.20", "1:105", "22.5", "100")
    ]


def test_a_probed_machine_stands_in_the_table_with_what_is_known() -> None:
    stages = [
        make_stage("link", 1e9, kind="node link", routes=["network"]),
        make_stage("disk", 5e8, routes=["durable"], direction="write", units=2),
    ]
    row = machine_row(make_platform(stages))
    assert (row.node_most, row.node_measured, row.disk_most) == (None, 1e9, 1e9)
    assert (row.clients_per_server, row.capacity) == (None, None)


def test_one_machine_shows_its_wiring_with_rates_origins_and_groups() -> None:
    text = drawn(shipped_platform("intrepid"))
    assert "I/O node: 640 x 286 MiB/s (at most 334 MiB/s), paper" in text
    assert "I/O groups: 64 nodes share one of 640 (collective network, I/O node)" in text
    tree = [line for line in text.splitlines() if "\u2500\u2500" in line]
    depth = {
        part: next(line.index(part) for line in tree if part in line)
        for part in ("compute node", "collective network:", "I/O node:", "Myricom", "DDN 9900:")
    }
    assert list(depth.values()) == sorted(set(depth.values()))
    # Two ways lead on from the switches: to the file servers and to the analysis nodes.
    assert "analysis node: 100 x 670 MiB/s" in text
    assert "OSS: 20, rate not known, paper" in drawn(shipped_platform("franklin"))


def test_a_ring_of_edges_is_drawn_once() -> None:
    ring = [
        Edge.model_validate({"from": a, "to": b, "origin": "paper", "source": "here"})
        for a, b in ("ab", "bc", "ca")
    ]
    text = drawn(make_platform([make_stage()], edges=ring))
    assert text.count("rate not known") == 3


def test_the_longest_chain_of_edges_can_be_drawn_and_a_longer_one_is_refused() -> None:
    def chain(length: int) -> Platform:
        wires = [{**WIRE, "from": f"part {n}", "to": f"part {n + 1}"} for n in range(length)]
        return make_platform([make_stage()], edges=[Edge.model_validate(one) for one in wires])

    assert f"part {MOST_EDGES}: 1, rate not known, paper" in drawn(chain(MOST_EDGES), width=2000)
    with pytest.raises(ValidationError, match="at most 256 items"):
        chain(MOST_EDGES + 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_has_room_for_every_machine(tmp_path: Path, name: str) -> None:
    platform = shipped_platform(name)
    text = write_picture(tmp_path / "path.svg", platform).read_text(encoding="utf-8")
    shown = " ".join(ET.fromstring(text[text.index("<svg") :]).itertext())
    assert all(stage.name in shown for stage in platform.stages)
    assert "Wiring" in shown


def test_wiring_survives_writing_and_reading(tmp_path: Path) -> None:
    platform = shipped_platform("franklin")
    assert load_platform(write_platform(tmp_path / "again.toml", platform)) == platform


def test_a_name_is_first_one_of_ours_then_a_shipped_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_description("Jaguar").parent.name == "machines"
    with pytest.raises(ResultError, match="give a file or one of bassi, columbia"):
        find_description(None)
    with pytest.raises(ResultError, match="neither a file nor a platform"):
        find_description("../machines/jaguar")
    own = write_platform(Path("platforms/jaguar.toml"), make_platform([make_stage()]))
    assert find_description("jaguar") == own


WIRE = {"from": "node", "to": "disk", "origin": "paper", "source": "page 3"}
IO_NODE = {"kind": "I/O node", "routes": ["durable"], "units": 2}
FABRIC = {"kind": "fabric", "routes": ["durable"], "units": 1}


@pytest.mark.parametrize(
    ("stage", "edge", "wanted"),
    [
        (IO_NODE, {}, "stages[0]: an I/O node serves a group of nodes: give nodes_per_unit"),
        (
            {**IO_NODE, "nodes_per_unit": 3},
            {},
            "stages[0]: 2 I/O nodes of 3 nodes each serve 6 hosts, but the machine has 8:",
        ),
        ({"nodes_per_unit": 4}, {}, "stages[0]: nodes_per_unit is for the kinds I/O node and"),
        (FABRIC, {}, "stages[0]: a fabric is one unit that all nodes share: give units = 1 and"),
        (
            {**FABRIC, "one_user_bytes_per_second": 1e9, "sharing": "linear"},
            {},
            "stages[0]: a fabric carries less than its nodes together: give sharing saturating",
        ),
        ({"sharing": "contended"}, {}, "contended sharing starts at one user: give one_user"),
        ({"units_per_file": 0}, {}, "stages[0].units_per_file: Input should be greater than"),
        ({}, {"stages": ["disc"]}, "edge node -> disk names stage disc, but there is none: give"),
        (
            {},
            {"stages": ["disk"], "rate_bytes_per_second": 1e9},
            "edges[0]: edge node -> disk has the units and the rate of its stages: leave out",
        ),
        ({}, {"source": ""}, "edges[0]: edge node -> disk does not say where it is from: give"),
        ({}, {"origin": "hearsay"}, "edges[0].origin: Input should be 'data sheet', 'probe',"),
        ({}, {"units": 0}, "edges[0].units: Input should be greater than or equal to 1"),
        ({}, {"rate_bytes_per_second": -1}, "edges[0].rate_bytes_per_second.value: Input should"),
        ({}, {"speed": 1}, "edges[0].speed: Extra inputs are not permitted"),
    ],
)
def test_a_mistake_is_one_line_with_file_table_and_remedy(
    tmp_path: Path, stage: dict[str, Any], edge: dict[str, Any], wanted: str
) -> None:
    import tomli_w  # noqa: PLC0415

    record = {
        "format": "weir-platform",
        "format_version": 1,
        "name": "box",
        "hosts": 8,
        "ranks_per_host": 1,
        "stages": [
            {
                "name": "disk",
                "kind": "target",
                "routes": ["durable"],
                "units": 1,
                "rate_bytes_per_second": 1e9,
                **stage,
            }
        ],
        "edges": [{**WIRE, **edge}],
    }
    path = tmp_path / "box.toml"
    path.write_text(tomli_w.dumps(record))
    with pytest.raises(ResultError) as refused:
        load_platform(path)
    text = str(refused.value)
    assert text.startswith(f"{path}: ")
    assert wanted in text
    assert "\n" not in text


@pytest.mark.parametrize("name", paper_predictions.MACHINES)
def test_every_machine_predicts_what_madbench2_would_reach(name: str) -> None:
    row = machine_row(shipped_platform(name))
    assert row.disk_most is not None
    before = 0.0
    for cpus in (16, 64, 256):
        rate = paper_predictions.predict(Point(name, cpus, "UNIQUE"))
        shared = paper_predictions.predict(Point(name, cpus, "SHARED"))
        assert 0 < rate.read <= 1.51 * row.disk_most
        assert shared.write <= rate.write * 1.001
        assert rate.write >= before * 0.9
        before = rate.write


def test_predictions_that_the_paper_has_in_words_are_as_far_off_as_the_docs_say() -> None:
    def ratio(machine: str, cpus: int, paper: float) -> float:
        rate: float = paper_predictions.predict(Point(machine, cpus, "UNIQUE")).write
        return rate / 1e9 / paper

    assert ratio("jaguar", 16, 8.8) == pytest.approx(1.09, abs=0.01)
    assert ratio("jaguar", 256, 22.5) == pytest.approx(0.77, abs=0.01)
    assert ratio("franklin", 64, 10) == pytest.approx(1.54, abs=0.01)
    assert ratio("intrepid-2008", 1024, 8) == pytest.approx(0.60, abs=0.01)


def test_the_findings_that_the_predictions_lack_are_these() -> None:
    rates = {point: paper_predictions.predict(point) for point in paper_predictions.points()}
    judged = paper_predictions.findings(rates)
    assert [one.finding for one in judged if not one.holds] == NOT_FOUND
    assert len(judged) == 22


@pytest.mark.parametrize("tasks", paper_predictions.TASKS)
def test_franklin_is_equation_4_before_the_test(tasks: int) -> None:
    evenly = paper_predictions.franklin_rate(tasks, evenly=True)
    assert evenly == pytest.approx(paper_predictions.equation_4("before", tasks), rel=1e-9)
    assert paper_predictions.franklin_rate(tasks, evenly=False) <= evenly * (1 + 1e-12)


def test_a_second_file_on_some_targets_holds_up_128_tasks() -> None:
    # 48 of 80 targets have two files, and each of them crowds a little.
    assert paper_predictions.franklin_rate(128, evenly=False) == pytest.approx(12161, abs=1)


@pytest.mark.parametrize(("kib", "share"), [(4, 5.9), (64, 50.0)])
def test_posix_messages_on_intrepid_have_their_share_of_the_peak(kib: int, share: float) -> None:
    for cores in (4096, 32768):
        assert paper_predictions.posix_share(kib, cores) == pytest.approx(share, abs=0.1)


def test_the_files_of_a_run_over_all_targets_are_not_limited_to_a_few() -> None:
    default = paper_predictions.predict(Point("jaguar", 256, "SHARED"))
    every = paper_predictions.predict(Point("jaguar", 256, "SHARED", all_targets=True))
    assert every.write == pytest.approx(12 * default.write)


def test_the_machine_table_is_optional() -> None:
    assert Machine().remarks == []
    assert machine_row(make_platform([make_stage()])).capacity is None


def test_flows_without_files_use_the_units_as_before() -> None:
    stage = make_stage("OST", 1e8, units=80, units_per_file=4)
    flow = Flow("write", "direct", 1, 1e6, {"host": 80})
    from weir.model.stage import stage_time  # noqa: PLC0415

    assert stage_time(stage, flow).rate == pytest.approx(80e8)


def test_show_prints_one_machine_or_a_table_and_refuses_a_picture_of_many(tmp_path: Path) -> None:
    cli = Cli(tmp_path, tmp_path)
    status, out, _ = cli.run("platform", "show", "bassi", "jacquard")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()[:3]] == ["machine", "bassi", "jacquard"]
    status, out, _ = cli.run("platform", "show", "--shipped")
    assert [line.split()[0] for line in out.splitlines()[1 : 1 + len(NAMES)]] == NAMES
    status, out, _ = cli.run("platform", "show", "bassi")
    assert (status, "wiring" in out) == (0, True)
    status, _, err = cli.run("platform", "show", "bassi", "jaguar", "--picture", "x.svg")
    assert status == 2
    assert "--picture draws one platform" in err
