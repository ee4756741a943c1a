"""Test data, not measurements: a run beside which a monitor watched any number of targets.

All targets move the same bytes at the same rate, but for one, which takes twice as long.
"""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np

from weir.results.events import SAMPLES_FILE
from weir.results.monitor_records import METADATA, SAMPLE_COLUMNS
from weir.results.schema import Run

INTERVAL = 0.1
SAMPLES = 40
BYTES = 8 * 2**20
"""What a target moves in an interval."""
SLOW = 7
"""The target that moves half as much, for twice as long."""


def name_of(target: int) -> str:
    return f"OST{target:04x}"


def with_targets(folder: Path, run: Run, targets: int) -> Run:
    """Writes the samples of so many targets into a run's folder, and returns the run with them."""
    half = SAMPLES // 2
    moved = np.zeros((targets, SAMPLES), dtype=np.int64)
    moved[:, :half] = BYTES
    moved[SLOW] = BYTES // 2
    place = np.repeat(np.arange(targets), SAMPLES)
    sample = np.tile(np.arange(SAMPLES), targets)
    step = round(INTERVAL * 1e9)
    kept = moved.ravel() > 0
    columns = {
        "since_ns": (sample * step)[kept],
        "time_ns": ((sample + 1) * step)[kept],
        "host": np.array(["node00"] * int(kept.sum()), dtype=object),
        "kind": np.array(["target"] * int(kept.sum()), dtype=object),
        "source": np.array(["lustre"] * int(kept.sum()), dtype=object),
        "name": np.array([name_of(one) for one in place[kept].tolist()], dtype=object),
        "bytes_read": np.zeros(int(kept.sum()), dtype=np.int64),
        "bytes_written": moved.ravel()[kept],
        "operations": np.ones(int(kept.sum()), dtype=np.int64),
        "busy_ns": np.zeros(int(kept.sum()), dtype=np.int64),
    }
    about = json.dumps({"origin_ns": 0, "monotonic_ns": 0, "utc_ns": 0})
    with duckdb.connect() as connection:
        connection.register("samples", {name: columns[name] for name in SAMPLE_COLUMNS})
        connection.execute(
            f"COPY (FROM samples) TO '{folder / SAMPLES_FILE}' "
            f"(FORMAT parquet, KV_METADATA {{{METADATA}: '{about}'}})"
        )
    record = run.model_dump(mode="json")
    record["monitor"] = _monitor(moved)
    return Run.model_validate(record)


def _monitor(moved: np.ndarray) -> dict[str, object]:  # type: ignore[type-arg]
    return {
        "file": SAMPLES_FILE,
        "host": "node00",
        "sources": ["lustre"],
        "interval_seconds": INTERVAL,
        "resolution": "sampled every 0.1 s",
        "seconds": SAMPLES * INTERVAL,
        "samples": SAMPLES,
        "missed": 0,
        "longest_reading_seconds": 0.001,
        "processor_seconds": 0.01,
        "clock": {"how": "one clock", "error_bound_ns": 0, "likely_error_ns": None},
        "counters": [
            {
                "kind": "target",
                "source": "lustre",
                "name": name_of(target),
                "holds_files": True,
                "bytes_read": 0,
                "bytes_written": int(of.sum()),
                "operations": SAMPLES,
                "busy_seconds": 0.0,
                "largest_bytes_per_second": float(of.max()) / INTERVAL,
            }
            for target, of in enumerate(moved)
        ],
        "others": {
            "verdict": "quiet",
            "text": "the targets moved what the job did",
            "own_from": "accounting",
            "before_seconds": 1.0,
            "before_bytes": 0,
            "during_seconds": 4.0,
            "directions": [],
        },
    }
