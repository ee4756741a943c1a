"""The report's part about the workload array: every figure is that of ``run.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from report_reader import Element, parse, read_report
from synthetic import make_events, make_run, write_run_folder
from weir.report import arrays, write_report
from weir.report.sources import read_sources
from weir.results.schema import Run

KINDS = ("planning", "gathering", "storage", "waiting")


def spread(mean: float) -> dict[str, Any]:
    return {"min": 0.0, "mean": mean, "max": 2 * mean, "max_rank": 1, "max_host": "node0"}


def array_run(**changes: Any) -> Run:
    """A run whose phases cost what ``changes`` say, in each repetition a little more."""
    record = json.loads(make_run(finalized=True).model_dump_json())
    record["workload"] = "array"
    record["peaks"] = [
        {"direction": "write", "peak_bytes_per_second": 2.0e9, "fraction": 0.93},
        {"direction": "read", "peak_bytes_per_second": 3.0e9, "fraction": 0.81},
    ]
    for repetition in record["repetitions"]:
        for phase in repetition["phases"]:
            later = 1 + repetition["index"] / 1000
            phase["array"] = {
                "bytes_written": 1 << 30,
                "bytes_read": 1 << 28,
                "moved_per_byte": 1.25 * later,
                "movers": 3,
                "aggregators": 4,
                "balance": 1.4 * later,
                **{
                    f"{kind}_seconds": spread(phase["io_seconds"]["mean"] * share * later)
                    for kind, share in zip(KINDS, (0.01, 0.2, 0.5, 0.1), strict=True)
                },
                **changes,
            }
    return Run.model_validate(record)


def page_of(folder: Path, run: Run) -> Element:
    write_run_folder(folder, run, make_events(), finalized=True)
    return read_report(write_report(folder))


def test_bars_hold_the_medians_of_the_times(tmp_path: Path) -> None:
    run = array_run()
    shown = page_of(tmp_path, run).one("figure", data_figure="array-times")
    costs = arrays.costs_of(run)
    assert [cost.direction for cost in costs] == ["write", "read"]
    drawn = [value for mark in shown.find("rect") for value in mark.values()[:1]]
    assert drawn == [value for cost in costs for value in cost.parts]
    for cost in costs:
        assert sum(cost.parts) == pytest.approx(cost.transfer_seconds)
        phases = [
            phase
            for repetition in run.repetitions[1:]
            for phase in repetition.phases
            if phase.direction == cost.direction
        ]
        means = sorted(p.array.storage_seconds.mean for p in phases if p.array is not None)  # type: ignore[union-attr]
        assert means[0] <= cost.kind_seconds[2] <= means[-1]


def test_sentences_tell_peak_load_and_bytes(tmp_path: Path) -> None:
    page = page_of(tmp_path, array_run())
    told = page.text
    assert "Writing reached 93 % of the peak and moved 1.25 bytes for each requested byte." in told
    assert "unevenly: the busiest had 1.40 times the mean of 4 aggregators" in told
    assert "3 of 4 aggregators" in told


def test_what_an_interface_does_not_tell_is_not_drawn(tmp_path: Path) -> None:
    silent = {f"{kind}_seconds": None for kind in KINDS}
    run = array_run(
        **silent, aggregators=None, balance=1.0, movers=1, bytes_written=None, bytes_read=None
    )
    page = page_of(tmp_path, run)
    assert not page.find("figure", data_figure="array-times")
    assert "One rank moved everything." in page.text


def test_unknown_figures_are_said_to_be_unknown() -> None:
    unknown = dict.fromkeys(("bytes_written", "bytes_read", "moved_per_byte", "movers", "balance"))
    run = array_run(**unknown).model_copy(update={"peaks": []})
    sentences = parse(str(element_of(run))).text
    assert "Writing: the kernel did not report the bytes that were moved." in sentences


def test_the_peak_is_not_held_against_itself() -> None:
    run = array_run().model_copy(update={"label": "contiguous"})
    assert "Writing moved 1.25 bytes for each requested byte." in parse(str(element_of(run))).text


def element_of(run: Run) -> Any:
    return arrays.render(type("Source", (), {"run": run})())  # type: ignore[arg-type]


def test_other_workloads_have_no_such_part(tmp_path: Path) -> None:
    write_run_folder(tmp_path, make_run(finalized=True), make_events(), finalized=True)
    (source,) = read_sources(tmp_path)
    assert arrays.render(source) is None
