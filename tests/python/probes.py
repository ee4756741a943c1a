"""Test data, not measurements: probes of machines whose law tests choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from weir.results.probe import Probe

KIB = 1024
SIZES = tuple(4 * KIB * 4**power for power in range(7))
TRIALS = 5

Law = Callable[[int, int], float]
"""(ranks at work, bytes of one operation) -> seconds of one operation of each of them."""


def samples_of(
    operation: str,
    law: Law,
    *,
    ranks: Sequence[int] = (1, 2, 4),
    sizes: Sequence[int] = SIZES,
    noise: float = 0.03,
    seed: int = 1,
    **more: Any,
) -> list[dict[str, Any]]:
    """Samples whose trials scatter by ``noise`` and of which one in twenty is an outlier."""
    dice = np.random.default_rng(seed)
    made = []
    for count in ranks:
        for size in sizes:
            operations = max(1, 2**22 // size)
            factors = np.exp(dice.normal(0, noise, TRIALS))
            factors *= np.where(dice.random(TRIALS) < 0.05, 5.0, 1.0)
            seconds = law(count, size) * operations * factors
            made.append(
                {
                    "operation": operation,
                    "ranks": count,
                    "operation_bytes": size,
                    "operations": operations,
                    "seconds": [float(one) for one in seconds],
                    **more,
                }
            )
    return made


def make_probe(samples: Sequence[Mapping[str, Any]], **changes: Any) -> Probe:
    record: dict[str, Any] = {
        "format": "weir-probe",
        "format_version": 1,
        "measured_utc": "2025-01-23T10:14:40Z",
        "seconds": 12.5,
        "ranks": 4,
        "ranks_by_host": {"node00": 4},
        "memory_available_bytes": 2**34,
        "targets": [
            {"directory": "/scratch", "file_system": "ext4", "mount": "/scratch", "device": "sda"}
        ],
        "hardware": {"cores": 4, "serial": None},
        "system_software": {"kernel": "6.1.0"},
        "quiet": {
            "load_before": 0.1,
            "load_after": 0.2,
            "other_processes_busy_fraction": None,
            "quiet": True,
            "text": "load average 0.1 before",
        },
        "samples": list(samples),
    }
    return Probe.model_validate({**record, **changes})
