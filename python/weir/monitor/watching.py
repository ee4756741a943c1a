"""One monitor of this host: drivers, sampler and recording together."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weir.errors import Error
from weir.monitor.drivers import drivers_here
from weir.monitor.recording import Writer
from weir.monitor.sampler import SECOND, Sample, Sampler, SystemClock, resolution_text

FORMAT = "weir-monitor"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Wall:
    """The time of day at a moment of CLOCK_MONOTONIC."""

    monotonic_ns: int
    utc_ns: int
    error_bound_ns: int


def wall_now() -> Wall:
    """Reads both clocks; the bound is half the time between two readings of one."""
    tries = []
    for _ in range(5):
        before = time.monotonic_ns()
        utc = time.time_ns()
        after = time.monotonic_ns()
        tries.append(Wall((before + after) // 2, utc, (after - before) // 2 + 1))
    return min(tries, key=lambda one: one.error_bound_ns)


def header(interval_seconds: float, sources: list[str]) -> dict[str, Any]:
    """Returns what a recording says of its monitor."""
    boot = BOOT_ID.read_text().strip() if BOOT_ID.exists() else ""
    wall = wall_now()
    return {
        "format": FORMAT,
        "format_version": 1,
        "host": socket.gethostname(),
        "boot_id": boot,
        "clock": "CLOCK_MONOTONIC",
        "monotonic_ns": wall.monotonic_ns,
        "utc_ns": wall.utc_ns,
        "wall_error_bound_ns": wall.error_bound_ns,
        "interval_ns": round(interval_seconds * SECOND),
        "sources": sources,
        "resolution": resolution_text(interval_seconds),
        "process": os.getpid(),
    }


def watch(
    path: Path,
    interval_seconds: float,
    *,
    keeps_on: Callable[[float], bool],
    longest_seconds: float | None = None,
    on_sample: Callable[[Sample], None] = lambda _: None,
    counts_children: bool = True,
) -> None:
    """Records into a new file until ``keeps_on``, which waits, returns False.

    The cost includes the programs that drivers run, unless this process has other children.
    Raises ``Error`` if the file cannot be written.
    """
    drivers = drivers_here(interval_seconds)
    try:
        writer = Writer(path, header(interval_seconds, [one.source for one in drivers]))
    except OSError as error:
        raise Error(f"{path} cannot be written: {error.strerror}: give another file") from None

    def take(sample: Sample) -> None:
        writer.add(sample)
        on_sample(sample)

    clock = SystemClock(keeps_on, counts_children=counts_children)
    sampler = Sampler(drivers, round(interval_seconds * SECOND), clock, take)
    longest = None if longest_seconds is None else round(longest_seconds * SECOND)
    reason = "an error"
    try:
        sampler.run(longest)
        reason = "asked"
    except OSError as error:
        raise Error(f"{path} cannot be written: {error.strerror}") from None
    finally:
        for driver in drivers:
            driver.close()
        writer.close({"reason": reason, "missed": sampler.missed})
