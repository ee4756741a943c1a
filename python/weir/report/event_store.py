"""Reads the events of one run, one repetition at a time, so that memory stays bounded."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from weir.results.errors import ResultError
from weir.results.events import (
    COLUMNS_FOLDER,
    FUNCTION_NAMES,
    OPERATION_NAMES,
    PARQUET_FILE,
    map_event_columns,
)

TRANSFERS = ("read", "write", "sync")
MOVES = ("read", "write")


@dataclass(frozen=True)
class Events:
    """The events of one repetition as columns of equal length, sorted by rank and start.

    ``operation`` and ``function`` are codes into ``OPERATION_NAMES`` and ``FUNCTION_NAMES``.
    """

    rank: NDArray[np.int32]
    function: NDArray[np.int8]
    operation: NDArray[np.int8]
    bin: NDArray[np.int32]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    foreground_ns: NDArray[np.int64]
    bytes: NDArray[np.int64]
    barrier_wait_ns: NDArray[np.int64]
    token_wait_ns: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rank)


@dataclass(frozen=True)
class RankTimes:
    """Seconds of each rank per repetition; medians over the measured repetitions."""

    rank: NDArray[np.int32]
    read: NDArray[np.float64]
    write: NDArray[np.float64]
    sync: NDArray[np.float64]
    foreground: NDArray[np.float64]
    barrier_wait: NDArray[np.float64]
    token_wait: NDArray[np.float64]

    @property
    def io(self) -> NDArray[np.float64]:
        return self.read + self.write + self.sync


@dataclass(frozen=True)
class PhaseSpan:
    """Bytes that the job moved in one direction between two times, in seconds since a start."""

    direction: str
    start: float
    end: float
    bytes: int

    @property
    def rate(self) -> float:
        """Bytes per second from the first start to the last end."""
        return self.bytes / max(self.end - self.start, 1e-9)


@functools.cache
def _database() -> duckdb.DuckDBPyConnection:
    """Returns one in-memory database for all runs: creating one takes longer than a small run."""
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    return connection


class EventStore:
    """``events.parquet``, or ``events/`` of a run that is not finalized, as an SQL table."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, origin: Path) -> None:
        self._connection = connection
        self._origin = origin
        self._repetitions: dict[int, int] | None = None

    @classmethod
    def open(cls, folder: Path) -> EventStore | None:
        """Opens the events in a run folder; ``None`` if it has none, or none were written."""
        connection = _database().cursor()
        parquet = folder / PARQUET_FILE
        if (folder / COLUMNS_FOLDER).is_dir():
            connection.register("columns", dict(map_event_columns(folder)))
            function, operation, source = "function", "operation", "columns"
            origin = folder / COLUMNS_FOLDER
        elif parquet.is_file():
            function = f"list_position({list(FUNCTION_NAMES)}, function) - 1"
            operation = f"list_position({list(OPERATION_NAMES)}, operation) - 1"
            source = "read_parquet('" + str(parquet).replace("'", "''") + "')"
            origin = parquet
        else:
            return None
        store = cls(connection, origin)
        store._run(
            f"""CREATE TEMP VIEW events AS SELECT rank, repetition, {function} AS function_code,
            {operation} AS operation_code, bin, start_ns, end_ns, foreground_ns, bytes,
            offset_bytes, barrier_wait_ns, token_wait_ns FROM {source}"""
        )
        return store if store.repetitions() else None

    def _run(
        self, query: str, parameters: list[Any] | dict[str, Any] | None = None
    ) -> duckdb.DuckDBPyConnection:
        try:
            return self._connection.execute(query, parameters)
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise ResultError(f"{self._origin}: cannot be read as events: {reason}") from None

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self._origin.parent

    def repetitions(self) -> dict[int, int]:
        """Returns the number of events by index of repetition."""
        if self._repetitions is None:
            rows = self._run(
                "SELECT repetition, count(*) FROM events GROUP BY repetition ORDER BY repetition"
            ).fetchall()
            self._repetitions = {int(index): int(number) for index, number in rows}
        return self._repetitions

    def load(self, repetition: int) -> Events:
        """Returns all events of one repetition."""
        columns = self._run(
            """SELECT rank, function_code::TINYINT AS function,
            operation_code::TINYINT AS operation, bin, start_ns, end_ns, foreground_ns, bytes,
            barrier_wait_ns, token_wait_ns FROM events WHERE repetition = ?
            ORDER BY rank, start_ns, end_ns, operation_code""",
            [repetition],
        ).fetchnumpy()
        return Events(**{name: np.asarray(column) for name, column in columns.items()})

    def transfers(
        self, function: str, direction: str, repetitions: list[int], most: int
    ) -> dict[str, NDArray[np.int64]]:
        """Returns the transfers of a function in some repetitions, with their syncs, by column.

        If there are more than ``most``, those of every second, third, ... bin are returned.
        """
        codes = [OPERATION_NAMES.index(direction)]
        if direction == "write":
            codes.append(OPERATION_NAMES.index("sync"))
        chosen = (
            "FROM events WHERE function_code = ? AND list_contains(?::INTEGER[], operation_code) "
            "AND list_contains(?::INTEGER[], repetition)"
        )
        given = [FUNCTION_NAMES.index(function), codes, repetitions]
        row = self._run(f"SELECT count(*) {chosen}", given).fetchone()
        each = max(1, -(-(row[0] if row else 0) // most))
        columns = self._run(
            f"""SELECT rank::BIGINT AS rank, repetition::BIGINT AS repetition,
            operation_code::BIGINT AS operation, bin::BIGINT AS bin, start_ns, end_ns, bytes,
            offset_bytes, barrier_wait_ns {chosen} AND bin % ? = 0
            ORDER BY rank, repetition, start_ns, end_ns LIMIT ?""",
            [*given, each, most],
        ).fetchnumpy()
        return {name: np.asarray(column, dtype=np.int64) for name, column in columns.items()}

    def phase_spans(self) -> list[PhaseSpan]:
        """Returns each function of each repetition by direction, in order of time."""
        rows = self._run(
            f"""SELECT operation_code, min(start_ns), max(end_ns), sum(bytes) FROM events
            WHERE operation_code IN ({", ".join(str(OPERATION_NAMES.index(d)) for d in MOVES)})
            GROUP BY repetition, function_code, operation_code HAVING sum(bytes) > 0
            ORDER BY min(start_ns), operation_code"""
        ).fetchall()
        return [
            PhaseSpan(OPERATION_NAMES[code], start * 1e-9, end * 1e-9, int(moved))
            for code, start, end, moved in rows
        ]

    def rank_count(self) -> int:
        """Returns one more than the highest rank."""
        row = self._run("SELECT max(rank) FROM events").fetchone()
        return int(row[0]) + 1 if row and row[0] is not None else 0

    def rank_rates(
        self, direction: str, first: list[int], columns: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Returns edges in seconds, and the slowest rank's rate by row and column.

        A row has the ranks from its entry in ``first`` to the next. A rate is bytes over the time
        in which the rank moved them, which includes the sync after a write; NaN if it moved none.
        """
        move, sync = OPERATION_NAMES.index(direction), OPERATION_NAMES.index("sync")
        span = self._run(
            "SELECT min(start_ns), max(end_ns), count(*) FILTER (operation_code = ?) FROM events",
            [move],
        ).fetchone()
        if span is None or not span[2] or span[0] == span[1]:
            return None
        start, end = span[:2]
        found = self._run(
            """WITH moves AS (SELECT rank, operation_code, bytes, start_ns,
            CASE WHEN lead(operation_code) OVER following = $sync AND lead(bin) OVER following = bin
            THEN greatest(end_ns, lead(end_ns) OVER following) ELSE end_ns END AS until_ns
            FROM events WHERE operation_code IN ($move, $sync)
            WINDOW following AS (PARTITION BY rank, repetition ORDER BY start_ns, end_ns)),
            placed AS (SELECT *, unnest(range(
            ((start_ns - $start) * $columns // ($end - $start))::BIGINT,
            ((until_ns - 1 - $start) * $columns // ($end - $start))::BIGINT + 1)) AS place
            FROM moves WHERE operation_code = $move AND until_ns > start_ns AND bytes > 0),
            cells AS (SELECT rank, place, sum(bytes * part / (until_ns - start_ns)) / sum(part)
            * 1e9 AS rate FROM (SELECT *,
            least(until_ns, $start + (place + 1) * ($end - $start) / $columns)
            - greatest(start_ns, $start + place * ($end - $start) / $columns) AS part FROM placed)
            WHERE part > 0 GROUP BY rank, place),
            rows AS (SELECT unnest($first::BIGINT[]) AS low,
            unnest(range(len($first::BIGINT[]))) AS row)
            SELECT row, place, min(rate) AS rate FROM cells ASOF JOIN rows ON cells.rank >= rows.low
            GROUP BY row, place""",
            {
                "sync": sync,
                "move": move,
                "start": start,
                "end": end,
                "columns": columns,
                "first": first,
            },
        ).fetchnumpy()
        rates = np.full((len(first), columns), np.nan)
        inside = np.asarray(found["place"]) < columns
        at = (np.asarray(found["row"])[inside], np.asarray(found["place"])[inside])
        rates[at] = np.asarray(found["rate"])[inside]
        return np.linspace(start * 1e-9, end * 1e-9, columns + 1), rates

    def rank_times(self, repetitions: list[int]) -> RankTimes:
        """Returns each rank's time by kind: summed over a repetition, then the median over them."""
        sums = ", ".join(
            f"sum(CASE WHEN operation_code = {OPERATION_NAMES.index(name)} "
            f"THEN end_ns - start_ns ELSE 0 END) * 1e-9 AS {name}_s"
            for name in TRANSFERS
        )
        transfers = ", ".join(str(OPERATION_NAMES.index(name)) for name in TRANSFERS)
        columns = self._run(
            f"""WITH each AS (SELECT rank, repetition, {sums},
            sum(CASE WHEN operation_code IN ({transfers}) THEN foreground_ns ELSE 0 END) * 1e-9
            AS foreground_s, sum(barrier_wait_ns) * 1e-9 AS barrier_s,
            sum(token_wait_ns) * 1e-9 AS token_s
            FROM events WHERE list_contains(?::INTEGER[], repetition) GROUP BY rank, repetition)
            SELECT rank, median(read_s) AS read, median(write_s) AS write, median(sync_s) AS sync,
            median(foreground_s) AS foreground, median(barrier_s) AS barrier_wait,
            median(token_s) AS token_wait FROM each GROUP BY rank ORDER BY rank""",
            [repetitions],
        ).fetchnumpy()
        return RankTimes(**{name: np.asarray(column) for name, column in columns.items()})
