"""Reading a file whole, by several threads in bounded memory, and naming what is wrong with it.

Reading verifies the checksums of chunks where the format keeps some, and that every byte of an
array is there. Those beside the file, in PATH.sums, are verified before: block by block.
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
from weir.convert.text import TEXT_BYTES
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
    """A line for each array that Weir cannot read, and that is not damaged, with the reason."""
    absent: list[str] = field(default_factory=list)
    """A line for each array of which chunks are in no file, and read as its fill value."""
    without_sums: int = 0
    """Arrays that were read and have no checksums: changed bytes cannot be seen in them."""
    left_out: list[str] = field(default_factory=list)
    """A line for each attribute that Weir has no value for; nothing is wrong with the file."""
    file_format: str | None = None
    """None where the file does not open."""
    arrays: int = 0
    steps: int | None = None
    """Committed steps; None where no array grows."""
    bytes_read: int = 0
    bytes_verified: int = 0
    """By checksums beside the file."""


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
        # Blocks are verified once, before: an element's read would name the same one again.
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
    threads = [threading.Thread(target=work.run, args=(number,)) for number in range(workers)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.1)
                if tell:
                    tell(work.progress())
    finally:
        work.stop.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
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
    """What the threads share: first the blocks that have checksums, then all elements."""

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
        self.verified = [0] * workers  # parts
        self.failed: Counter[str] = Counter()  # "": blocks
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
                    f"array {name}: {more} more parts of it cannot be read"
                    if name
                    else f"{more} more blocks are not what was written"
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
"""Codecs whose decoding notices changed bytes."""


def _look_for_missing(file: StoredFile, report: Report) -> dict[str, int]:
    """Names what is in no file; by array, how many first indices of a file that was cut are left.

    That chunks are missing is legal, and what removing some leaves, too.
    """
    left = {}
    for name, array in file.arrays.items():
        missing = array.missing()
        if missing.lost:
            report.findings.append(f"array {name}: {missing.damage}")
        if missing.unwritten:
            report.absent.append(
                f"array {name}: {missing.parts - missing.unwritten} of {missing.parts} chunks are "
                "there; the others read as the fill value"
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
    """The extents to read: what a cut file has lost would be an error for each tile."""
    if array.name not in left:
        return array.shape
    return (left[array.name], *array.shape[1:]) if array.shape else (0,)
