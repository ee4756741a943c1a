"""Test data, not measurements: whole run folders for tests of results, command line and report.

    run = make_run()                                   4 ranks, POSIX UNIQUE SYNC, complete
    run = make_run(label="MPI SHARED ASYNC", ranks=64) 64 ranks on 4 hosts, asynchronous
    run = make_run(failed=True)                        ended by ENOSPC in its second repetition
    write_run_folder(path, run, make_events(label=...))

Every keyword is a field of ``Configuration``. The figures in the run are computed from its
events, so sums over the events and the figures in ``run.json`` agree. ``verdict`` is null, as
``weir-bench`` leaves it, unless ``finalized=True``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import synthetic_events
from synthetic_events import READ, SYNC, WRITE, Configuration, Events
from synthetic_record import environment, expectation, parameters, plan, verdict_of
from weir.results.events import finalize_events, write_event_columns
from weir.results.schema import Run

PHASES = (("S", "write"), ("W", "read"), ("W", "write"), ("C", "read"))
TRANSFER = {"read": READ, "write": WRITE}


def make_events(**fields: Any) -> Events:
    return synthetic_events.make_events(Configuration(**fields))


def make_run(*, finalized: bool = False, **fields: Any) -> Run:
    c = Configuration(**fields)
    events = synthetic_events.make_events(c)
    last_repetition = int(events["repetition"].max())
    whole = range(last_repetition if c.failed else last_repetition + 1)
    repetitions = [_repetition(c, events, index) for index in whole]
    rates = _rates(c, events, [r for r in whole if r >= c.warmups])
    record: dict[str, Any] = {
        "format": "weir-run",
        "format_version": 1,
        "id": f"20250123T101500Z-{c.slug}-{c.seed:x}",
        "workload": "madbench",
        "label": c.label,
        "status": "failed" if c.failed else "complete",
        "failure": _failure(c) if c.failed else None,
        "started_utc": "2025-01-23T10:15:00Z",
        "finished_utc": "2025-01-23T10:16:30Z",
        "command": ["weir-bench", "madbench", "2000", str(c.bins), "1", "32", "4096", "1", "1"],
        "parameters": parameters(c),
        "plan": plan(c),
        "expectation": expectation(c),
        "verdict": None,
        "repetitions": repetitions,
        "rates": rates,
        "effective": _effective(c, rates) if c.asynchronous and c.has_sibling else [],
        "histograms": [_histogram(c, events, f, d) for f, d in PHASES],
        "nodes": _nodes(c, events, list(whole)),
        "verification": {
            "performed": True,
            "how": "every word read back was compared with the payload function",
            "seed": f"{c.seed:016x}",
            "compressible_percent": 0,
            "bytes_verified": int(events["bytes"][events["operation"] == READ].sum()),
            "errors": [],
        },
        "clocks": {
            "source": "CLOCK_MONOTONIC",
            "max_offset_ns": 1200,
            "error_bound_ns": 2500,
            "measured_span_ns": int(events["end_ns"].max()),
            "error_fraction_of_span": 2500 / float(events["end_ns"].max()),
            "flagged": False,
        },
        "environment": environment(c),
        "warnings": [],
    }
    if finalized:
        record["verdict"] = verdict_of(record)
    return Run.model_validate(json.loads(json.dumps(record)))


def write_run_folder(path: Path, run: Run, events: Events, *, finalized: bool = False) -> Path:
    """Write ``path`` as ``weir-bench`` does; finalized, with ``events.parquet``."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "run.json").write_text(run.model_dump_json(indent=2) + "\n", encoding="utf-8")
    write_event_columns(path, events)
    if finalized:
        finalize_events(path)
    return path


def _of(events: Events, repetition: int, function: str, direction: str) -> Events:
    wanted = [TRANSFER[direction]] + ([SYNC] if direction == "write" else [])
    chosen = (
        (events["repetition"] == repetition)
        & (events["function"] == synthetic_events.FUNCTION_CODES[function])
        & np.isin(events["operation"], wanted)
    )
    return {name: column[chosen] for name, column in events.items()}


def _per_rank(c: Configuration, part: Events, seconds: Any) -> Any:
    return np.bincount(part["rank"], weights=seconds, minlength=c.ranks) / 1e9


