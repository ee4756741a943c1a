"""Test data, not measurements: calibrations with rates that tests choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weir.results.calibration import Calibration, Trials

MIB = 2**20
STEADY = (0.99, 1.0, 1.01, 1.0, 1.0)


def trials(median: float, factors: Sequence[float] = STEADY) -> Trials:
    values = [median * factor for factor in factors]
    return Trials(median=median, low=min(values), high=max(values), values=values)


def calibration(**changes: Any) -> Calibration:
    """Four ranks; storage writes 1e9 and reads 2e9 bytes per second, everything else is faster."""
    record: dict[str, Any] = {
        "format": "weir-calibration",
        "format_version": 1,
        "measured_utc": "2025-01-23T10:14:40Z",
        "ranks": 4,
        "hosts": 1,
        "directory": "/scratch/weir-files",
        "file_system": "ext4",
        "transfer_bytes": 8 * MIB,
        "memory_copy_one_rank_bytes_per_second": trials(8e9),
        "memory_copy_bytes_per_second": trials(10e9),
        "write_cache_bytes_per_second": trials(4e9),
        "write_storage_bytes_per_second": trials(1e9),
        "read_cache_bytes_per_second": trials(6e9),
        "read_storage_bytes_per_second": trials(2e9),
        "fsync_seconds": trials(2e-3),
        "call_seconds": trials(1e-6),
        "barrier_seconds": trials(5e-6),
        "busy_work_operations_per_second": trials(1e9),
        "seconds": 3.0,
    }
    return Calibration.model_validate({**record, **changes})
