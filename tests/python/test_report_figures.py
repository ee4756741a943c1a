"""The figures hold the run's data: every mark's exact value is compared with ``run.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from report_reader import Element, parse, read_report
from synthetic import make_events, make_run, write_run_folder
from weir.report import bullet, latency, nodes, write_report
from weir.report.eaar import bounds_of
from weir.report.event_store import EventStore
from weir.report.overlap import hidden_phases
from weir.report.sources import read_sources
from weir.results.schema import Run
from weir.results.statistics import median_interval

ASYNC = "POSIX UNIQUE ASYNC"


def figure(page: Element, name: str) -> Element:
    return page.one("figure", data_figure=name)


def report_of(folder: Path, run: Run, **fields: Any) -> Element:
    write_run_folder(folder, run, make_events(**fields), finalized=True)
    return read_report(write_report(folder))


@pytest.mark.parametrize("label", ["POSIX UNIQUE SYNC", ASYNC])
def test_every_repetition_is_a_point(tmp_path: Path, label: str) -> None:
    run = make_run(label=label, finalized=True)
    page = report_of(tmp_path, run, label=label)
    for direction in ("write", "read"):
        rate = next(r for r in run.rates if r.direction == direction and r.headline)
        rows = figure(page, f"rates-{direction}").find("g")
        names = [row.attributes["data-row"] for row in rows]
        assert names == (["all", "S", "W"] if direction == "write" else ["all", "W", "C"])
        for row, name in zip(rows, names, strict=True):
            points = [e for e in row.walk() if "data-repetition" in e.attributes]
            shown = [float(point.attributes["data-value"]) for point in points]
            assert [int(p.attributes["data-repetition"]) for p in points] == [1, 2, 3, 4, 5]
            if name == "all":
                assert shown == rate.values
                continue
            stated = [
                getattr(phase, f"rate_{rate.metric}_bytes_per_second")
                for repetition in run.repetitions[1:]
                for phase in repetition.phases
                if (phase.function, phase.direction) == (name, direction)
            ]
            assert shown == stated
            middle = row.values()[0]
            assert middle == median_interval(stated).median


def test_outliers_are_kept_and_marked(tmp_path: Path) -> None:
    record = json.loads(make_run(finalized=True).model_dump_json())
    record["repetitions"][3]["outlier"] = True
    page = report_of(tmp_path, Run.model_validate(record))
    marked = figure(page, "rates-write").find(class_="point outlier")
    assert {point.attributes["data-repetition"] for point in marked} == {"3"}
    assert len(marked) == 3
    assert "repetition 3 (outlier)" in figure(page, "rates-write").text


def test_latency_bars_hold_every_operation(tmp_path: Path) -> None:
    run = make_run(finalized=True)
    page = report_of(tmp_path, run)
    for histogram in run.histograms:
        shown = figure(page, f"latency-{histogram.function}-{histogram.direction}")
        assert sum(shown.values()) == histogram.count
        listed = [int(data.attributes["value"]) for data in shown.find("data")]
        assert listed == [
            histogram.min_ns, histogram.p50_ns, histogram.p90_ns, histogram.p99_ns,
            histogram.p999_ns, histogram.p9999_ns, histogram.max_ns, histogram.count,
        ]  # fmt: skip


@pytest.mark.parametrize("per_decade", [1, 8, 128])
def test_bins_keep_counts_and_hold_their_buckets_middle(per_decade: int) -> None:
    histogram = make_run().histograms[0]
    bins = latency.equal_bins(histogram, per_decade)
    assert sum(bin_.count for bin_ in bins) == histogram.count
    for low, high, _ in histogram.buckets:
        middle = np.sqrt(low * high)
        assert any(b.low_ns * (1 - 1e-9) <= middle <= b.high_ns * (1 + 1e-9) for b in bins)


def test_percentiles_that_read_alike_share_a_label() -> None:
    histogram = make_run().histograms[0].model_copy(
        update={"p50_ns": 10_000, "p90_ns": 20_000, "p99_ns": 30_000, "p999_ns": 30_001,
                "p9999_ns": 30_002, "max_ns": 30_003}
    )  # fmt: skip
    assert [name for name, _ in latency.merged_labels(histogram)] == [
        "p50",
        "p90",
        "p99\u2013max",
    ]


@pytest.mark.parametrize("ranks", [4, 16, 64])
def test_bars_by_rank_name_the_slowest(tmp_path: Path, ranks: int) -> None:
    fields: dict[str, Any] = {"ranks": ranks, "straggler_rank": ranks - 2, "repetitions": 3}
    run = make_run(**fields, finalized=True)
    shown = figure(report_of(tmp_path, run, **fields), "ranks")
    slowest = ranks - 2
    host = next(node.host for node in run.nodes if slowest in node.ranks)
    assert f"Slowest: rank {slowest} on {host}" in shown.one("figcaption").text
    store = EventStore.open(tmp_path)
    assert store is not None
    times = store.rank_times([1, 2, 3])
    listed = [row.find("data") for row in shown.one("tbody").find("tr")]
    assert [float(row[0].attributes["value"]) for row in listed] == pytest.approx(
        sorted(times.io, reverse=True)
    )
    if ranks <= 32:
        drawn = sum(
            sum(mark.values())
            for mark in shown.find("rect")
            if mark.attributes.get("class") in ("read", "write", "sync")
        )
        assert drawn == pytest.approx(float(times.io.sum()))


def test_nodes_show_their_rates_and_the_slowest_is_marked() -> None:
    run = make_run(ranks=64, straggler_rank=40, repetitions=3)
    markup = nodes.render(run)
    assert markup is not None
    rows = parse(markup).one("tbody").find("tr")
    assert len(rows) == 4
    for node, row in zip(run.nodes, rows, strict=True):
        values = [float(data.attributes["value"]) for data in row.find("data")]
        for place, phase in enumerate(node.phases):
            assert values[2 * place] == phase.rate_bytes_per_second
            assert values[2 * place + 1] == phase.io_seconds_max
        marks = row.find("strong")
        assert len(marks) == (4 if 40 in node.ranks else 0)


def test_of_very_many_nodes_the_slowest_come_first() -> None:
    run = make_run(ranks=40, ranks_per_host=1, straggler_rank=33, repetitions=3)
    markup = nodes.render(run)
    assert markup is not None
    page = parse(markup)
    short, whole = page.find("tbody")
    assert short.find("tr")[0].one("bdi").text == "node33"
    assert (len(short.find("tr")), len(whole.find("tr"))) == (nodes.SHOWN, 40)


def test_hidden_time_and_the_bounds_of_eaar(tmp_path: Path) -> None:
    runs = {
        mode: make_run(label=f"POSIX UNIQUE {mode}", finalized=True) for mode in ("SYNC", "ASYNC")
    }
    for mode, run in runs.items():
        events = make_events(label=f"POSIX UNIQUE {mode}")
        write_run_folder(tmp_path / mode, run, events, finalized=True)
    (source,) = read_sources(tmp_path / "ASYNC")
    assert source.synchronous_sibling == runs["SYNC"]
    median = {
        (mode, r.direction): r.median
        for mode, run in runs.items()
        for r in run.rates
        if r.metric == "foreground"
    }
    for bound in bounds_of(source):
        assert bound.eaar_bytes_per_second == median["ASYNC", bound.direction]
        assert bound.synchronous_bytes_per_second == median["SYNC", bound.direction]
        assert bound.nbin_multiple_bytes_per_second == 8 * median["SYNC", bound.direction]
    page = read_report(write_report(tmp_path / "ASYNC"))
    drawn = figure(page, "eaar").values()
    assert drawn == [
        value
        for bound in bounds_of(source)
        for value in (
            bound.eaar_bytes_per_second,
            bound.synchronous_bytes_per_second,
            bound.nbin_multiple_bytes_per_second,
        )
    ]
    phases = hidden_phases(runs["ASYNC"])
    bars = figure(page, "overlap").values()
    assert bars[0::2] == [phase.foreground_seconds for phase in phases]
    assert bars[1::2] == [phase.hidden_seconds for phase in phases]


def test_eaar_is_shown_as_the_run_states_it(tmp_path: Path) -> None:
    record = json.loads(make_run(label=ASYNC, finalized=True).model_dump_json())
    record["effective"] = [
        {
            "direction": direction,
            "eaar_bytes_per_second": 5e9,
            "synchronous_bytes_per_second": 1e9,
            "synchronous_run_id": "another-run",
            "bins": 8,
            "nbin_multiple_bytes_per_second": 8e9,
        }
        for direction in ("write", "read")
    ]
    page = report_of(tmp_path, Run.model_validate(record), label=ASYNC)
    shown = figure(page, "eaar")
    assert shown.values() == [5e9, 1e9, 8e9] * 2
    assert "beside the synchronous run another-run" in shown.text


def test_a_synchronous_run_of_other_size_is_no_sibling(tmp_path: Path) -> None:
    write_run_folder(tmp_path / "async", make_run(label=ASYNC), make_events(label=ASYNC))
    write_run_folder(tmp_path / "sync", make_run(ranks=16), make_events(ranks=16))
    (source,) = read_sources(tmp_path / "async")
    assert source.synchronous_sibling is None
    page = read_report(write_report(tmp_path / "async"))
    assert "no synchronous run with the same parameters" in figure(page, "eaar").text
    assert len(figure(page, "eaar").values()) == 2


def test_modes_are_told_apart_where_parameters_are_those_of_the_whole_job(tmp_path: Path) -> None:
    runs = {}
    for mode in ("SYNC", "ASYNC"):
        record = json.loads(make_run(label=f"MPI SHARED {mode}").model_dump_json())
        record["parameters"]["iomode"]["value"] = "SYNC,ASYNC"
        runs[mode] = Run.model_validate(record)
        events = make_events(label=f"MPI SHARED {mode}")
        write_run_folder(tmp_path / mode, runs[mode], events, finalized=True)
    asynchronous, synchronous = read_sources(tmp_path)
    assert asynchronous.run == runs["ASYNC"]
    assert asynchronous.synchronous_sibling == runs["SYNC"]
    assert synchronous.synchronous_sibling is None


def test_synchronous_runs_have_nothing_to_hide(tmp_path: Path) -> None:
    page = report_of(tmp_path, make_run(finalized=True))
    assert not page.find("figure", data_figure="overlap")


def test_stages_of_the_expectation_are_drawn(tmp_path: Path) -> None:
    run = make_run(finalized=True)
    page = report_of(tmp_path, run)
    assert run.expectation is not None
    for expected in run.expectation.rates:
        shown = figure(page, f"expectation-{expected.direction}-span")
        assert shown.values() == [stage.rate for stage in expected.stages]
        assert [item.text for item in shown.find("li")] == expected.how.split("; ")
        assert f"limited by {expected.limiting_stage}" in shown.one("figcaption").text


def test_bullets_are_drawn_to_scale() -> None:
    run = make_run(finalized=True)
    assert run.expectation is not None
    end = bullet.scale_end([run], "read")
    drawn = parse(bullet.bullet(run, "read", end, 202.0))
    band, measured = drawn.find("rect")
    rate = next(r for r in run.rates if r.direction == "read" and r.headline)
    expected = next(r for r in run.expectation.rates if r.direction == "read")
    width = float(measured.attributes["width"])
    assert width == pytest.approx(200 * rate.median / end, abs=0.01)
    assert float(band.attributes["x"]) == pytest.approx(200 * expected.low / end, abs=0.01)
    target = drawn.one("line", class_="target")
    assert float(target.attributes["x1"]) == pytest.approx(200 * expected.value / end, abs=0.01)
    assert end == max(expected.high, rate.high)


def test_one_lucky_repetition_does_not_shrink_the_bars() -> None:
    record = json.loads(make_run(finalized=True).model_dump_json())
    for rate in record["rates"]:
        rate["high_bytes_per_second"] = 1000 * rate["median_bytes_per_second"]
    run = Run.model_validate(record)
    end = bullet.scale_end([run], "write")
    rate = next(r for r in run.rates if r.direction == "write" and r.headline)
    assert end <= 2 * rate.median
    drawn = parse(bullet.bullet(run, "write", end, 202.0))
    assert len(drawn.find("path", class_="pointer")) == 1
    reach = [float(line.attributes["x2"]) for line in drawn.find("line", class_="whisker")]
    assert max(reach) == pytest.approx(200.0)
