"""The tables in which SQL finds runs: their columns, and the rows of a run.

``folder`` is the path of the run folder relative to the given root; ``run_id`` joins the tables; a
parameter is ``parameters->>'no_pix'``. ``events`` is a view over the finalized ``events.parquet``
files (see ``weir.results.events``) with the column ``run_id`` in front.

``series`` has a row for each figure of a run, whatever its unit (bytes/s, 1/s or s): rates of bytes
by direction (function ``all``) and by function, rates of operations by action, times of steps.
``points`` has their values by repetition. ``factors`` has the levels with which a campaign made a
run, and its column ``campaign`` is the folder of the campaign, as in ``campaigns``.
``conditions`` has the values of ``environment`` by name, ``hints`` those that were given to MPI-IO
beside those in effect, and ``node_differences`` each part of their description, such as
``hardware.memory.bytes``, in which nodes of a run differ from rank 0's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from weir.results.campaign import Campaign, MadeFor
from weir.results.columns import Columns, Row
from weir.results.figures import figures_of, parts_of, values_of
from weir.results.node_differences import (
    difference_rows,
    leaves,
    nodes_of_run,
    shown_part,
    text_of,
)
from weir.results.schema import Run
from weir.results.secrets import may_be_secret
from weir.results.served_by import served_by

_COLUMNS: dict[str, str] = {
    "runs": """
        run_id VARCHAR run.id, folder VARCHAR folder, workload VARCHAR run.workload,
        label VARCHAR run.label, status VARCHAR run.status, started_utc VARCHAR run.started_utc,
        finished_utc VARCHAR run.finished_utc, ranks INTEGER run.plan.ranks, hosts INTEGER hosts,
        files BIGINT run.plan.files, disk_bytes BIGINT run.plan.disk_bytes_total,
        memory_bytes BIGINT run.plan.memory_bytes_total,
        overall_verdict VARCHAR run.verdict.overall, failure VARCHAR run.failure.message,
        warnings INTEGER warnings, changed VARCHAR changed,
        payload_verified BOOLEAN run.verification.performed,
        payload_errors INTEGER errors, clocks_flagged BOOLEAN run.clocks.flagged,
        quiet BOOLEAN run.environment.quiet.quiet,
        described_nodes BIGINT run.environment.nodes.described,
        unlike_nodes BIGINT run.environment.nodes.unlike,
        goal VARCHAR run.purpose.goal, motivation VARCHAR run.purpose.motivation,
        expects VARCHAR run.purpose.expects, note VARCHAR run.purpose.note,
        follows JSON follows, parameters JSON parameters, command VARCHAR command,
        environment JSON environment,
        imported_from VARCHAR run.imported.file, bench_sha256 VARCHAR bench_sha256
    """,
    "parameters": """
        run_id VARCHAR run.id, name VARCHAR name, value VARCHAR value,
        origin VARCHAR parameter.origin
    """,
    "campaigns": """
        campaign VARCHAR folder, name VARCHAR campaign.name,
        description VARCHAR campaign.description, workload VARCHAR campaign.workload,
        created_utc VARCHAR campaign.created_utc, design VARCHAR campaign.design,
        planned INTEGER planned, replication INTEGER campaign.replication,
        scale DOUBLE campaign.scale, pause_seconds DOUBLE campaign.pause_seconds,
        seed BIGINT campaign.seed, curve VARCHAR campaign.curve,
        platform VARCHAR campaign.platform, given JSON given
    """,
    "factors": """
        run_id VARCHAR run.id, campaign VARCHAR campaign, number INTEGER made.run.number,
        block INTEGER made.run.block, name VARCHAR name, value VARCHAR value
    """,
    "repetitions": """
        run_id VARCHAR run.id, repetition INTEGER repetition.index,
        warmup BOOLEAN repetition.warmup, outlier BOOLEAN repetition.outlier,
        job_order INTEGER repetition.order, started_seconds DOUBLE repetition.started_seconds,
        seconds DOUBLE repetition.seconds
    """,
    "phases": """
        run_id VARCHAR run.id, repetition INTEGER repetition.index,
        warmup BOOLEAN repetition.warmup, function VARCHAR phase.function,
        direction VARCHAR phase.direction, operations BIGINT phase.operations,
        bytes BIGINT phase.bytes,
        span_bytes_per_second DOUBLE phase.rate_span_bytes_per_second,
        slowest_rank_bytes_per_second DOUBLE phase.rate_slowest_rank_bytes_per_second,
        sum_of_ranks_bytes_per_second DOUBLE phase.rate_sum_of_ranks_bytes_per_second,
        foreground_bytes_per_second DOUBLE phase.rate_foreground_bytes_per_second,
        io_seconds_min DOUBLE phase.io_seconds.min, io_seconds_mean DOUBLE phase.io_seconds.mean,
        io_seconds_max DOUBLE phase.io_seconds.max,
        slowest_rank INTEGER phase.io_seconds.max_rank,
        slowest_host VARCHAR phase.io_seconds.max_host,
        foreground_seconds_max DOUBLE phase.foreground_seconds.max,
        barrier_wait_seconds_max DOUBLE phase.barrier_wait_seconds.max,
        token_wait_seconds_max DOUBLE phase.token_wait_seconds.max,
        cache_verdict VARCHAR phase.cache.verdict
    """,
    "series": """
        run_id VARCHAR run.id, name VARCHAR figure.name, function VARCHAR figure.function,
        direction VARCHAR figure.direction, metric VARCHAR figure.metric,
        unit VARCHAR figure.unit, headline BOOLEAN figure.headline, repetitions INTEGER repetitions,
        median DOUBLE figure.series.median, low DOUBLE figure.series.low,
        high DOUBLE figure.series.high, mean DOUBLE figure.series.mean,
        standard_deviation DOUBLE figure.series.deviation,
        confidence DOUBLE figure.series.confidence, converged BOOLEAN figure.series.converged,
        operations BIGINT figure.latencies.count, p50_ns BIGINT figure.latencies.p50_ns,
        p90_ns BIGINT figure.latencies.p90_ns, p99_ns BIGINT figure.latencies.p99_ns,
        p999_ns BIGINT figure.latencies.p999_ns, p9999_ns BIGINT figure.latencies.p9999_ns,
        max_ns BIGINT figure.latencies.max_ns, served_by VARCHAR served_by,
        expected DOUBLE figure.expected.quantity.value,
        expected_low DOUBLE figure.expected.quantity.low,
        expected_high DOUBLE figure.expected.quantity.high,
        limiting_stage VARCHAR figure.expected.limiting_stage, ratio DOUBLE figure.verdict.ratio,
        verdict VARCHAR figure.verdict.verdict,
        extrapolated_from_ranks INTEGER figure.expected.extrapolated_from_ranks,
        a_priori DOUBLE figure.expected.a_priori.value,
        a_priori_low DOUBLE figure.expected.a_priori.low,
        a_priori_high DOUBLE figure.expected.a_priori.high,
        a_priori_limit VARCHAR figure.expected.a_priori.limiting_stage,
        a_priori_basis VARCHAR figure.expected.a_priori.basis,
        a_priori_source VARCHAR figure.expected.a_priori.source,
        a_priori_ratio DOUBLE figure.verdict.a_priori_ratio
    """,
    "points": """
        run_id VARCHAR run.id, repetition INTEGER repetition.index,
        warmup BOOLEAN repetition.warmup, function VARCHAR place.function,
        direction VARCHAR place.direction,
        metric VARCHAR place.metric, unit VARCHAR unit, value DOUBLE value
    """,
    "effective": """
        run_id VARCHAR run.id, direction VARCHAR rate.direction,
        eaar_bytes_per_second DOUBLE rate.eaar_bytes_per_second,
        synchronous_bytes_per_second DOUBLE rate.synchronous_bytes_per_second,
        synchronous_run_id VARCHAR rate.synchronous_run_id, bins INTEGER rate.bins,
        nbin_multiple_bytes_per_second DOUBLE rate.nbin_multiple_bytes_per_second
    """,
    "messages": """
        run_id VARCHAR run.id, moved VARCHAR kind.moved,
        alone_run_id VARCHAR run.messages.alone_run_id,
        alone_bytes_per_second DOUBLE kind.alone.median,
        together_bytes_per_second DOUBLE kind.together.median,
        together_share DOUBLE kind.together_share, kept DOUBLE kind.kept.median,
        kept_low DOUBLE kind.kept.low, kept_high DOUBLE kind.kept.high
    """,
    "anomalies": """
        run_id VARCHAR run.id, function VARCHAR anomaly.function,
        direction VARCHAR anomaly.direction, kind VARCHAR anomaly.kind, text VARCHAR anomaly.text,
        reasons VARCHAR reasons
    """,
    "nodes": """
        run_id VARCHAR run.id, host VARCHAR host, ranks INTEGER ranks,
        function VARCHAR phase.function, direction VARCHAR phase.direction,
        bytes BIGINT phase.bytes, io_seconds_max DOUBLE phase.io_seconds_max,
        bytes_per_second DOUBLE phase.rate_bytes_per_second, operations BIGINT phase.operations,
        busy_seconds_max DOUBLE phase.busy_seconds_max, per_second DOUBLE phase.median_per_second
    """,
    "conditions": """
        run_id VARCHAR run.id, name VARCHAR name, value VARCHAR value
    """,
    "hints": """
        run_id VARCHAR run.id, opened_for VARCHAR opened.opened_for, name VARCHAR name,
        given VARCHAR given, effective VARCHAR effective
    """,
    "node_differences": """
        run_id VARCHAR run.id, kind INTEGER difference.kind, nodes BIGINT difference.nodes,
        hosts VARCHAR difference.hosts, name VARCHAR name, value VARCHAR value,
        first_value VARCHAR first_value
    """,
}
"""Each column with its type in SQL and its place in what ``rows_of`` finds."""

_TABLES = {table: Columns(columns) for table, columns in _COLUMNS.items()}
TABLES = {table: columns.types for table, columns in _TABLES.items()}
VIEWS = {
    "verdicts": """
        SELECT run_id, name, function, direction, metric, unit, verdict, ratio,
            median AS measured, low AS measured_low, high AS measured_high, expected,
            expected_low, expected_high, limiting_stage, a_priori, a_priori_low, a_priori_high,
            a_priori_basis, a_priori_ratio
        FROM series WHERE verdict IS NOT NULL
    """,
    "rates": """
        SELECT run_id, direction, metric, headline, repetitions, median AS median_bytes_per_second,
            low AS low_bytes_per_second, high AS high_bytes_per_second, confidence, converged,
            served_by, expected AS expected_bytes_per_second,
            expected_low AS expected_low_bytes_per_second,
            expected_high AS expected_high_bytes_per_second, limiting_stage, ratio, verdict,
            extrapolated_from_ranks, a_priori AS a_priori_bytes_per_second,
            a_priori_low AS a_priori_low_bytes_per_second,
            a_priori_high AS a_priori_high_bytes_per_second, a_priori_limit, a_priori_basis,
            a_priori_source, a_priori_ratio
        FROM series WHERE unit = 'bytes/s' AND function = 'all'
    """,
}
"""What SQL finds besides the tables: each is a selection from them."""

LONG_COLUMNS = frozenset({"parameters", "command", "environment"})
"""Columns of ``runs`` whose cells contain pages of text."""


def rows_of_campaign(folder: str, campaign: Campaign) -> list[Row]:
    """Returns the rows of the table ``campaigns`` for one campaign."""
    one = {
        "folder": folder,
        "campaign": campaign,
        "planned": len(campaign.runs),
        "given": json.dumps(campaign.given),
    }
    return [_TABLES["campaigns"].row_of(one)]


def rows_of(
    run: Run,
    folder: str,
    changes: Sequence[str] = (),
    made: MadeFor | None = None,
    campaign: str | None = None,
) -> dict[str, list[Row]]:
    """Returns the rows of one run, by table.

    ``changes`` says what of it was changed. ``made`` is the run of a campaign for which it was
    made, and ``campaign`` the campaign's folder as it is shown.
    """
    repetitions = [{"repetition": one} for one in run.repetitions]
    ranks = {node.host: len(node.ranks) for node in run.nodes}
    parts = [(node.host, phase) for node in run.nodes for phase in node.phases]
    actions = [
        (one.host, SimpleNamespace(function=action.action, **dict(one)))
        for action in run.metadata
        for one in action.nodes
    ]
    found: dict[str, Iterable[dict[str, Any]]] = {
        "runs": [_about(run) | {"folder": folder, "changed": "; ".join(changes) or None}],
        "parameters": [
            {"name": name, "value": text_of(one.value), "parameter": one}
            for name, one in run.parameters.items()
        ],
        "factors": [
            {"made": made, "campaign": campaign, "name": name, "value": text_of(value)}
            for name, value in (
                made.campaign.combinations[made.run.combination].items() if made else ()
            )
        ],
        "repetitions": repetitions,
        "phases": [one | {"phase": p} for one in repetitions for p in one["repetition"].phases],
        "series": [
            {
                "figure": one,
                "repetitions": len(one.series.values),
                "served_by": one.direction and (served_by(run, one.direction) or "unknown"),
            }
            for one in (*figures_of(run), *parts_of(run))
        ],
        "points": [
            one | {"place": place, "unit": unit, "value": value}
            for one in repetitions
            for place, unit, value in values_of(one["repetition"])
        ],
        "effective": [{"rate": one} for one in run.effective],
        "messages": [{"kind": one} for one in (run.messages.kinds if run.messages else [])],
        "anomalies": [
            {"anomaly": one, "reasons": "; ".join(one.reasons)} for one in run.anomalies or []
        ],
        "nodes": [
            {"host": host, "ranks": ranks.get(host), "phase": phase}
            for host, phase in (*parts, *actions)
        ],
        "conditions": [
            {"name": ".".join(path), "value": shown_part(value)}
            for path, value in _environment_of(run)
            if not may_be_secret("_".join(path))
        ],
        "hints": [
            {
                "opened": one,
                "name": name,
                "given": one.given.get(name),
                "effective": one.effective.get(name),
            }
            for one in run.opened_hints
            for name in sorted({*one.given, *one.effective})
            if not may_be_secret(name)
        ],
        "node_differences": list(difference_rows(nodes_of_run(run))),
    }
    return {
        table: [_TABLES[table].row_of({"run": run, **one}) for one in rows]
        for table, rows in found.items()
    }


def _about(run: Run) -> dict[str, Any]:
    parameters = {name: parameter.value for name, parameter in run.parameters.items()}
    return {
        "hosts": len(run.nodes) or None,
        "warnings": len(run.warnings),
        "errors": len(run.verification.errors),
        "parameters": json.dumps(parameters),
        "command": " ".join(run.command),
        "follows": json.dumps(run.purpose.follows) if run.purpose else None,
        "environment": run.environment.model_dump_json() if run.environment else None,
        "bench_sha256": run.binaries[0].sha256 if run.binaries else None,
    }


def _environment_of(run: Run) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields what the environment says of the node of rank 0, and whether the system was quiet."""
    if run.environment is not None:
        yield from leaves(run.environment.model_dump(exclude={"nodes"}))
