"""The test data itself: valid, and its figures agree with its events."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from synthetic import make_events, make_run, write_run_folder

CASES = [
    {"label": "POSIX UNIQUE SYNC"},
    {"label": "POSIX UNIQUE ASYNC"},
    {"label": "MPI SHARED SYNC", "ranks": 64},
    {"label": "MPI SHARED ASYNC", "ranks": 64},
    {"label": "POSIX SHARED SYNC", "failed": True},
]


@pytest.mark.parametrize("fields", CASES, ids=lambda f: "-".join(str(v) for v in f.values()))
def test_bytes_in_events_equal_bytes_in_the_run(fields: dict[str, object], tmp_path: Path) -> None:
    run = make_run(**fields)
    write_run_folder(tmp_path, run, make_events(**fields), finalized=True)
    whole = tuple(repetition.index for repetition in run.repetitions)
    with duckdb.connect() as connection:
        counted = connection.execute(
            "SELECT repetition, function, operation, sum(bytes) FROM read_parquet(?) "
            "WHERE operation IN ('read', 'write') GROUP BY ALL",
            [str(tmp_path / "events.parquet")],
        ).fetchall()
    by_phase = {(r, f, o): int(b) for r, f, o, b in counted if r in whole}
    stated = {
        (repetition.index, phase.function, phase.direction): phase.bytes
        for repetition in run.repetitions
        for phase in repetition.phases
    }
    assert by_phase == stated


def test_asynchronous_run_hides_all_but_the_exposed_transfers() -> None:
    fields = {"compute_seconds": 0.2, "straggler_factor": 1.0, "noise": 0.0}
    run = make_run(label="POSIX UNIQUE ASYNC", **fields)
    rates = {(rate.direction, rate.metric): rate.median for rate in run.rates}
    assert rates["read", "foreground"] == pytest.approx(8 * 1.9e9, rel=1e-3)
    assert rates["write", "foreground"] == pytest.approx(8 * 1.6e9, rel=1e-3)
