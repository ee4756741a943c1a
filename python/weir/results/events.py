"""The events of a run: every operation of every rank.

``weir-bench`` leaves ``events/``, one NumPy file per column. Finalizing turns them into the file
``events.parquet``, which all other parts of Weir read. Row order is kept.

====================  ========  ==================================================================
column                type      meaning
====================  ========  ==================================================================
rank                  INTEGER   MPI rank
repetition            INTEGER   index as in ``run.json``, warm-ups included
function              VARCHAR   ``S D W C`` of MADbench, ``write read``, ``checkpoint plot`` of
                                flash, the first also of s3d (``events/`` holds 0 to 7)
operation             VARCHAR   ``read write sync compute remap`` (``events/`` holds 0 to 4)
bin                   INTEGER   number of the matrix, of the transfer among the rank's data, or of
                                the file
gang                  INTEGER   gang number, 0 without gangs
start_ns, end_ns      BIGINT    rank 0's clock, nanoseconds since the start of the run
foreground_ns         BIGINT    time the rank was blocked by this operation
bytes                 BIGINT    useful bytes, 0 for sync, compute and remap
offset_bytes          BIGINT    where in the file
barrier_wait_ns       BIGINT    waiting for other ranks after the operation
token_wait_ns         BIGINT    waiting for the RMOD/WMOD token before it
====================  ========  ==================================================================
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from weir.results.errors import ResultError

if TYPE_CHECKING:
    import duckdb

Column = NDArray[Any]

COLUMN_TYPES: dict[str, str] = {
    "rank": "int32",
    "repetition": "int32",
    "function": "int8",
    "operation": "int8",
    "bin": "int32",
    "gang": "int32",
    "start_ns": "int64",
    "end_ns": "int64",
    "foreground_ns": "int64",
    "bytes": "int64",
    "offset_bytes": "int64",
    "barrier_wait_ns": "int64",
    "token_wait_ns": "int64",
}
SQL_TYPES = {"int8": "VARCHAR", "int32": "INTEGER", "int64": "BIGINT"}
FUNCTION_NAMES = ("S", "D", "W", "C", "write", "read", "checkpoint", "plot")
OPERATION_NAMES = ("read", "write", "sync", "compute", "remap")

COLUMNS_FOLDER = "events"
PARQUET_FILE = "events.parquet"
SAMPLES_FILE = "monitor.parquet"
"""What a monitor beside the job has sampled (``weir.monitor.samples``), on the same clock."""
PLACEMENTS_FILE = "files.parquet"
"""Where the files lay while the job ran (``weir.results.placements``)."""
ROWS_AT_A_TIME = 500_000
MEMORY_LIMIT = "512MB"


def write_event_columns(folder: Path, columns: dict[str, Column]) -> None:
    """Write ``folder/events/COLUMN.npy`` as ``weir-bench`` does."""
    lengths = {name: len(columns[name]) for name in COLUMN_TYPES}
    if len(set(lengths.values())) != 1:
        raise ResultError(f"event columns differ in length: {lengths}")
    target = folder / COLUMNS_FOLDER
    target.mkdir(parents=True, exist_ok=True)
    for name, dtype in COLUMN_TYPES.items():
        np.save(target / f"{name}.npy", np.ascontiguousarray(columns[name], dtype=dtype))


def map_event_columns(folder: Path) -> dict[str, Column]:
    """Map ``folder/events/`` into memory after checking names, types and lengths."""
    source = folder / COLUMNS_FOLDER
    columns: dict[str, Column] = {}
    for name, dtype in COLUMN_TYPES.items():
        file = source / f"{name}.npy"
        try:
            column = np.load(file, mmap_mode="r", allow_pickle=False)
        except FileNotFoundError:
            raise ResultError(f"{file} is missing: the run's events are not complete") from None
        except (OSError, ValueError, EOFError) as error:
            raise ResultError(f"{file} is no readable NumPy column: {error}") from None
        if column.ndim != 1 or column.dtype != np.dtype(dtype):
            raise ResultError(
                f"{file} holds {column.dtype} of {column.ndim} dimensions, expected 1-D {dtype}"
            )
        columns[name] = column
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        raise ResultError(f"the columns in {source} differ in length: {lengths}")
    for name, names in (("function", FUNCTION_NAMES), ("operation", OPERATION_NAMES)):
        codes = columns[name]
        if len(codes) and (int(codes.min()) < 0 or int(codes.max()) >= len(names)):
            raise ResultError(f"{source / name}.npy holds codes outside 0 to {len(names) - 1}")
    return columns


def finalize_events(folder: Path) -> Path:
    """Turn ``folder/events/`` into ``folder/events.parquet`` in bounded memory, then remove it.

    The Parquet file gets its name only when it is complete. An interruption therefore leaves either
    the columns or both, and finalizing again completes it. A folder with finalized events remains
    unchanged.
    """
    parquet = folder / PARQUET_FILE
    if not (folder / COLUMNS_FOLDER).is_dir():
        if parquet.is_file():
            return parquet
        raise ResultError(f"{folder} has neither {COLUMNS_FOLDER}/ nor {PARQUET_FILE}")
    import duckdb  # noqa: PLC0415 (a fifth of the start of a command that needs none)

    columns = map_event_columns(folder)
    scratch = folder / ".events-finalizing.duckdb"
    unfinished = folder / ".events-finalizing.parquet"
    scratch.unlink(missing_ok=True)
    try:
        # Columns of at most one slice stay in memory: a file would take longer than all the rest.
        fits = len(columns["rank"]) <= ROWS_AT_A_TIME
        with duckdb.connect(":memory:" if fits else str(scratch)) as connection:
            connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
            connection.execute("SET preserve_insertion_order = true")
            _insert_in_slices(connection, columns)
            connection.execute(
                f"COPY (FROM events) TO '{_quoted(unfinished)}' "
                "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)"
            )
        unfinished.replace(parquet)
    finally:
        for leftover in (scratch, Path(f"{scratch}.wal"), unfinished):
            leftover.unlink(missing_ok=True)
    shutil.rmtree(folder / COLUMNS_FOLDER)
    return parquet


def _insert_in_slices(connection: duckdb.DuckDBPyConnection, columns: dict[str, Column]) -> None:
    declared = ", ".join(f"{name} {SQL_TYPES[dtype]}" for name, dtype in COLUMN_TYPES.items())
    connection.execute(f"CREATE TABLE events ({declared})")
    decoded = {"function": FUNCTION_NAMES, "operation": OPERATION_NAMES}
    selected = ", ".join(
        f"{list(decoded[name])}[{name} + 1]" if name in decoded else name for name in COLUMN_TYPES
    )
    rows = len(columns["rank"])
    for first in range(0, rows, ROWS_AT_A_TIME):
        part = {
            name: np.array(column[first : first + ROWS_AT_A_TIME])
            for name, column in columns.items()
        }
        connection.register("part", part)
        connection.execute(f"INSERT INTO events SELECT {selected} FROM part")
        connection.unregister("part")


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
