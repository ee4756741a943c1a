"""Reads a file completely, with several threads in bounded memory, and reports what is wrong.

Reading verifies the checksums of chunks, if the format has any, and that every byte of an array
exists. Before that, the checksums beside the file, in PATH.sums, are verified block by block.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import weir
from weir._core.files import unfinished
from weir._core.shared_library import LibraryError
from weir.convert.file_threads import run_in_threads
from weir.convert.text import TEXT_BYTES
from weir.convert.tiles import Tile, tile_shape, tiles

if TYPE_CHECKING:
    from weir.files import StoredArray, StoredFile

LARGEST_TILE = 8 << 20
"""Bytes that a thread reads at once; one chunk if that is more."""
LINES_OF_AN_ARRAY = 8


@dataclass(frozen=True)
class Progress:
    """How far a check has come."""

    bytes_done: int
    bytes_in_all: int


@dataclass
class Report:
    """The results of a check."""

    findings: list[str] = field(default_factory=list)
    """One line for each thing that is wrong."""
    not_checked: list[str] = field(default_factory=list)
    """One line, with the reason, for each array that Weir cannot read, but that is undamaged."""
    absent: list[str] = field(default_factory=list)
    """One line for each array with chunks that no file contains; they read as its fill value."""
    without_sums: int = 0
    """Number of arrays that were read and have no checksums; changed bytes in them go unnoticed."""
    left_out: list[str] = field(default_factory=list)
    """One line for each attribute that Weir cannot represent; the file is not damaged."""
    file_format: str | None = None
    """Name of the format; None if the file cannot be opened."""
    arrays: int = 0
    steps: int | None = None
    """Number of committed steps; None if no array grows."""
    bytes_read: int = 0
    bytes_verified: int = 0
    """Bytes verified by the checksums beside the file."""


def check(
    path: Path,
    *,
    read: bool = True,
    workers: int = 2,
    tell: Callable[[Progress], None] | None = None,
) -> Report:
    """Looks for what killed runs left and reads all arrays; the report contains all problems.

    Each thread holds a tile of 8 MiB or one chunk, and a buffer of 4 MiB or of one encoded chunk.
    `tell` is called from this thread about ten times a second.
    """
    report = Report()
    try:
        report.findings += unfinished(path)
        if not path.exists() and report.findings:
            return report
        # Blocks were verified before: verifying them again would report the same block for each
        # element.
        with weir.open(path, verify="none") as file:
            report.file_format = file.format
            report.arrays = len(file.arrays)
            report.steps = file.steps
            report.not_checked = [
                f"{name}: {why}"
                for name, why in file.refused.items()
                if f"array {name}: {why}" not in report.findings
            ]
            left = _look_for_missing(file, report)
            report.left_out = file.left_out
            if read:
                _read_all(file, left, workers, report, tell)
    except LibraryError:
        raise  # is no fault of the file
    except weir.Error as error:
        report.findings.append(str(error))
    return report


def _read_all(
    file: StoredFile,
    left: dict[str, int],
    workers: int,
    report: Report,
    tell: Callable[[Progress], None] | None,
) -> None:
    work = _Work(file, left, report, workers)
    run_in_threads(work.run, workers, work.stop, lambda: tell(work.progress()) if tell else None)
    if work.broken:
        raise work.broken[0]
    if tell:
        tell(work.progress())
    work.report_rest()
    if not work.summed:
        report.without_sums = sum(
            not _SUMMING & {codec.partition(":")[0] for codec in (array.codecs or "").split(",")}
            for array in file.arrays.values()
        )


class _Work:
    """The work that threads share: first the blocks that have checksums, then all elements."""

    def __init__(
        self, file: StoredFile, left: dict[str, int], report: Report, workers: int
    ) -> None:
        self.file = file
        self.report = report
        self.parts, self.summed, damage = file.handle.sums()
        if damage:
            report.findings.append(damage)
        self.in_all = self.summed + sum(
            math.prod(_left_of(array, left)) * array.dtype.itemsize
            for array in file.arrays.values()
        )
        self.unverified = iter(range(self.parts))
        self.items = _items(file, left)
        self.lock = threading.Lock()
        self.stop = threading.Event()
        self.read = [0] * workers
        self.verified = [0] * workers  # In parts.
        self.failed: Counter[str] = Counter()  # By array name; "" counts blocks.
        self.broken: list[BaseException] = []

    def progress(self) -> Progress:
        verified = self.summed * sum(self.verified) // max(1, self.parts)
        return Progress(sum(self.read) + verified, self.in_all)

    def run(self, worker: int) -> None:
        room = np.empty(0, np.uint8)
        try:
            while not self.stop.is_set() and (item := self._following()) is not None:
                if isinstance(item, int):
                    self._verify(item)
                    self.verified[worker] += 1
                    continue
                array, tile = item
                size = int(np.prod(tile.shape, dtype=object)) * array.dtype.itemsize
                if room.size < size:
                    room = np.empty(size, np.uint8)
                try:
                    if array.dtype.hasobject:
                        array[tile.key]
                    else:
                        array.read_into(room[:size].view(array.dtype).reshape(tile.shape), tile.key)
                except weir.Error as error:
                    self._note(array.name, f"array {array.name}: {error}")
                self.read[worker] += size
        except BaseException as failure:
            self.broken.append(failure)
            self.stop.set()

    def report_rest(self) -> None:
        for name, count in self.failed.items():
            if (more := count - LINES_OF_AN_ARRAY) > 0:
                self.report.findings.append(
                    f"array {name}: {more} more of its parts cannot be read"
                    if name
                    else f"{more} more blocks differ from the written data"
                )
        self.report.bytes_read = sum(self.read)
        self.report.bytes_verified = self.summed

    def _following(self) -> int | tuple[StoredArray, Tile] | None:
        with self.lock:
            part = next(self.unverified, None)
            return next(self.items, None) if part is None else part

    def _verify(self, part: int) -> None:
        try:
            for line in self.file.handle.verify(part):
                self._note("", line)
        except weir.Error as error:
            self._note("", str(error))

    def _note(self, name: str, line: str) -> None:
        with self.lock:
            self.failed[name] += 1
            if self.failed[name] <= LINES_OF_AN_ARRAY:
                self.report.findings.append(line)


_SUMMING = {"crc32c", "fletcher32", "zstd"}
"""Codecs whose decoder detects changed bytes."""


def _look_for_missing(file: StoredFile, report: Report) -> dict[str, int]:
    """Reports what no file contains; returns how many first indices of truncated arrays are left.

    Missing chunks are legal. A file from which some were removed is legal too.
    """
    left = {}
    for name, array in file.arrays.items():
        missing = array.missing()
        if missing.lost:
            report.findings.append(f"array {name}: {missing.damage}")
        if missing.unwritten:
            report.absent.append(
                f"array {name}: {missing.parts - missing.unwritten} of {missing.parts} chunks "
                "are in the file; the others read as the fill value"
            )
        if missing.lost and array.chunks is None:
            left[name] = missing.parts - missing.lost
    return left


def _items(file: StoredFile, left: dict[str, int]) -> Iterator[tuple[StoredArray, Tile]]:
    for array in file.arrays.values():
        size = TEXT_BYTES if array.dtype.hasobject else array.dtype.itemsize
        extents = _left_of(array, left)
        shape = tile_shape(extents, size, array.chunks, array.chunks, LARGEST_TILE)
        for tile in tiles(extents, shape):
            yield array, tile


def _left_of(array: StoredArray, left: dict[str, int]) -> tuple[int, ...]:
    """Returns the extents to read; reading the lost part would give an error for each tile."""
    if array.name not in left:
        return array.shape
    return (left[array.name], *array.shape[1:]) if array.shape else (0,)
