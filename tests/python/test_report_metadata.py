"""The report's part about the workload metadata: every figure is that of ``run.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from report_reader import read_report
from synthetic import make_events, make_run, write_run_folder
from weir.report import metadata, write_report
from weir.report.sources import read_sources
from weir.results.schema import Run

RATES = {"barrier": 1200.5, "span": 3456.7, "sum_of_ranks": 5432.1}


def spread(mean: float, most: float) -> dict[str, Any]:
    return {"min": 0.0, "mean": mean, "max": most, "max_rank": 1, "max_host": "<node>"}


def metadata_run(slowest_over_mean: float) -> Run:
    record = json.loads(make_run(finalized=True).model_dump_json())
    record["workload"] = "metadata"
    record["rates"], record["histograms"], record["verdict"] = [], [], None
    record["expectation"] = None
    record["plan"]["phases"] = []
    record["plan"]["metadata"] = [{"action": "create", "operations": 4000}]
    for repetition in record["repetitions"]:
        repetition["phases"] = []
        repetition["metadata"] = [
            {
                "action": "create",
                "operations": 4000,
                **{f"{name}_per_second": rate for name, rate in RATES.items()},
                "elapsed_seconds": spread(1.0, slowest_over_mean),
                "busy_seconds": spread(0.9, 1.0),
                "barrier_wait_seconds": spread(0.1, 0.2),
            }
        ]
    record["metadata"] = [
        {
            "action": "create",
            "item": "file",
            "rates": [
                {
                    "metric": name,
                    "headline": name == "span",
                    "values_per_second": [rate],
                    "median_per_second": rate,
                    "low_per_second": rate * 0.9,
                    "high_per_second": rate * 1.1,
                    "confidence": 0.0,
                    "converged": False,
                }
                for name, rate in RATES.items()
            ],
            "latencies": {
                "count": 1,
                **{f"{name}_ns": 5000 for name in ("min", "p50", "p90", "p99", "p999", "p9999")},
                "max_ns": 123456,
                "buckets": [[4992, 5120, 1]],
            },
            "nodes": [],
        }
    ]
    for node in record["nodes"]:
        node["phases"] = []
    return Run.model_validate(record)


def test_each_action_has_its_line(tmp_path: Path) -> None:
    write_run_folder(tmp_path, metadata_run(1.5), make_events(), finalized=True)
    page = read_report(write_report(tmp_path))
    part = page.one("div", aria_label="Rates of each action")
    shown = {float(cell.attributes["value"]) for cell in part.find("data")}
    assert shown >= {4000.0, RATES["barrier"], RATES["span"]}
    assert RATES["sum_of_ranks"] not in shown
    latencies = page.one("div", aria_label="Latency of one operation")
    assert [float(cell.attributes["value"]) for cell in latencies.find("data")] == [
        *(5000.0, 5000.0, 5000.0, 123456.0)
    ]
    assert "50 % over the mean, rank 1 on <node>" in latencies.text
    assert any(
        "Latency of create" in (one.attributes.get("aria-label") or "") for one in page.find("svg")
    )


def test_even_ranks_are_no_stragglers() -> None:
    run = metadata_run(1.1)
    assert metadata.straggler_of(run, "create") is None
    assert metadata.straggler_of(metadata_run(1.5), "stat") is None


def test_other_workloads_have_no_such_part(tmp_path: Path) -> None:
    write_run_folder(tmp_path, make_run(finalized=True), make_events(), finalized=True)
    (source,) = read_sources(tmp_path)
    assert metadata.render(source) is None
