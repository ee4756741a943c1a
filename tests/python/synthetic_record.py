"""Test data, not measurements: the parts of a run that no event decides."""

from __future__ import annotations

from typing import Any

from synthetic_events import Configuration


def parameters(c: Configuration) -> dict[str, Any]:
    method, file_type, mode = c.label.split()
    chosen: dict[str, Any] = {
        "no_pix": 2000,
        "no_bin": c.bins,
        "no_gang": 1,
        "sblocksize": 32,
        "fblocksize": 4096,
        "rmod": 1,
        "wmod": 1,
    }
    defaulted: dict[str, Any] = {
        "remap": "CUSTOM",
        "sync": "fsync",
        "direct": False,
        "drop_cache": True,
        "rank_shift": 0,
        "compressible": 0,
        "verify": True,
        "directory": "/scratch/weir-files",
    }
    return {
        **{name: {"value": value, "origin": "command line"} for name, value in chosen.items()},
        "iomethod": {"value": method, "origin": "environment"},
        "filetype": {"value": file_type, "origin": "environment"},
        "iomode": {"value": mode, "origin": "environment"},
        **{name: {"value": value, "origin": "default"} for name, value in defaulted.items()},
    }


def plan(c: Configuration) -> dict[str, Any]:
    matrix = c.bytes_per_operation * c.ranks
    return {
        "ranks": c.ranks,
        "files": 1 if c.shared_file else c.ranks,
        "memory_bytes_per_rank": 5 * c.bytes_per_operation,
        "memory_bytes_total": 5 * matrix,
        "disk_bytes_total": c.bins * matrix,
        "phases": [
            {
                "function": function,
                "direction": direction,
                "operations_per_rank": c.bins,
                "bytes_per_operation": c.bytes_per_operation,
                "bytes_total": c.bins * matrix,
                "computations_per_operation": 1.0e6,
                "exposed_operations_per_rank": 1,
            }
            for function, direction in (
                ("S", "write"),
                ("W", "read"),
                ("W", "write"),
                ("C", "read"),
            )
        ],
    }


def expectation(c: Configuration) -> dict[str, Any]:
    rates = []
    moved = 2 * c.bins * c.bytes_per_operation * c.ranks
    for direction, assumed in (
        ("read", c.read_bytes_per_second),
        ("write", c.write_bytes_per_second),
    ):
        hidden = c.bins if c.asynchronous else 1
        expected = assumed * hidden / c.straggler_factor
        stages = [
            ("memory copy", 9.0e9),
            ("page cache write" if direction == "write" else "page cache read", 5.2e9),
            (f"storage {direction}", assumed),
        ]
        rates.append(
            {
                "direction": direction,
                "metric": "foreground" if c.asynchronous else "span",
                "expected_bytes_per_second": expected,
                "low_bytes_per_second": 0.8 * expected,
                "high_bytes_per_second": 1.25 * expected,
                "limiting_stage": f"storage {direction}",
                "stages": [
                    {
                        "name": name,
                        "rate_bytes_per_second": rate,
                        "low_bytes_per_second": 0.85 * rate,
                        "high_bytes_per_second": 1.15 * rate,
                        "transfer_seconds": 0.9 * moved / rate,
                        "fixed_seconds": 0.1 * moved / rate,
                        "limiting": name == f"storage {direction}",
                        "how": "test data: assumed, not calibrated",
                    }
                    for name, rate in stages
                ],
                "how": "test data: assumed, not calibrated",
            }
        )
    return {
        "made_utc": "2025-01-23T10:14:50Z",
        "calibration": {"note": "test data: assumed, not calibrated"},
        "rates": rates,
    }


def verdict_of(record: dict[str, Any]) -> dict[str, Any]:
    """A verdict by the rule of the schema alone, for tests that need a finalized run."""
    judged = []
    for expected in record["expectation"]["rates"]:
        measured = next(
            r["median_bytes_per_second"]
            for r in record["rates"]
            if r["direction"] == expected["direction"] and r["headline"]
        )
        if measured < expected["low_bytes_per_second"]:
            word, text = "below", f"below: look at {expected['limiting_stage']}"
        elif measured > expected["high_bytes_per_second"]:
            word, text = "above", "above: the model or the measurement is wrong"
        else:
            word, text = "as expected", "as expected"
        judged.append(
            {
                "direction": expected["direction"],
                "metric": expected["metric"],
                "measured_bytes_per_second": measured,
                "expected_bytes_per_second": expected["expected_bytes_per_second"],
                "ratio": measured / expected["expected_bytes_per_second"],
                "verdict": word,
                "text": text,
            }
        )
    words = [rate["verdict"] for rate in judged]
    overall = next((word for word in ("above", "below") if word in words), "as expected")
    return {"overall": overall, "rates": judged}


def environment(c: Configuration) -> dict[str, Any]:
    hosts = -(-c.ranks // c.ranks_per_host)
    return {
        "hardware": {"hosts": hosts, "cores_per_host": 16, "memory_bytes_per_host": 64 * 2**30},
        "system_software": {"kernel": "6.1.0", "mpi": "Open MPI 4.1.4", "os": "Debian 12"},
        "file_system": {"type": "ext4", "mount": "/scratch", "options": "rw,relatime"},
        "test_application": {"name": "weir-bench", "version": "0.1.0", "revision": "0000000"},
        "quiet": {
            "load_before": 0.1,
            "load_after": 1.4,
            "other_processes_busy_fraction": 0.02,
            "quiet": True,
            "text": "load average 0.1 before the run",
        },
    }
