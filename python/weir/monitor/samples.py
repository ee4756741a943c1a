"""Turns a recording into a Parquet file, and sums it up on the way.

====================  ========  ==================================================================
column                type      meaning
====================  ========  ==================================================================
since_ns, time_ns     BIGINT    between these two readings the counter has grown; the clock is that
                                of the run's events in a run folder, else CLOCK_MONOTONIC
host                  VARCHAR   where the counter was read
kind                  VARCHAR   ``target server link client host requests``, as in
                                ``weir.monitor.counters``
source, name          VARCHAR   what counted, such as ``diskstats``, and what was counted
bytes_read            BIGINT    by how much it has grown
bytes_written         BIGINT
operations            BIGINT
busy_ns               BIGINT    for block devices by the clock, else summed over requests
====================  ========  ==================================================================

A counter that has not grown has no row. What is known about the monitor is in the file's metadata,
under ``weir_monitor``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from weir.monitor.counters import Key, Values
from weir.monitor.recording import Block, Reader
from weir.monitor.sampler import SECOND
from weir.results.errors import ResultError
from weir.results.monitor_records import METADATA, SAMPLE_COLUMNS

ROWS_AT_A_TIME = 100_000
MEMORY_LIMIT = "256MB"
LARGEST_IN_MEMORY = 4 << 20
"""Bytes of a recording up to which its rows, some 16 times as large, need no file of their own."""

Row = tuple[int, int, Key, Values]
"""Between which two moments a counter has grown, the counter, its growth."""


@dataclass
class Total:
    """What one counter has grown by in all."""

    bytes_read: int = 0
    bytes_written: int = 0
    operations: int = 0
    busy_ns: int = 0
    largest_rate: float = 0.0
    """Bytes read and written per second in the interval with the most."""
    first_ns: int = 0
    last_ns: int = 0
    """Ends of the first and the last interval in which it has grown."""

    def add(self, since_ns: int, time_ns: int, values: Values) -> None:
        if not self.last_ns:
            self.first_ns = time_ns
        self.last_ns = time_ns
        self.bytes_read += values.bytes_read
        self.bytes_written += values.bytes_written
        self.operations += values.operations
        self.busy_ns += values.busy_ns
        moved = values.bytes_read + values.bytes_written
        self.largest_rate = max(self.largest_rate, moved * SECOND / max(1, time_ns - since_ns))


@dataclass
class Summary:
    """A whole recording in a few figures."""

    header: dict[str, Any]
    samples: int = 0
    missed: int = 0
    first_ns: int = 0
    last_ns: int = 0
    longest_reading_ns: int = 0
    cost_ns: int = 0
    is_whole: bool = False
    """Whether the monitor ended well: a killed one has lost up to its last second."""
    totals: dict[Key, Total] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """From the first to the last sample."""
        return (self.last_ns - self.first_ns) / SECOND

    @property
    def cost_fraction(self) -> float:
        """Processor time of the monitor as a share of one core."""
        return self.cost_ns / max(1, self.last_ns - self.first_ns)


def rows_of(reader: Reader, summary: Summary) -> Iterator[Row]:
    """Yields all rows in order of time, and completes the summary."""
    interval_ns = int(summary.header["interval_ns"])
    turn = 0
    for block in reader.blocks():
        if not summary.samples:
            summary.first_ns = block.times_ns[0]
        for time_ns in block.times_ns:
            # A late sample takes the place of those that were due until then.
            passed = (time_ns - summary.first_ns) // interval_ns
            summary.missed += max(0, passed - turn - 1)
            turn = max(turn, passed)
        summary.samples += len(block.times_ns)
        yield from _rows_of(block, summary)
        summary.last_ns = block.times_ns[-1]
        summary.longest_reading_ns = max(summary.longest_reading_ns, *block.took_ns)
        summary.cost_ns = block.cost_ns[-1]
    summary.is_whole = reader.end is not None


def _rows_of(block: Block, summary: Summary) -> Iterator[Row]:
    before = summary.last_ns or block.times_ns[0]
    for sample, key, span, values in block.rows:
        since_ns, time_ns = span
        if not time_ns:
            since_ns = block.times_ns[sample - 1] if sample else before
            time_ns = block.times_ns[sample]
        summary.totals.setdefault(key, Total()).add(since_ns, time_ns, values)
        yield since_ns, time_ns, key, values


def write_samples(recording: Path, target: Path, origin_ns: int = 0) -> Summary:
    """Writes a recording as Parquet, and sums it up.

    Times are since ``origin_ns`` of the monitor's clock.
    """
    return write_together([Part(recording, origin_ns)], target)[0]


@dataclass(frozen=True)
class Part:
    """The recording of one host, and the moment on its clock from which times count.

    ``host`` is how the host is called, if not by itself.
    """

    recording: Path
    origin_ns: int
    host: str | None = None


def write_together(parts: Sequence[Part], target: Path) -> list[Summary]:
    """Writes recordings of several hosts as one Parquet file, and returns what each has.

    The file's metadata are of the first. The file gets its name only when it is complete.
    """
    import duckdb  # noqa: PLC0415 (the monitor beside a job needs none)

    unfinished = target.with_name(f".{target.name}.unfinished")
    scratch = target.with_name(f".{target.name}.scratch")
    try:
        size = sum(part.recording.stat().st_size for part in parts)
        place = ":memory:" if size <= LARGEST_IN_MEMORY else str(scratch)
        with duckdb.connect(place) as connection:
            connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
            connection.execute("SET preserve_insertion_order = true")
            declared = ", ".join(f"{name} {kind}" for name, kind in SAMPLE_COLUMNS.items())
            connection.execute(f"CREATE TABLE samples ({declared})")
            summaries = [_insert_part(connection, part) for part in parts]
            about = json.dumps(metadata_of(summaries[0], parts[0].origin_ns)).replace("'", "''")
            name = str(unfinished).replace("'", "''")
            connection.execute(
                f"COPY (FROM samples) TO '{name}' (FORMAT parquet, COMPRESSION zstd, "
                f"KV_METADATA {{{METADATA}: '{about}'}})"
            )
        unfinished.replace(target)
    except (OSError, duckdb.Error) as error:
        raise ResultError(f"{target} cannot be written: {str(error).splitlines()[0]}") from None
    finally:
        for leftover in (unfinished, scratch, Path(f"{scratch}.wal")):
            leftover.unlink(missing_ok=True)
    return summaries


def _insert_part(connection: Any, part: Part) -> Summary:
    with Reader(part.recording) as reader:
        summary = Summary(reader.header)
        host = part.host or summary.header["host"]
        waiting: list[Row] = []
        for row in rows_of(reader, summary):
            waiting.append(row)
            if len(waiting) == ROWS_AT_A_TIME:
                _insert(connection, waiting, part.origin_ns, host)
                waiting.clear()
        _insert(connection, waiting, part.origin_ns, host)
    return summary


def metadata_of(summary: Summary, origin_ns: int) -> dict[str, Any]:
    """Returns what the file says of its monitor."""
    return {
        **summary.header,
        "origin_ns": origin_ns,
        "samples": summary.samples,
        "missed": summary.missed,
        "seconds": summary.seconds,
        "cost_seconds": summary.cost_ns / SECOND,
        "is_whole": summary.is_whole,
    }


def _insert(connection: Any, rows: Sequence[Row], origin_ns: int, host: str) -> None:
    if not rows:
        return
    numbers = {
        "since_ns": np.array([row[0] - origin_ns for row in rows], dtype=np.int64),
        "time_ns": np.array([row[1] - origin_ns for row in rows], dtype=np.int64),
        **{
            name: np.array([row[3][place] for row in rows], dtype=np.int64)
            for place, name in enumerate(Values._fields)
        },
    }
    texts = {
        name: np.array([row[2][place] for row in rows], dtype=object)
        for place, name in enumerate(Key._fields)
    }
    columns = {**numbers, **texts, "host": np.array([host] * len(rows), dtype=object)}
    connection.register("part", {name: columns[name] for name in SAMPLE_COLUMNS})
    connection.execute(f"INSERT INTO samples SELECT {', '.join(SAMPLE_COLUMNS)} FROM part")
    connection.unregister("part")
