"""Reads the samples of a monitor as rates over time, one counter at a time."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np
from numpy.typing import NDArray

from weir.results.errors import ResultError
from weir.results.events import SAMPLES_FILE
from weir.results.monitor_records import METADATA, MonitoredCounter

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rates:
    """Bytes per second between the edges, which are seconds since the start of the run."""

    edges: Floats
    read: Floats
    write: Floats

    @property
    def largest(self) -> float:
        return float(max(self.read.max(initial=0.0), self.write.max(initial=0.0)))

    def plus(self, other: Rates) -> Rates:
        return Rates(self.edges, self.read + other.read, self.write + other.write)


@dataclass(frozen=True)
class GrownLink:
    """What one network card of a host has moved, between which moments since the run's start."""

    host: str
    name: str
    since: Floats
    time: Floats
    bytes: Floats


class SampleStore:
    """``monitor.parquet`` of one run folder."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @classmethod
    def open(cls, folder: Path) -> SampleStore | None:
        """Returns the samples in a run folder; None if there are none."""
        file = folder / SAMPLES_FILE
        return cls(file) if file.is_file() else None

    @functools.cached_property
    def span(self) -> tuple[float, float]:
        """Seconds of the first and the last growth of any counter, since the start of the run."""
        rows = self._query("SELECT min(since_ns), max(time_ns) FROM read_parquet(?)", [])
        (low,), (high,) = rows["first"], rows["last"]
        return float(low) * 1e-9, float(high) * 1e-9

    @functools.cached_property
    def wall_seconds(self) -> float:
        """The time of day, in seconds since 1970, at which the run began."""
        about = self._about
        if not {"origin_ns", "monotonic_ns", "utc_ns"} <= about.keys():
            raise ResultError(f"{self._file} does not say when it was recorded")
        passed = about["origin_ns"] - about["monotonic_ns"]
        return float(about["utc_ns"] + passed) * 1e-9

    @functools.cached_property
    def _about(self) -> dict[str, Any]:
        """What the file says of its monitor; nothing if it does not."""
        sql = "SELECT value FROM parquet_kv_metadata(?) WHERE key = ?"
        try:
            with duckdb.connect() as connection:
                row = connection.execute(sql, [str(self._file), METADATA]).fetchone()
            about: dict[str, Any] = json.loads(row[0] if row else "{}")
        except (duckdb.Error, ValueError):
            return {}
        return about

    def rates(self, counters: Sequence[MonitoredCounter], edges: Floats) -> list[Rates]:
        """Returns the mean rates of counters between edges, by one reading of the file."""
        columns = self._query(
            "SELECT place, since_ns, time_ns, bytes_read, bytes_written "
            "FROM read_parquet(?) AS one JOIN "
            "(SELECT unnest(range(len(?::VARCHAR[]))) AS place, unnest(?::VARCHAR[]) AS host, "
            "unnest(?::VARCHAR[]) AS kind, unnest(?::VARCHAR[]) AS source, "
            "unnest(?::VARCHAR[]) AS name) "
            "AS wanted ON one.host = coalesce(wanted.host, one.host) AND one.kind = wanted.kind "
            "AND one.source = wanted.source AND one.name = wanted.name ORDER BY place, time_ns",
            [
                [one.kind for one in counters],
                [one.host or self._about.get("host") for one in counters],
                [one.kind for one in counters],
                [one.source for one in counters],
                [one.name for one in counters],
            ],
            ("place", "since", "time", "read", "written"),
        )
        times = np.stack([columns["since"], columns["time"]], axis=1).ravel() * 1e-9
        ends = np.searchsorted(columns["place"], np.arange(len(counters) + 1))
        return [
            Rates(
                edges,
                *(
                    _rate(times[2 * low : 2 * high], columns[name][low:high], edges)
                    for name in ("read", "written")
                ),
            )
            for low, high in itertools.pairwise(ends.tolist())
        ]

    def grown_links(self, column: Literal["bytes_read", "bytes_written"]) -> list[GrownLink]:
        """Returns what the network cards of all hosts have moved, but for loopback devices."""
        sql = (
            "SELECT DISTINCT host, name FROM read_parquet(?) "
            "WHERE kind = 'link' AND name != 'lo' ORDER BY ALL"
        )
        of_one = (
            f"SELECT since_ns, time_ns, {column} FROM read_parquet(?) "
            "WHERE kind = 'link' AND host = ? AND name = ? ORDER BY time_ns"
        )
        found = []
        try:
            with duckdb.connect() as connection:
                for host, name in connection.execute(sql, [str(self._file)]).fetchall():
                    given = [str(self._file), host, name]
                    rows = connection.execute(of_one, given).fetchnumpy()
                    since, time, grown = (
                        np.ma.filled(one, 0).astype(np.float64) for one in rows.values()
                    )
                    found.append(GrownLink(host, name, since * 1e-9, time * 1e-9, grown))
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise ResultError(f"{self._file} cannot be read as samples: {reason}") from None
        return found

    def _query(
        self, sql: str, parameters: list[Any], names: tuple[str, ...] = ("first", "last")
    ) -> dict[str, Floats]:
        try:
            with duckdb.connect() as connection:
                found = connection.execute(sql, [str(self._file), *parameters]).fetchnumpy()
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise ResultError(f"{self._file} cannot be read as samples: {reason}") from None
        columns = (np.ma.filled(column, 0).astype(np.float64) for column in found.values())
        return dict(zip(names, columns, strict=True))


def _rate(times: Floats, grown: Floats, edges: Floats) -> Floats:
    """Returns mean growth per second between edges; ``times`` has two ends for each growth.

    Within the interval of a sample growth is taken as even.
    """
    if not len(grown):
        return np.zeros(len(edges) - 1)
    after = np.cumsum(grown)
    totals = np.stack([after - grown, after], axis=1).ravel()
    return np.diff(np.interp(edges, times, totals)) / np.diff(edges)
