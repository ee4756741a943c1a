"""Reading a file whole, by several threads in bounded memory, and naming what is wrong with it.

Reading verifies the checksums of chunks where the format keeps some, and that every byte of an
array is there.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import weir
from weir._core.files import unfinished
from weir.convert.tiles import Tile, tile_shape, tiles

if TYPE_CHECKING:
    from weir.files import StoredArray, StoredFile

LARGEST_TILE = 8 << 20
"""Bytes that a thread reads at once; one chunk where that is more."""
LINES_OF_AN_ARRAY = 8


@dataclass(frozen=True)
class Progress:
    """How far a check is."""

    bytes_done: int
    bytes_in_all: int


@dataclass
class Report:
    """What a check found."""

    findings: list[str] = field(default_factory=list)
    """A line for each thing that is wrong."""
    not_checked: list[str] = field(default_factory=list)
    """A line for each array that Weir cannot read, with the reason."""
    file_format: str | None = None
    """None where the file does not open."""
    arrays: int = 0
    steps: int | None = None
    """Committed steps; None where no array grows."""
    bytes_read: int = 0


def check(
    path: Path,
    *,
    read: bool = True,
    workers: int = 2,
    tell: Callable[[Progress], None] | None = None,
) -> Report:
    """Looks for what killed runs left and reads all arrays; whatever is wrong is in the report.

    Each thread holds a tile of 8 MiB or one chunk, and a buffer of 4 MiB or one encoded chunk.
    `tell` is called from this thread about ten times a second.
    """
    report = Report()
    try:
        report.findings += unfinished(path)
        if not path.exists() and report.findings:
            return report
        with weir.open(path) as file:
            report.file_format = file.format
            report.arrays = len(file.arrays)
            report.steps = file.steps
            report.not_checked = [f"{name}: {why}" for name, why in file.refused.items()]
            if read:
                report.bytes_read = _read_all(file, workers, report.findings, tell)
    except weir.Error as error:
        report.findings.append(str(error))
    return report


def _read_all(
    file: StoredFile,
    workers: int,
    findings: list[str],
    tell: Callable[[Progress], None] | None,
) -> int:
    in_all = sum(array.nbytes for array in file.arrays.values())
    items = _items(file)
    lock = threading.Lock()
    stop = threading.Event()
    done = [0] * workers
    failed: Counter[str] = Counter()
    broken: list[BaseException] = []

    def following() -> tuple[StoredArray, Tile] | None:
        with lock:
            return next(items, None)

    def note(name: str, reason: str) -> None:
        with lock:
            failed[name] += 1
            if failed[name] <= LINES_OF_AN_ARRAY:
                findings.append(f"array {name}: {reason}")

    def work(worker: int) -> None:
        room = np.empty(0, np.uint8)
        try:
            while not stop.is_set() and (item := following()) is not None:
                array, tile = item
                size = int(np.prod(tile.shape, dtype=object)) * array.dtype.itemsize
                if room.size < size:
                    room = np.empty(size, np.uint8)
                try:
                    array.read_into(room[:size].view(array.dtype).reshape(tile.shape), tile.key)
                except weir.Error as error:
                    note(array.name, str(error))
                done[worker] += size
        except BaseException as failure:
            broken.append(failure)
            stop.set()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.1)
                if tell:
                    tell(Progress(sum(done), in_all))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if broken:
        raise broken[0]
    if tell:
        tell(Progress(sum(done), in_all))
    findings += [
        f"array {name}: {count - LINES_OF_AN_ARRAY} more parts of it cannot be read"
        for name, count in failed.items()
        if count > LINES_OF_AN_ARRAY
    ]
    return sum(done)


def _items(file: StoredFile) -> Iterator[tuple[StoredArray, Tile]]:
    for array in file.arrays.values():
        shape = tile_shape(
            array.shape, array.dtype.itemsize, array.chunks, array.chunks, LARGEST_TILE
        )
        for tile in tiles(array.shape, shape):
            yield array, tile
