"""An in-memory database over all run folders below a root, for SQL.

It is built from the folders each time it is opened. It is therefore never stale, needs no lock on a
parallel file system, and works on read-only folders. Reading a ``run.json`` takes a few
milliseconds; only queries that use events read their Parquet files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.results import path_tables, tables
from weir.results.campaign import Campaign, made_for
from weir.results.changes import changes_of
from weir.results.columns import Row
from weir.results.errors import ResultError
from weir.results.events import (
    COLUMN_TYPES,
    PARQUET_FILE,
    PLACEMENTS_FILE,
    SAMPLES_FILE,
    SQL_TYPES,
)
from weir.results.folder import load_run
from weir.results.monitor_records import SAMPLE_COLUMNS
from weir.results.path_tables import path_files, rows_of_file
from weir.results.placements import PLACEMENT_COLUMNS
from weir.results.store import place_at, run_folders_at
from weir.results.tables import VIEWS, rows_of, rows_of_campaign

if TYPE_CHECKING:
    import duckdb

MEMORY_LIMIT = "1GB"
ROWS_PER_INSERT = 100_000
EXPORTS = {
    ".csv": "FORMAT csv, HEADER true",
    ".json": "FORMAT json, ARRAY true",
    ".parquet": "FORMAT parquet, COMPRESSION zstd",
}
"""Formats of exported files by the ending of their names."""
FILE_VIEWS = {
    "events": (PARQUET_FILE, {name: SQL_TYPES[kind] for name, kind in COLUMN_TYPES.items()}),
    "monitor": (SAMPLES_FILE, SAMPLE_COLUMNS),
    "files": (PLACEMENTS_FILE, PLACEMENT_COLUMNS),
}
"""The views over Parquet files of runs: the file's name, and its columns with their types."""
TABLES = {**tables.TABLES, **path_tables.TABLES}
"""The types of the columns of each table."""
LONG_COLUMNS = tables.LONG_COLUMNS | path_tables.LONG_COLUMNS
"""Columns whose cells contain pages of text."""
ALL_FIGURES = "SELECT * FROM runs JOIN series USING (run_id) ORDER BY started_utc, run_id, name"


@dataclass(frozen=True)
class Answer:
    """The result of a query: column names and rows of Python values."""

    columns: list[str]
    rows: list[tuple[Any, ...]]


def open_index(
    root: Path, warn: Callable[[str], None], *, whole: bool, beside: Sequence[Path] = ()
) -> duckdb.DuckDBPyConnection:
    """Returns a connection to the database: ``TABLES``, ``VIEWS``, and the views over files.

    These are ``events``, ``monitor`` and ``files``, whose Parquet files only their queries read.
    Probes and platforms are also taken from the folders ``beside``.

    A folder with an invalid ``run.json`` is left out. Of several folders with one id, the first is
    taken that was not changed. ``warn`` is called with one line for each folder that is left out,
    and for each figure or file of a run that was changed. With ``whole``, all bytes of the Parquet
    files are compared with their hashes.
    """
    import duckdb  # noqa: PLC0415 (a fifth of the start of a command that needs none)

    campaigns: dict[Path, Campaign] = {}
    taken = _taken_runs(root, warn, campaigns, whole=whole)
    rows: dict[str, list[Row]] = {name: [] for name in TABLES}
    for folder, campaign in campaigns.items():
        rows["campaigns"] += rows_of_campaign(place_at(root, folder), campaign)
    for path in path_files(root, beside):
        try:
            of_file = rows_of_file(root, path)
        except ResultError as error:
            warn(f"left out: {error}")
            continue
        for table, added in of_file.items():
            rows[table].extend(added)
    files: dict[str, list[tuple[str, str]]] = {file: [] for file, _ in FILE_VIEWS.values()}
    for run_id, (folder, _, of_run) in taken.items():
        for table, added in of_run.items():
            rows[table].extend(added)
        for name, known in files.items():
            if (folder / name).is_file():
                known.append((str(folder / name), run_id))
    connection = duckdb.connect()
    connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
    for table, columns in TABLES.items():
        _create_table(connection, table, columns, rows[table])
    for view, selected in VIEWS.items():
        connection.execute(f"CREATE VIEW {view} AS {selected}")
    for view, (file, columns) in FILE_VIEWS.items():
        try:
            _create_file_view(connection, view, columns, files[file])
        except duckdb.Error as error:
            raise ResultError(f"one {file} cannot be read: {_first_lines(error)}") from None
    return connection


