"""Where the files of a run lay: ``files.parquet`` of its folder, and the table ``files`` of SQL.

====================  ========  ==================================================================
column                type      meaning
====================  ========  ==================================================================
repetition            INTEGER   index as in ``run.json``
path                  VARCHAR   the file, which is gone
rank                  INTEGER   the rank whose data it had; NULL for a file of all ranks
from_byte, to_byte    BIGINT    the part of the file; -1: its end
stripe_bytes          BIGINT    stripes of so many bytes lie on the part's targets in turn; 0: all
                                of it is on one
stripe                INTEGER   the number of the target in this order
target, server        VARCHAR   as the file system calls them; the server may be NULL
copies                INTEGER   number of targets that hold each byte; the first one is named
====================  ========  ==================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weir.results.errors import ResultError
from weir.results.events import PLACEMENTS_FILE

PLACEMENT_COLUMNS = {
    "repetition": "INTEGER",
    "path": "VARCHAR",
    "rank": "INTEGER",
    "from_byte": "BIGINT",
    "to_byte": "BIGINT",
    "stripe_bytes": "BIGINT",
    "stripe": "INTEGER",
    "target": "VARCHAR",
    "server": "VARCHAR",
    "copies": "INTEGER",
}


class Placement(NamedTuple):
    """A row: one stripe of a part of a file."""

    repetition: int
    path: str
    rank: int | None
    from_byte: int
    to_byte: int
    stripe_bytes: int
    stripe: int
    target: str
    server: str | None
    copies: int


def write_placements(folder: Path, rows: Sequence[Placement]) -> None:
    """Writes the file, which gets its name only when it is complete."""
    import duckdb  # noqa: PLC0415 (a fifth of the start of a command that needs none)

    target = folder / PLACEMENTS_FILE
    unfinished = folder / f".{PLACEMENTS_FILE}.unfinished"
    declared = ", ".join(f"{name} {kind}" for name, kind in PLACEMENT_COLUMNS.items())
    name = str(unfinished).replace("'", "''")
    try:
        with duckdb.connect() as connection:
            connection.execute(f"CREATE TABLE files ({declared})")
            columns = list(zip(*rows, strict=True))
            lists = ", ".join(f"unnest(?::{kind}[])" for kind in PLACEMENT_COLUMNS.values())
            connection.execute(f"INSERT INTO files SELECT {lists}", [list(one) for one in columns])
            connection.execute(f"COPY files TO '{name}' (FORMAT parquet, COMPRESSION zstd)")
        unfinished.replace(target)
    except (OSError, duckdb.Error) as error:
        raise ResultError(f"{target} cannot be written: {str(error).splitlines()[0]}") from None
    finally:
        unfinished.unlink(missing_ok=True)


def read_placements(folder: Path) -> list[Placement]:
    """Returns the rows of a run folder; none if it has no such file."""
    import duckdb  # noqa: PLC0415

    file = folder / PLACEMENTS_FILE
    if not file.is_file():
        return []
    names = ", ".join(PLACEMENT_COLUMNS)
    try:
        with duckdb.connect() as connection:
            sql = f"SELECT {names} FROM read_parquet(?)"
            return [Placement(*row) for row in connection.execute(sql, [str(file)]).fetchall()]
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise ResultError(f"{file} cannot be read: {reason}") from None


class Used(NamedTuple):
    """What transfers used: for each the place of its file and target in the lists, or -1.

    A transfer that lies on several targets has -1 as its target.
    """

    files: list[str]
    file_of: NDArray[np.int64]
    targets: list[str]
    target_of: NDArray[np.int64]
    servers: dict[str, str | None]


def used_by(
    rows: Sequence[Placement],
    repetition: NDArray[np.int64],
    rank: NDArray[np.int64],
    offset: NDArray[np.int64],
    size: NDArray[np.int64],
) -> Used:
    """Returns which file and target each transfer used; ``repetition`` has indices of run.json."""
    files = sorted({row.path for row in rows})
    targets = sorted({row.target for row in rows})
    place_of_file = {name: place for place, name in enumerate(files)}
    place_of_target = {name: place for place, name in enumerate(targets)}
    file_of = np.full(len(rank), -1, dtype=np.int64)
    target_of = np.full(len(rank), -1, dtype=np.int64)
    parts: dict[tuple[int, str, int | None, int, int, int], dict[int, int]] = {}
    for row in rows:
        key = (row.repetition, row.path, row.rank, row.from_byte, row.to_byte, row.stripe_bytes)
        parts.setdefault(key, {})[row.stripe] = place_of_target[row.target]
    order = np.lexsort((rank, repetition))
    keys = repetition[order] * (int(rank.max(initial=0)) + 1) + rank[order]
    for (index, path, whose, since, until, stripe_bytes), stripes in parts.items():
        if whose is None:
            low, high = np.searchsorted(repetition[order], [index, index + 1])
        else:
            place = index * (int(rank.max(initial=0)) + 1) + whose
            low, high = np.searchsorted(keys, [place, place + 1])
        chosen = order[low:high]
        end = np.iinfo(np.int64).max if until < 0 else until
        chosen = chosen[(offset[chosen] >= since) & (offset[chosen] < end)]
        file_of[chosen] = place_of_file[path]
        of = np.array([stripes[number] for number in sorted(stripes)], dtype=np.int64)
        if not stripe_bytes or len(of) == 1:
            target_of[chosen] = of[0]
            continue
        first = (offset[chosen] - since) // stripe_bytes
        last = (offset[chosen] + np.maximum(size[chosen], 1) - 1 - since) // stripe_bytes
        alone = (first == last) & (offset[chosen] + size[chosen] <= end)
        target_of[chosen] = np.where(alone, of[first % len(of)], -1)
    servers = {row.target: row.server for row in rows}
    return Used(files, file_of, targets, target_of, servers)