def _spread(c: Configuration, seconds: Any) -> dict[str, Any]:
    slowest = int(np.argmax(seconds))
    return {
        "min": float(seconds.min()),
        "mean": float(seconds.mean()),
        "max": float(seconds.max()),
        "max_rank": slowest,
        "max_host": c.host_of(slowest),
    }


def _span_seconds(part: Events) -> float:
    total = 0
    for b in np.unique(part["bin"]):
        chosen = part["bin"] == b
        total += int(part["end_ns"][chosen].max() - part["start_ns"][chosen].min())
    return total / 1e9


def _times(c: Configuration, events: Events, repetition: int, function: str, direction: str) -> Any:
    part = _of(events, repetition, function, direction)
    return {
        "bytes": int(part["bytes"].sum()),
        "bytes_per_rank": _per_rank(c, part, part["bytes"]) * 1e9,
        "operations": int((part["operation"] != SYNC).sum()),
        "span": _span_seconds(part),
        "io": _per_rank(c, part, part["end_ns"] - part["start_ns"]),
        "foreground": _per_rank(c, part, part["foreground_ns"]),
        "barrier": _per_rank(c, part, part["barrier_wait_ns"]),
        "token": _per_rank(c, part, part["token_wait_ns"]),
    }


def _metrics(times: list[Any]) -> dict[str, float]:
    moved = sum(t["bytes"] for t in times)
    by_sum = sum(t["bytes"] / (t["bytes_per_rank"] / t["io"]).sum() for t in times)
    return {
        "span": moved / sum(t["span"] for t in times),
        "slowest_rank": float(moved / sum(t["io"].max() for t in times)),
        "sum_of_ranks": float(moved / by_sum),
        "foreground": float(moved / sum(t["foreground"].max() for t in times)),
    }


def _repetition(c: Configuration, events: Events, index: int) -> dict[str, Any]:
    mine = events["repetition"] == index
    start, end = int(events["start_ns"][mine].min()), int(events["end_ns"][mine].max())
    phases = []
    for function, direction in PHASES:
        t = _times(c, events, index, function, direction)
        phases.append(
            {
                "function": function,
                "direction": direction,
                "operations": t["operations"],
                "bytes": t["bytes"],
                **{f"rate_{n}_bytes_per_second": rate for n, rate in _metrics([t]).items()},
                "io_seconds": _spread(c, t["io"]),
                "foreground_seconds": _spread(c, t["foreground"]),
                "barrier_wait_seconds": _spread(c, t["barrier"]),
                "token_wait_seconds": _spread(c, t["token"]),
                "cache": _cache(direction),
            }
        )
    return {
        "index": index,
        "warmup": index < c.warmups,
        "outlier": False,
        "started_seconds": start / 1e9,
        "seconds": (end - start) / 1e9,
        "order": index,
        "phases": phases,
        "functions": [_function_times(c, events, index, f) for f in ("S", "W", "C")],
    }


def _function_times(c: Configuration, events: Events, index: int, function: str) -> dict[str, Any]:
    code = synthetic_events.FUNCTION_CODES[function]
    mine = (events["repetition"] == index) & (events["function"] == code)
    part = {name: column[mine] for name, column in events.items()}
    kinds = {}
    for kind, codes in (("read", [READ]), ("write", [WRITE, SYNC]), ("work", [3])):
        chosen = np.isin(part["operation"], codes)
        kinds[kind] = _per_rank(
            c, {"rank": part["rank"][chosen]}, part["foreground_ns"][chosen].astype(float)
        )
    waits = _per_rank(c, part, part["barrier_wait_ns"])
    return {
        "function": function,
        "communication_seconds": _spread(c, waits),
        "busy_work_seconds": _spread(c, kinds["work"]),
        "read_seconds": _spread(c, kinds["read"]),
        "write_seconds": _spread(c, kinds["write"]),
        "total_seconds": _spread(c, kinds["work"] + kinds["read"] + kinds["write"] + waits),
        "payload_seconds": _spread(c, np.full(c.ranks, 0.02)),
    }


def _cache(direction: str) -> dict[str, Any]:
    kind = "durable_sync" if direction == "write" else "page_residency"
    text = (
        "fsync succeeded after every write"
        if direction == "write"
        else "no page of the file was resident before the read"
    )
    return {
        "verdict": "storage",
        "evidence": [{"kind": kind, "storage_fraction": 1.0, "text": text}],
    }


