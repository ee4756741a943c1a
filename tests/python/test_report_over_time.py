"""Heat maps of ranks and targets, the values behind figures, and the size of the largest report."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest

from report_reader import Element, parse, read_report
from synthetic import make_events, make_run, write_run_folder
from watched_targets import BYTES, INTERVAL, SLOW, name_of, with_targets
from weir.report import heat_map, write_report
from weir.report.event_store import EventStore
from weir.report.heat_map import CLASSES, LEAST_RATIO, MOST_ROWS, HeatMap

MOST_BYTES = 5_000_000


def values_of(figure: Element, place: int = 0) -> list[list[str]]:
    return list(csv.reader(io.StringIO(figure.find("pre", class_="csv")[place].text)))


def cells_drawn(drawing: Element) -> int:
    paths = [
        path.attributes["d"] for path in drawing.find("path") if "heat" in path.attributes["class"]
    ]
    return sum(int(length) for path in paths for length in re.findall(r"h(\d+)", path))


def test_a_rate_is_bytes_over_the_time_of_the_write_and_its_sync(tmp_path: Path) -> None:
    events = make_events(ranks=4, straggler_factor=3.0, straggler_rank=1, noise=0.0)
    folder = write_run_folder(tmp_path / "run", make_run(), events, finalized=True)
    store = EventStore.open(folder)
    assert store is not None
    found = store.rank_rates("write", [0, 1, 2, 3], 160)
    assert found is not None
    edges, rates = found
    assert edges[-1] == pytest.approx(events["end_ns"].max() * 1e-9)
    measured = edges[:-1] > edges[-1] / 2  # The warm-up is slower.
    own = np.nanmedian(rates[:, measured], axis=1)
    assert own[0] == pytest.approx(1.6e9 / 4, rel=0.001)
    assert own[1] == pytest.approx(own[0] / 3, rel=0.001)
    together = store.rank_rates("write", [0], 160)
    assert together is not None
    assert np.nanmedian(together[1][0, measured]) == pytest.approx(own[1], rel=0.001)


def test_all_bytes_of_the_ranks_are_in_the_map(tmp_path: Path) -> None:
    """A rate times the time in which a rank moves bytes is its bytes: here it always moves them."""
    columns = {name: column[:0] for name, column in make_events().items()}
    each = 10**8
    for name in columns:
        columns[name] = np.zeros(8, dtype=np.int64)
    columns["bin"] = np.arange(8)
    columns["operation"] = np.ones(8, dtype=np.int64)
    columns["start_ns"] = np.arange(8) * each
    columns["end_ns"] = (np.arange(8) + 1) * each
    columns["bytes"] = np.array([1, 2, 3, 4, 5, 6, 7, 8]) * 10**6
    folder = write_run_folder(tmp_path / "run", make_run(), columns, finalized=True)
    store = EventStore.open(folder)
    assert store is not None
    found = store.rank_rates("write", [0], 5)
    assert found is not None
    edges, rates = found
    assert float((rates[0] * np.diff(edges)).sum()) == pytest.approx(36e6)
    assert store.rank_rates("read", [0], 5) is None


def test_colours_are_steps_of_equal_ratio_and_noise_is_one_colour() -> None:
    rates = np.array([[1.0, 2.0, 4.0, 8.0, 16.0, np.nan]]).repeat(60, axis=0)
    classes, low, high = heat_map.classes_of(rates)
    assert (low, high) == (1.0, 16.0)
    assert classes[0].tolist() == [0, 2, 4, 6, CLASSES - 1, -1]  # 9 steps of 16 ** (1 / 9)
    noisy = np.random.default_rng(1).normal(100, 3, (20, 50))
    classes, low, high = heat_map.classes_of(noisy)
    assert high / low == pytest.approx(LEAST_RATIO)
    assert np.mean(classes == CLASSES // 2) > 0.95


def test_every_cell_with_a_rate_is_drawn_once() -> None:
    random = np.random.default_rng(2)
    rates = np.where(random.random((7, 30)) < 0.5, random.lognormal(20, 2, (7, 30)), np.nan)
    heat = HeatMap([f"rank {one}" for one in range(7)], np.linspace(0, 3, 31), rates)
    drawing = parse(heat_map.draw(heat, "Write", "time", "run", "a map"))
    assert cells_drawn(drawing) == int(np.isfinite(rates).sum())
    told = [row.split(",") for row in heat_map.csv_of(heat, "write by rank").splitlines()]
    assert [len(row) for row in told[1:]] == [32] * 7
    assert sum(cell != "" for row in told[1:] for cell in row[2:]) == int(np.isfinite(rates).sum())


def test_a_slow_target_among_many_is_seen(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    run = with_targets(folder, make_run(finalized=True), 200)
    write_run_folder(folder, run, make_events(), finalized=True)
    page = read_report(write_report(folder))
    shown = page.one("figure", data_figure="targets-over-time")
    head, *rows = values_of(shown)
    assert len(rows) == MOST_ROWS
    first = [float(row[3]) for row in rows]
    assert head[1] == "MiB/s"
    usual = BYTES / INTERVAL / 2**20
    slow = [row for row in rows if float(row[3]) < 0.75 * usual]
    assert len(slow) == 1
    place = [target * 200 // MOST_ROWS for target in range(MOST_ROWS)]
    within = max(target for target in place if target <= SLOW)
    assert slow[0][0] == name_of(within)
    assert sorted(first)[1] == pytest.approx(usual, rel=0.01)
    assert "the slowest of up to 5 targets" in shown.one("figcaption").text
    completion = page.one("figure", data_figure="completion")
    assert len(completion.one("tbody").find("tr")) == 64
    assert "64 of 200" in completion.one("caption").text


def test_values_of_the_targets_are_the_monitors(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    run = with_targets(folder, make_run(finalized=True), 9)
    write_run_folder(folder, run, make_events(), finalized=True)
    page = read_report(write_report(folder))
    head, *rows = values_of(page.one("figure", data_figure="targets"))
    assert head == ["from second", "all targets, read, bytes/s", "all targets, write, bytes/s"]
    moved = sum(float(row[2]) for row in rows) * INTERVAL
    assert run.monitor is not None
    assert moved == pytest.approx(sum(one.bytes_written for one in run.monitor.counters), rel=0.001)
    each = values_of(page.one("figure", data_figure="each-target"))
    assert len(each[0]) == 1 + 2 * 9


def test_one_rank_alone_has_no_map(tmp_path: Path) -> None:
    run = make_run(finalized=True, ranks=1)
    write_run_folder(tmp_path, run, make_events(ranks=1), finalized=True)
    assert not read_report(write_report(tmp_path)).find("figure", data_figure="ranks-over-time")


def test_a_report_of_10000_ranks_and_1000_targets_is_small(tmp_path: Path) -> None:
    fields = {"ranks": 10_000, "bins": 1, "repetitions": 1, "warmups": 0}
    folder = tmp_path / "run"
    folder.mkdir()
    run = with_targets(folder, make_run(finalized=True, **fields), 1000)
    write_run_folder(folder, run, make_events(**fields), finalized=True)
    report = write_report(folder)
    assert report.stat().st_size <= MOST_BYTES
    page = read_report(report)
    for name in ("ranks-over-time", "targets-over-time"):
        shown = page.one("figure", data_figure=name)
        assert len(values_of(shown)) == 1 + MOST_ROWS
        assert cells_drawn(shown) > 0
