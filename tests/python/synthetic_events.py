"""Test data, not measurements: events as a MADbench run in I/O mode would leave them.

The times come from assumed rates, a per-rank factor and seeded noise, so tests know what every
figure must be. Nothing here may be shown as a result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

READ, WRITE, SYNC, COMPUTE = 0, 1, 2, 3
FUNCTION_CODES = {"S": 0, "D": 1, "W": 2, "C": 3}
Events = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Configuration:
    """What to pretend. Rates are over all ranks together."""

    label: str = "POSIX UNIQUE SYNC"
    ranks: int = 4
    ranks_per_host: int = 16
    bins: int = 8
    repetitions: int = 5
    warmups: int = 1
    bytes_per_operation: int = 8 * 2**20
    write_bytes_per_second: float = 1.6e9
    read_bytes_per_second: float = 1.9e9
    fsync_share: float = 0.4
    compute_seconds: float = 0.015
    straggler_rank: int = 2
    straggler_factor: float = 1.12
    further_stragglers: tuple[int, ...] = ()
    noise: float = 0.04
    failed: bool = False
    has_sibling: bool = False
    """An asynchronous run states its EAAR beside that of a synchronous run of the same seed."""
    seed: int = 20080123

    @property
    def asynchronous(self) -> bool:
        return self.label.endswith("ASYNC")

    @property
    def shared_file(self) -> bool:
        return "SHARED" in self.label

    @property
    def slug(self) -> str:
        return self.label.lower().replace(" ", "-")

    def host_of(self, rank: int) -> str:
        return f"node{rank // self.ranks_per_host:02d}"


class _Recorder:
    """Advances one clock per rank and records an event row per rank and operation."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.random = np.random.default_rng(configuration.seed)
        self.now = np.zeros(configuration.ranks)
        self.rows: list[dict[str, Any]] = []
        self.repetition = 0
        factors = np.ones(configuration.ranks)
        factors[configuration.straggler_rank % configuration.ranks] = configuration.straggler_factor
        factors[list(configuration.further_stragglers)] = configuration.straggler_factor
        self.factors = factors

    def duration(self, operation: int) -> NDArray[np.float64]:
        c = self.configuration
        rate = c.read_bytes_per_second if operation == READ else c.write_bytes_per_second
        warm = 4.0 if self.repetition < c.warmups else 1.0
        noise = np.exp(c.noise * self.random.standard_normal(c.ranks))
        return np.asarray(c.bytes_per_operation * c.ranks / rate * warm * self.factors * noise)

    def record(
        self,
        function: str,
        operation: int,
        bin_number: int,
        *,
        start: NDArray[np.float64],
        end: NDArray[np.float64],
        foreground: NDArray[np.float64],
        barrier_wait: NDArray[np.float64] | None = None,
    ) -> None:
        c = self.configuration
        moves = operation in (READ, WRITE)
        place = np.arange(c.ranks) * c.bins if c.shared_file else np.zeros(c.ranks, dtype=np.int64)
        zeros = np.zeros(c.ranks)
        self.rows.append(
            {
                "rank": np.arange(c.ranks),
                "repetition": np.full(c.ranks, self.repetition),
                "function": np.full(c.ranks, FUNCTION_CODES[function]),
                "operation": np.full(c.ranks, operation),
                "bin": np.full(c.ranks, bin_number),
                "gang": np.zeros(c.ranks),
                "start_ns": np.rint(start * 1e9),
                "end_ns": np.rint(end * 1e9),
                "foreground_ns": np.rint(foreground * 1e9),
                "bytes": np.full(c.ranks, c.bytes_per_operation if moves else 0),
                "offset_bytes": (place + bin_number) * c.bytes_per_operation if moves else zeros,
                "barrier_wait_ns": np.rint((zeros if barrier_wait is None else barrier_wait) * 1e9),
                "token_wait_ns": zeros,
            }
        )

    def compute(self, function: str, bin_number: int) -> None:
        start = self.now
        self.now = start + self.configuration.compute_seconds
        self.record(
            function,
            COMPUTE,
            bin_number,
            start=start,
            end=self.now,
            foreground=self.now - start,
        )

    def blocking(self, function: str, operation: int, bin_number: int) -> None:
        """One synchronous transfer (a write with its fsync), then a barrier."""
        start, took = self.now, self.duration(operation)
        if operation == READ:
            moved = done = start + took
        else:
            moved = start + took * (1 - self.configuration.fsync_share)
            done = start + took
        self.now = np.full(self.configuration.ranks, done.max())
        self.record(
            function,
            operation,
            bin_number,
            start=start,
            end=moved,
            foreground=moved - start,
            barrier_wait=self.now - done,
        )
        if operation == WRITE:
            self.record(function, SYNC, bin_number, start=moved, end=done, foreground=done - moved)

    def wait(
        self, function: str, operation: int, bin_number: int, start: NDArray[np.float64]
    ) -> None:
        """Wait for a transfer that was started in the background at ``start``."""
        done = start + self.duration(operation)
        blocked = np.maximum(0.0, done - self.now)
        self.now = self.now + blocked
        self.record(function, operation, bin_number, start=start, end=done, foreground=blocked)


def make_events(configuration: Configuration) -> Events:
    """Events of every repetition, warm-ups first, in the order the operations ended."""
    recorder = _Recorder(configuration)
    total = configuration.warmups + configuration.repetitions
    for repetition in range(total):
        recorder.repetition = repetition
        if configuration.asynchronous:
            _asynchronous_repetition(recorder)
        else:
            _synchronous_repetition(recorder)
        if configuration.failed and repetition == configuration.warmups + 1:
            del recorder.rows[-configuration.bins :]
            break
    return {
        name: np.concatenate([row[name] for row in recorder.rows]).astype(np.int64)
        for name in recorder.rows[0]
    }


def _synchronous_repetition(recorder: _Recorder) -> None:
    bins = recorder.configuration.bins
    for b in range(bins):
        recorder.compute("S", b)
        recorder.blocking("S", WRITE, b)
    recorder.blocking("W", READ, 0)
    for b in range(bins):
        if b + 1 < bins:
            recorder.blocking("W", READ, b + 1)
        recorder.compute("W", b)
        recorder.blocking("W", WRITE, b)
    for b in range(bins):
        recorder.blocking("C", READ, b)
        recorder.compute("C", b)


def _asynchronous_repetition(recorder: _Recorder) -> None:
    bins = recorder.configuration.bins
    issued = recorder.now
    for b in range(bins):
        recorder.compute("S", b)
        if b > 0:
            recorder.wait("S", WRITE, b - 1, issued)
        issued = recorder.now
    recorder.wait("S", WRITE, bins - 1, issued)
    recorder.wait("W", READ, 0, recorder.now)
    for b in range(bins):
        reading = recorder.now
        recorder.compute("W", b)
        if b + 1 < bins:
            recorder.wait("W", READ, b + 1, reading)
        if b > 0:
            recorder.wait("W", WRITE, b - 1, issued)
        issued = recorder.now
    recorder.wait("W", WRITE, bins - 1, issued)
    recorder.wait("C", READ, 0, recorder.now)
    for b in range(bins):
        reading = recorder.now
        recorder.compute("C", b)
        if b + 1 < bins:
            recorder.wait("C", READ, b + 1, reading)
