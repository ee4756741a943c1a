"""The tables in which SQL finds runs: their columns, and the rows of a run.

``folder`` is the path of the run folder relative to the given root; ``run_id`` joins the tables; a
parameter is ``parameters->>'no_pix'``. ``events`` is a view over the finalized ``events.parquet``
files (see ``weir.results.events``) with the column ``run_id`` in front.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

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
    "rates": {
        "run_id": "VARCHAR",
        "direction": "VARCHAR",
        "metric": "VARCHAR",
        "headline": "BOOLEAN",
        "repetitions": "INTEGER",
        "median_bytes_per_second": "DOUBLE",
        "low_bytes_per_second": "DOUBLE",
        "high_bytes_per_second": "DOUBLE",
        "confidence": "DOUBLE",
        "converged": "BOOLEAN",
        "served_by": "VARCHAR",
        "expected_bytes_per_second": "DOUBLE",
        "expected_low_bytes_per_second": "DOUBLE",
        "expected_high_bytes_per_second": "DOUBLE",
        "limiting_stage": "VARCHAR",
        "ratio": "DOUBLE",
        "verdict": "VARCHAR",
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
    },
}

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
        "rates": _rate_rows(run),
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
        "nodes": [
            (
                run.id,
                node.host,
                len(node.ranks),
                phase.function,
                phase.direction,
                phase.bytes,
                phase.io_seconds_max,
                phase.rate_bytes_per_second,
            )
            for node in run.nodes
            for phase in node.phases
        ],
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


def _rate_rows(run: Run) -> list[Row]:
    expected = {
        (rate.direction, rate.metric): rate
        for rate in (run.expectation.rates if run.expectation else [])
    }
    judged = {
        (rate.direction, rate.metric): rate for rate in (run.verdict.rates if run.verdict else [])
    }
    rows: list[Row] = []
    for rate in run.rates:
        key = (rate.direction, rate.metric)
        before, after = expected.get(key), judged.get(key)
        rows.append(
            (
                run.id,
                rate.direction,
                rate.metric,
                rate.headline,
                len(rate.values),
                rate.median,
                rate.low,
                rate.high,
                rate.confidence,
                rate.converged,
                served_by(run, rate.direction) or "unknown",
                before.value if before else None,
                before.low if before else None,
                before.high if before else None,
                before.limiting_stage if before else None,
                after.ratio if after else None,
                after.verdict if after else None,
            )
        )
    return rows
