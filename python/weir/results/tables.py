"""The tables in which SQL finds runs: their columns, and the rows of a run.

``folder`` is the path of the run folder relative to the given root; ``run_id`` joins the tables; a
parameter is ``parameters->>'no_pix'``. ``events`` is a view over the finalized ``events.parquet``
files (see ``weir.results.events``) with the column ``run_id`` in front.

``series`` has a row for each figure of a run, whatever its unit (bytes/s, 1/s or s): rates of bytes
by direction (function ``all``) and by function, rates of operations by action, times of steps.
``points`` has their values by repetition.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from weir.results.figures import Figure, figures_of, parts_of, values_of
from weir.results.schema import Repetition, Run
from weir.results.served_by import served_by

Row = tuple[Any, ...]

TABLES: dict[str, dict[str, str]] = {
    "runs": {
        "run_id": "VARCHAR",
        "folder": "VARCHAR",
        "workload": "VARCHAR",
        "label": "VARCHAR",
        "status": "VARCHAR",
        "started_utc": "VARCHAR",
        "finished_utc": "VARCHAR",
        "ranks": "INTEGER",
        "hosts": "INTEGER",
        "files": "BIGINT",
        "disk_bytes": "BIGINT",
        "memory_bytes": "BIGINT",
        "overall_verdict": "VARCHAR",
        "failure": "VARCHAR",
        "warnings": "INTEGER",
        "payload_verified": "BOOLEAN",
        "payload_errors": "INTEGER",
        "clocks_flagged": "BOOLEAN",
        "quiet": "BOOLEAN",
        "parameters": "JSON",
        "command": "VARCHAR",
        "environment": "JSON",
    },
    "repetitions": {
        "run_id": "VARCHAR",
        "repetition": "INTEGER",
        "warmup": "BOOLEAN",
        "outlier": "BOOLEAN",
        "job_order": "INTEGER",
        "started_seconds": "DOUBLE",
        "seconds": "DOUBLE",
    },
    "phases": {
        "run_id": "VARCHAR",
        "repetition": "INTEGER",
        "warmup": "BOOLEAN",
        "function": "VARCHAR",
        "direction": "VARCHAR",
        "operations": "BIGINT",
        "bytes": "BIGINT",
        "span_bytes_per_second": "DOUBLE",
        "slowest_rank_bytes_per_second": "DOUBLE",
        "sum_of_ranks_bytes_per_second": "DOUBLE",
        "foreground_bytes_per_second": "DOUBLE",
        "io_seconds_min": "DOUBLE",
        "io_seconds_mean": "DOUBLE",
        "io_seconds_max": "DOUBLE",
        "slowest_rank": "INTEGER",
        "slowest_host": "VARCHAR",
        "foreground_seconds_max": "DOUBLE",
        "barrier_wait_seconds_max": "DOUBLE",
        "token_wait_seconds_max": "DOUBLE",
        "cache_verdict": "VARCHAR",
    },
    "series": {
        "run_id": "VARCHAR",
        "name": "VARCHAR",
        "function": "VARCHAR",
        "direction": "VARCHAR",
        "metric": "VARCHAR",
        "unit": "VARCHAR",
        "headline": "BOOLEAN",
        "repetitions": "INTEGER",
        "median": "DOUBLE",
        "low": "DOUBLE",
        "high": "DOUBLE",
        "mean": "DOUBLE",
        "standard_deviation": "DOUBLE",
        "confidence": "DOUBLE",
        "converged": "BOOLEAN",
        "operations": "BIGINT",
        "p50_ns": "BIGINT",
        "p90_ns": "BIGINT",
        "p99_ns": "BIGINT",
        "p999_ns": "BIGINT",
        "p9999_ns": "BIGINT",
        "max_ns": "BIGINT",
        "served_by": "VARCHAR",
        "expected": "DOUBLE",
        "expected_low": "DOUBLE",
        "expected_high": "DOUBLE",
        "limiting_stage": "VARCHAR",
        "ratio": "DOUBLE",
        "verdict": "VARCHAR",
    },
    "points": {
        "run_id": "VARCHAR",
        "repetition": "INTEGER",
        "warmup": "BOOLEAN",
        "function": "VARCHAR",
        "direction": "VARCHAR",
        "metric": "VARCHAR",
        "unit": "VARCHAR",
        "value": "DOUBLE",
    },
    "effective": {
        "run_id": "VARCHAR",
        "direction": "VARCHAR",
        "eaar_bytes_per_second": "DOUBLE",
        "synchronous_bytes_per_second": "DOUBLE",
        "synchronous_run_id": "VARCHAR",
        "bins": "INTEGER",
        "nbin_multiple_bytes_per_second": "DOUBLE",
    },
    "nodes": {
        "run_id": "VARCHAR",
        "host": "VARCHAR",
        "ranks": "INTEGER",
        "function": "VARCHAR",
        "direction": "VARCHAR",
        "bytes": "BIGINT",
        "io_seconds_max": "DOUBLE",
        "bytes_per_second": "DOUBLE",
        "operations": "BIGINT",
        "busy_seconds_max": "DOUBLE",
        "per_second": "DOUBLE",
    },
}

VIEWS = {
    "rates": """
        SELECT run_id, direction, metric, headline, repetitions, median AS median_bytes_per_second,
            low AS low_bytes_per_second, high AS high_bytes_per_second, confidence, converged,
            served_by, expected AS expected_bytes_per_second,
            expected_low AS expected_low_bytes_per_second,
            expected_high AS expected_high_bytes_per_second, limiting_stage, ratio, verdict
        FROM series WHERE unit = 'bytes/s' AND function = 'all'
    """,
}
"""What SQL finds besides the tables: each is a selection from them."""

PERCENTILES = ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns")

LONG_COLUMNS = frozenset({"parameters", "command", "environment"})
"""Columns of ``runs`` whose cells contain pages of text."""


def rows_of(run: Run, folder: str) -> dict[str, list[Row]]:
    """Returns the rows of one run, by table."""
    return {
        "runs": [_run_row(run, folder)],
        "repetitions": [
            (run.id, r.index, r.warmup, r.outlier, r.order, r.started_seconds, r.seconds)
            for r in run.repetitions
        ],
        "phases": [row for r in run.repetitions for row in _phase_rows(run, r)],
        "series": [_series_row(run, one) for one in (*figures_of(run), *parts_of(run))],
        "points": [
            (run.id, r.index, r.warmup, *place, unit, value)
            for r in run.repetitions
            for place, unit, value in values_of(r)
        ],
        "effective": [
            (
                run.id,
                rate.direction,
                rate.eaar_bytes_per_second,
                rate.synchronous_bytes_per_second,
                rate.synchronous_run_id,
                rate.bins,
                rate.nbin_multiple_bytes_per_second,
            )
            for rate in run.effective
        ],
        "nodes": list(_node_rows(run)),
    }


def _run_row(run: Run, folder: str) -> Row:
    return (
        run.id,
        folder,
        run.workload,
        run.label,
        run.status,
        run.started_utc,
        run.finished_utc,
        run.plan.ranks,
        len(run.nodes) or None,
        run.plan.files,
        run.plan.disk_bytes_total,
        run.plan.memory_bytes_total,
        run.verdict.overall if run.verdict else None,
        run.failure.message if run.failure else None,
        len(run.warnings),
        run.verification.performed,
        len(run.verification.errors),
        run.clocks.flagged if run.clocks else None,
        run.environment.quiet.quiet if run.environment else None,
        json.dumps({name: parameter.value for name, parameter in run.parameters.items()}),
        " ".join(run.command),
        json.dumps(run.environment.model_dump()) if run.environment else None,
    )


def _phase_rows(run: Run, repetition: Repetition) -> Iterator[Row]:
    for phase in repetition.phases:
        yield (
            run.id,
            repetition.index,
            repetition.warmup,
            phase.function,
            phase.direction,
            phase.operations,
            phase.bytes,
            phase.rate_span_bytes_per_second,
            phase.rate_slowest_rank_bytes_per_second,
            phase.rate_sum_of_ranks_bytes_per_second,
            phase.rate_foreground_bytes_per_second,
            phase.io_seconds.min,
            phase.io_seconds.mean,
            phase.io_seconds.max,
            phase.io_seconds.max_rank,
            phase.io_seconds.max_host,
            phase.foreground_seconds.max,
            phase.barrier_wait_seconds.max,
            phase.token_wait_seconds.max,
            phase.cache.verdict,
        )


def _series_row(run: Run, figure: Figure) -> Row:
    series, judged, latencies = figure.series, figure.verdict, figure.latencies
    made = figure.expected.quantity if figure.expected else None
    return (
        run.id,
        figure.name,
        *figure.place,
        figure.unit,
        figure.headline,
        len(series.values),
        series.median,
        series.low,
        series.high,
        series.mean,
        series.deviation,
        series.confidence,
        series.converged,
        *(getattr(latencies, name, None) for name in ("count", *PERCENTILES)),
        (served_by(run, figure.direction) or "unknown") if figure.direction else None,
        *((made.value, made.low, made.high) if made else (None, None, None)),
        figure.expected.limiting_stage if figure.expected else None,
        judged.ratio if judged else None,
        judged.verdict if judged else None,
    )


def _node_rows(run: Run) -> Iterator[Row]:
    ranks = {node.host: len(node.ranks) for node in run.nodes}
    for node in run.nodes:
        for phase in node.phases:
            moved = (phase.bytes, phase.io_seconds_max, phase.rate_bytes_per_second)
            place = (phase.function, phase.direction)
            yield (run.id, node.host, ranks[node.host], *place, *moved, None, None, None)
    for action in run.metadata:
        for one in action.nodes:
            done = (one.operations, one.busy_seconds_max, one.median_per_second)
            where = (run.id, one.host, ranks.get(one.host))
            yield (*where, action.action, None, None, None, None, *done)