def _rates(c: Configuration, events: Events, measured: list[int]) -> list[dict[str, Any]]:
    rates = []
    for direction in ("read", "write"):
        wanted = [f for f, d in PHASES if d == direction]
        per_repetition = [
            _metrics([_times(c, events, r, f, direction) for f in wanted]) for r in measured
        ]
        for metric in ("span", "slowest_rank", "sum_of_ranks", "foreground"):
            values = [metrics[metric] for metrics in per_repetition]
            median = float(np.median(values))
            converged = max(values) <= 1.05 * median and min(values) >= 0.95 * median
            rates.append(
                {
                    "direction": direction,
                    "metric": metric,
                    "headline": metric == ("foreground" if c.asynchronous else "span"),
                    "values_bytes_per_second": values,
                    "median_bytes_per_second": median,
                    "low_bytes_per_second": min(values),
                    "high_bytes_per_second": max(values),
                    "confidence": max(0.0, 1 - 2.0 ** (1 - len(values))),
                    "converged": converged,
                }
            )
    return rates


def _effective(c: Configuration, rates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """EAAR beside the assumed rate, as if a synchronous sibling had reached it."""
    assumed = {"read": c.read_bytes_per_second, "write": c.write_bytes_per_second}
    return [
        {
            "direction": rate["direction"],
            "eaar_bytes_per_second": rate["median_bytes_per_second"],
            "synchronous_bytes_per_second": assumed[rate["direction"]],
            "synchronous_run_id": f"20250123T101500Z-{c.slug.replace('async', 'sync')}-{c.seed:x}",
            "bins": c.bins,
            "nbin_multiple_bytes_per_second": c.bins * assumed[rate["direction"]],
        }
        for rate in rates
        if rate["metric"] == "foreground"
    ]


def _histogram(c: Configuration, events: Events, function: str, direction: str) -> dict[str, Any]:
    chosen = (
        (events["repetition"] >= c.warmups)
        & (events["function"] == synthetic_events.FUNCTION_CODES[function])
        & (events["operation"] == TRANSFER[direction])
    )
    latencies = np.sort((events["end_ns"] - events["start_ns"])[chosen])
    lowest, highest = max(1, int(latencies[0])), int(latencies[-1]) + 1
    edges = np.unique(np.rint(np.geomspace(lowest, highest + 1, 40)).astype(np.int64))
    counts, _ = np.histogram(latencies, bins=edges)
    buckets = [
        (int(edges[i]), int(edges[i + 1]), int(counts[i])) for i in range(len(counts)) if counts[i]
    ]
    quantiles = {
        f"{name}_ns": int(latencies[min(len(latencies) - 1, int(q * len(latencies)))])
        for name, q in (
            ("p50", 0.5),
            ("p90", 0.9),
            ("p99", 0.99),
            ("p999", 0.999),
            ("p9999", 0.9999),
        )
    }
    return {
        "function": function,
        "direction": direction,
        "count": len(latencies),
        "min_ns": int(latencies[0]),
        **quantiles,
        "max_ns": int(latencies[-1]),
        "buckets": buckets,
    }


def _nodes(c: Configuration, events: Events, whole: list[int]) -> list[dict[str, Any]]:
    measured = [r for r in whole if r >= c.warmups]
    nodes = []
    for first in range(0, c.ranks, c.ranks_per_host):
        ranks = list(range(first, min(c.ranks, first + c.ranks_per_host)))
        phases = []
        for function, direction in PHASES:
            times = [_times(c, events, r, function, direction) for r in measured]
            moved = [float(t["bytes_per_rank"][ranks].sum()) for t in times]
            slowest = [float(t["io"][ranks].max()) for t in times]
            phases.append(
                {
                    "function": function,
                    "direction": direction,
                    "bytes": int(sum(moved)),
                    "io_seconds_max": max(slowest),
                    "rate_bytes_per_second": float(
                        np.median([m / s for m, s in zip(moved, slowest, strict=True)])
                    ),
                }
            )
        nodes.append({"host": c.host_of(first), "ranks": ranks, "phases": phases})
    return nodes


def _failure(c: Configuration) -> dict[str, Any]:
    return {
        "message": "rank 1 on node00: write of 8388608 bytes at offset 16777216 of "
        "/scratch/weir-files/weir-S-1: No space left on device",
        "cause": "ENOSPC: No space left on device",
        "operation": "write",
        "rank": 1,
        "host": c.host_of(1),
        "file": "/scratch/weir-files/weir-S-1",
        "offset_bytes": 16777216,
    }
