"""Drawing platform descriptions: bars, limits, topology, pictures; where files of them lie."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from rich.console import Console

from weir.bench.cleanup import remove_unfinished
from weir.bench.errors import BenchError
from weir.bench.platforms import find_platform
from weir.platform.drawing import bar, draw_platform, interval_text
from weir.platform.files import check_output, default_path, find_description, keep_older, probe_path
from weir.platform.picture import MOST_CHARACTERS, write_picture
from weir.platform.summary import limits, rows
from weir.results.errors import ResultError
from weir.results.platform import Platform
from weir.results.platform_file import load_platform, write_platform
from weir.results.record import Quantity


def platform(name: str = "box") -> Platform:
    """One host of two ranks: memory of 10 GB/s, four targets of which the last is slow."""
    targets = [{"name": f"/t{n}", "rate_bytes_per_second": rate} for n, rate in enumerate(RATES)]
    storage = {
        "kind": "target",
        "units": 4,
        "rate_bytes_per_second": 1e8,
        "fixed_seconds": 1e-3,
        "different_units": targets,
    }
    return Platform.model_validate(
        {
            "format": "weir-platform",
            "format_version": 1,
            "name": name,
            "hosts": 1,
            "ranks_per_host": 2,
            "stages": [
                {**storage, "name": "storage write", "direction": "write", "routes": ["durable"]},
                {**storage, "name": "storage read", "direction": "read", "routes": ["dropped"]},
                {
                    "name": "memory copy",
                    "kind": "node",
                    "routes": ["memory", "durable", "dropped"],
                    "units": 1,
                    "rate_bytes_per_second": {"value": 1e10, "low": 9e9, "high": 1.2e10},
                },
            ],
            "conditions": {"quiet": "quiet: <nothing> & [no one]"},
            "targets": [
                {"directory": "/t0", "file_system": "ext4", "mount": "/t0", "device": "/dev/sda"}
            ],
        }
    )


RATES = (1e8, 1e8, 1e8, 2.5e7)


def test_operations_on_names_are_a_table_with_the_device_below() -> None:
    named = {
        "clients": 8,
        "operations": {"create": {"one_client": 1200, "all_clients": 9000, "one_directory": 700}},
        "device_writes_per_second": {"1": 20000, "8": 180000},
        "device_how": "data sheet",
    }
    text = io.StringIO()
    described = Platform.model_validate({**platform().model_dump(), "metadata": [named]})
    draw_platform(Console(file=text, width=200), described)
    lines = [line.split("  ") for line in text.getvalue().splitlines()]
    table = [[cell.strip() for cell in line if cell] for line in lines]
    head = next(n for n, line in enumerate(table) if line and line[0] == "on names, per second")
    assert table[head][1:] == ["one client", "8 clients", "in one directory"]
    assert table[head + 1] == ["create", "1200", "9000", "700"]
    device = "20000 writes for 1 client, 180000 writes for 8 clients: data sheet"
    assert table[head + 2] == [f"the device itself, per second: {device}"]


def test_stages_come_in_the_order_of_the_path_with_their_units() -> None:
    names = [row.name for row in rows(platform())]
    assert names == [
        "memory copy",
        *("storage write", "/t0", "/t1", "/t2", "/t3"),
        *("storage read", "/t0", "/t1", "/t2", "/t3"),
    ]


def test_the_limit_is_the_slowest_stage_with_its_fixed_cost() -> None:
    found = {(one.what, one.operation_bytes): one for one in limits(platform())}
    large, small = found["write", 2**24], found["write", 4096]
    assert large.stage == small.stage == "storage write"
    total, moved = sum(RATES), 2 * 2**24
    assert large.bytes_per_second == pytest.approx(moved / (moved / total + 1e-3))
    assert small.bytes_per_second == pytest.approx(8192 / (8192 / total + 1e-3))


def test_a_bar_is_logarithmic() -> None:
    assert bar(100, 1, 10000, cells=10) == "█" * 5
    assert bar(10000, 1, 10000, cells=10) == "█" * 10
    assert bar(1, 1, 10000, cells=10) == "▏"


def test_an_interval_is_shown_where_there_is_one() -> None:
    assert interval_text(Quantity(value=10, low=9, high=12)) == "-10 % +20 %"
    assert interval_text(Quantity(value=10, low=10, high=10)) == ""


def test_the_drawing_names_stages_limits_targets_and_conditions() -> None:
    stream = io.StringIO()
    draw_platform(Console(file=stream, width=160), platform())
    text = stream.getvalue()
    for wanted in ("memory copy", "/t3", "limited by storage write", "ext4 on /dev/sda"):
        assert wanted in text
    assert "quiet: <nothing> & [no one]" in text


@pytest.mark.parametrize(
    ("nodes", "drawn"), [(1, "I/O groups of 1 node"), (64, "I/O groups of 64 consecutive nodes")]
)
def test_the_drawing_names_io_groups(tmp_path: Path, nodes: int, drawn: str) -> None:
    grouped = platform().model_copy(update={"nodes_per_io_group": nodes})
    file = tmp_path / "grouped.toml"
    write_platform(file, grouped)
    stream = io.StringIO()
    draw_platform(Console(file=stream, width=160), load_platform(file))
    assert drawn in stream.getvalue()
    stream = io.StringIO()
    draw_platform(Console(file=stream, width=160), platform())
    assert "I/O groups" not in stream.getvalue()


@pytest.mark.parametrize(
    "shape", ["8x8x16", "mesh:4x4@0.0,3.3", "switches:16", "fat-tree:16x8", "dragonfly:4x8x2x9"]
)
def test_the_drawing_names_the_network(tmp_path: Path, shape: str) -> None:
    connected = platform().model_copy(update={"network_shape": shape})
    file = tmp_path / "connected.toml"
    write_platform(file, connected)
    stream = io.StringIO()
    draw_platform(Console(file=stream, width=160), load_platform(file))
    assert f"network of nodes: {shape}" in stream.getvalue()


def test_the_drawing_names_what_a_hop_occupies() -> None:
    stream = io.StringIO()
    draw_platform(Console(file=stream, width=160), find_platform("made-up"))
    assert (
        "network of nodes: fat-tree:16x8; a hop occupies a link of 23.3 GiB/s" in stream.getvalue()
    )


def test_a_network_has_a_shape() -> None:
    record = platform().model_dump()
    for shape in ("", "8x", "x8", "ring:8", "8x8@", "fat-tree:16", "dragonfly:4x8", 8):
        with pytest.raises(ValueError, match="network_shape"):
            Platform.model_validate({**record, "network_shape": shape})


def test_io_groups_have_at_least_one_node() -> None:
    record = platform().model_dump()
    for nodes in (0, -1, 2**31, "0,1"):
        with pytest.raises(ValueError, match="nodes_per_io_group"):
            Platform.model_validate({**record, "nodes_per_io_group": nodes})


@pytest.mark.parametrize("name", ["path.svg", "path.html"])
def test_a_picture_stands_alone_and_holds_all_stages(tmp_path: Path, name: str) -> None:
    text = write_picture(tmp_path / name, platform()).read_text(encoding="utf-8")
    root = ET.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])
    shown = " ".join(root.itertext())
    for wanted in ("memory copy", "storage write", "/t3", "quiet: <nothing> & [no one]"):
        assert wanted in shown
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_picture_has_room_for_what_is_uncertain_and_says_so(tmp_path: Path) -> None:
    record = platform().model_dump(mode="json")
    record["stages"][2]["rate_bytes_per_second"] = {"value": 1e10, "low": 9e9, "high": 1e16}
    errors = {"held_out_median_error": 0.5, "held_out_p90_error": 2.0}
    fit = {"stage": "memory copy", "form": "one rate", "samples": 9, "fits": False, "text": ""}
    record["fits"] = [{**fit, **errors}]
    record["latencies_seconds"] = {f"operation_{n}": 1e-6 for n in range(40)}
    uncertain = Platform.model_validate(record)
    text = write_picture(tmp_path / "path.svg", uncertain).read_text(encoding="utf-8")
    lines = [element.text or "" for element in ET.fromstring(text[text.index("<svg") :]).iter()]
    assert "9.31 GiB/s, does not fit" in lines
    assert "100 GiB/s" in lines
    assert not [line for line in lines if "TiB/s" in line or "GB/s" in line]
    assert max(len(line) for line in lines) <= MOST_CHARACTERS
    stream = io.StringIO()
    draw_platform(Console(file=stream, width=200), uncertain)
    assert "-10 % and open above" in stream.getvalue()


def test_an_older_description_is_kept_with_its_samples(tmp_path: Path) -> None:
    path = tmp_path / "box.toml"
    assert keep_older(path) is None
    for content in ("first", "second"):
        path.write_text(content)
        probe_path(path).write_text(f"{content} samples")
        assert keep_older(path) == tmp_path / "box.1.toml"
    assert (tmp_path / "box.1.toml").read_text() == "second"
    assert (tmp_path / "box.2.probe.json").read_text() == "first samples"
    assert not path.exists()


def test_a_description_is_found_by_file_name_or_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ResultError, match="no platform is in"):
        find_description(None)
    path = default_path("box.example.org")
    assert path == Path("platforms/box.toml")
    write_platform(path, platform())
    assert find_description(None) == find_description("box") == find_description(str(path)) == path
    keep_older(path)
    write_platform(path, platform())
    assert find_description(None) == path
    with pytest.raises(ResultError, match="platforms/ has box, and weir describes bassi"):
        find_description("other")


def test_outputs_that_cannot_be_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for wrong in ("platform.json", "file/box.toml"):
        with pytest.raises(BenchError):
            check_output(tmp_path / wrong)


@pytest.mark.parametrize("name", ["weir-probe-1-2", "weir-calibrate-1-2"])
def test_leftovers_are_removed_and_nothing_else(tmp_path: Path, name: str) -> None:
    ours, theirs = tmp_path / name, tmp_path / "weir-theirs"
    for folder in (ours / "rank-0", theirs):
        folder.mkdir(parents=True)
        (folder / "data").touch()
    output = tmp_path / "probe.json"
    unfinished = tmp_path / "probe.json.unfinished"
    unfinished.mkdir()
    (unfinished / "folders.json").write_text(f'["{ours}", "{theirs}"]')
    assert remove_unfinished(output) == [ours]
    assert not ours.exists()
    assert not unfinished.exists()
    assert (theirs / "data").exists()