def _taken_runs(
    root: Path, warn: Callable[[str], None], campaigns: dict[Path, Campaign], *, whole: bool
) -> dict[str, tuple[Path, list[str], dict[str, list[Row]]]]:
    """Returns the folder of each run by id, what of it was changed, and its rows.

    Campaigns for which runs were made are added to ``campaigns``.
    """
    taken: dict[str, tuple[Path, list[str], dict[str, list[Row]]]] = {}
    for folder in run_folders_at(root):
        try:
            run = load_run(folder)
        except ResultError as error:
            warn(f"left out: {error}")
            continue
        made = None
        try:
            made = made_for(folder, campaigns)
        except ResultError as error:
            warn(f"without its factors: {folder}: {error}")
        changes = changes_of(folder, run, whole=whole)
        if run.id in taken:
            copied, of_copied, _ = taken[run.id]
            if changes or not of_copied:
                warn(f"left out: {folder} has the id of {copied}, it is a copy")
                continue
            warn(f"left out: {copied} was changed, and {folder} has the same id and was not")
        for text in changes:
            warn(f"{folder}: {text}")
        taken[run.id] = (
            folder,
            changes,
            rows_of(
                *(run, place_at(root, folder), changes, made),
                campaign=place_at(root, made.folder) if made else None,
            ),
        )
    return taken


def query(
    root: Path, sql: str, warn: Callable[[str], None], *, beside: Sequence[Path] = ()
) -> Answer:
    """Run one SQL statement over the runs below ``root``."""
    import duckdb  # noqa: PLC0415

    with open_index(root, warn, whole=_reads_files(sql), beside=beside) as connection:
        try:
            connection.execute(sql)
            described = connection.description or []
            return Answer([str(column[0]) for column in described], connection.fetchall())
        except duckdb.Error as error:
            raise ResultError(f"the query failed: {_first_lines(error)}") from None


def export(
    root: Path,
    sql: str,
    file: Path,
    warn: Callable[[str], None],
    *,
    beside: Sequence[Path] = (),
) -> int:
    """Writes the answer of a SELECT to a file in the format that its name ends in.

    The file appears as a whole. Returns the number of its rows.
    """
    import duckdb  # noqa: PLC0415

    options = EXPORTS.get(file.suffix)
    if options is None:
        raise ResultError(f"{file} must end in one of {', '.join(EXPORTS)}")
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    target = str(unfinished).replace("'", "''")
    with open_index(root, warn, whole=_reads_files(sql), beside=beside) as connection:
        try:
            selected = sql.strip().rstrip(";")
            connection.execute(f"COPY ({selected}) TO '{target}' ({options})")
            (rows,) = connection.fetchone() or (0,)
            unfinished.replace(file)
        except duckdb.IOException as error:
            raise ResultError(f"{file} cannot be written: {_first_lines(error)}") from None
        except duckdb.Error as error:
            raise ResultError(f"the query failed: {_first_lines(error)}") from None
        except OSError as error:
            raise ResultError(f"{file} cannot be written: {error.strerror}") from None
        finally:
            unfinished.unlink(missing_ok=True)
    return int(rows)


def _reads_files(sql: str) -> bool:
    """Returns whether a statement may read the views over Parquet files."""
    return any(re.search(rf"(?i)\b{view}\b", sql) for view in FILE_VIEWS)


def _first_lines(error: duckdb.Error) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("LINE ", "^"))]
    return " ".join(told[:2])


def _create_table(
    connection: duckdb.DuckDBPyConnection, name: str, columns: dict[str, str], rows: Sequence[Row]
) -> None:
    declared = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
    connection.execute(f"CREATE TABLE {name} ({declared})")
    for first in range(0, len(rows), ROWS_PER_INSERT):
        part = rows[first : first + ROWS_PER_INSERT]
        by_column = zip(*part, strict=True)
        connection.register(
            "part",
            {
                column: np.array([None if v is None else str(v) for v in values], dtype=object)
                for column, values in zip(columns, by_column, strict=True)
            },
        )
        converted = ", ".join(f'"{column}"::{kind}' for column, kind in columns.items())
        connection.execute(f"INSERT INTO {name} SELECT {converted} FROM part")
        connection.unregister("part")


def _create_file_view(
    connection: duckdb.DuckDBPyConnection,
    view: str,
    types: dict[str, str],
    files: Sequence[tuple[str, str]],
) -> None:
    """Creates a view over one Parquet file of each run, with the column ``run_id`` in front."""
    if not files:
        _create_table(connection, view, {"run_id": "VARCHAR", **types}, [])
        return
    origin = f"{view}_files"
    _create_table(connection, origin, {"file": "VARCHAR", "run_id": "VARCHAR"}, list(files))
    literals = ", ".join("'" + file.replace("'", "''") + "'" for file, _ in files)
    selected = ", ".join(f"e.{name}" for name in types)
    connection.execute(
        f"CREATE VIEW {view} AS SELECT f.run_id, {selected} "
        f"FROM read_parquet([{literals}], filename = true) e "
        f"JOIN {origin} f ON f.file = e.filename"
    )
