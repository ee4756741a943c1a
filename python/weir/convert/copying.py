"""Copies arrays from one file to a new one, with several threads in bounded memory.

The new file has a temporary name until everything is written and durable. After a failure or an
interrupt the threads finish their present tile and the new file is removed. A reader therefore
finds either the whole new file or what was there before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from weir._core.files import FileHandle
from weir.convert.file_threads import run_in_threads
from weir.convert.target import (
    ConversionError,
    Layout,
    chosen_arrays,
    description,
    format_of,
    is_fill_left_out,
    lost,
    unreadable,
)
from weir.convert.text import TEXT_BYTES, StoredForm, stored_forms
from weir.convert.tiles import Tile, tile_shape, tiles

if TYPE_CHECKING:
    from weir.files import StoredArray, StoredFile

LARGEST_TILE = 32 << 20
"""Limit for a tile in bytes; larger tiles are not faster."""


@dataclass(frozen=True)
class Progress:
    """How far a conversion has come, in bytes."""

    bytes_done: int
    bytes_in_all: int


@dataclass(frozen=True)
class _Work:
    """A tile of an array, with the array's number in the new file."""

    number: int
    array: StoredArray
    tile: Tile
    form: StoredForm


def convert(
    source: StoredFile,
    target: Path,
    *,
    file_format: str | None = None,
    layout: Layout | None = None,
    arrays: Sequence[str] = (),
    skip_unreadable: bool = False,
    overwrite: bool = False,
    workers: int = 2,
    memory_bytes: int = 256 << 20,
    tell: Callable[[Progress], None] | None = None,
    name_line: Callable[[str], None] | None = None,
) -> Progress:
    """Writes all arrays of `source`, or the named ones, into the new file `target`.

    An existing file is replaced; an existing Zarr folder only with `overwrite`. Threads together
    hold at most `memory_bytes` of elements, or one chunk of the target each if that is more. In
    addition each has two buffers of 4 MiB, or of the size of one encoded chunk. `tell` is called
    from this thread about ten times a second.

    Arrays that cannot be read, and attributes that cannot be read or that the target's format
    cannot store, are an error unless `skip_unreadable` leaves them out. `name_line` is called with
    a line for each thing left out, and for each attribute whose numbers have another type in the
    target. A source that was opened with ``verify="touched"`` is verified completely if it has
    checksums.

    Raises ConversionError, and weir.Error if a file cannot be read or written; the target is then
    as it was.
    """
    name = format_of(target, file_format)
    if target.exists() and target.samefile(source.path):
        message = f"{target} is the source itself: give another name"
        raise ConversionError(message)
    if source.verify == "touched" and (damage := source.handle.sums()[2]):
        message = f"{damage}: remove that file to convert data that cannot be verified"
        raise ConversionError(message)
    chosen = chosen_arrays(source, arrays, skip_unreadable=skip_unreadable)
    try:
        forms = stored_forms(chosen, name)
    except ValueError as error:
        raise ConversionError(str(error)) from error
    described = {**description(source, forms, name, layout or Layout()), "replace": overwrite}
    made = FileHandle.create(target, name, described)
    try:
        lines = lost(source, chosen, name, made.description)
        if not arrays:
            lines += [f"{one} is left out: {why}" for one, why in unreadable(source).items()]
        if lines and not skip_unreadable:
            others = f" ({len(lines)} in all)" if len(lines) > 1 else ""
            message = (
                f"{source.path}: not all attributes can be kept in {target}: "
                f"{lines[0]}{others}: leave them out with --skip-unreadable"
            )
            raise ConversionError(message, lines)
        fills = (
            f"{one.name}: its fill value is left out: it would be as long as the longest text"
            for one in chosen
            if is_fill_left_out(one, forms[one.name])
        )
        for line in (*lines, *fills, *map(_retyped_line, made.description["retyped"])):
            if name_line:
                name_line(line)
        progress = _copy(chosen, made, forms, max(1, workers), memory_bytes, tell)
        made.commit()
    finally:
        made.close()
    return progress


def _retyped_line(one: Mapping[str, str]) -> str:
    owner = f"{one['owner']}: " if one["owner"] else ""
    return f"{owner}attribute {one['name']!r} has another type: {one['reason']}"


def _copy(
    chosen: Sequence[StoredArray],
    made: FileHandle,
    forms: Mapping[str, StoredForm],
    workers: int,
    memory_bytes: int,
    tell: Callable[[Progress], None] | None,
) -> Progress:
    in_all = sum(array.nbytes for array in chosen)
    most = min(LARGEST_TILE, max(1, memory_bytes // workers))
    waiting = _one_at_a_time(_work(chosen, made, forms, most))
    done = [0] * workers
    stop = threading.Event()
    failures: list[BaseException] = []

    def work(worker: int) -> None:
        room = np.empty(0, np.uint8)
        try:
            while not stop.is_set() and (item := waiting()) is not None:
                array, tile, form = item.array, item.tile, item.form
                size = int(np.prod(tile.shape)) * array.dtype.itemsize
                if array.dtype.hasobject:
                    memory = np.empty(tile.shape, object)
                else:
                    if room.size < size:
                        room = np.empty(size, np.uint8)
                    memory = room[:size].view(array.dtype).reshape(tile.shape)
                array.read_into(memory, tile.key)
                extents = form.extents(tile.shape)
                made.write(
                    item.number, form.start(tile.start), extents, [1] * len(extents),
                    form.elements(memory),
                )  # fmt: skip
                done[worker] += size
        except BaseException as failure:
            failures.append(failure)
            stop.set()

    run_in_threads(work, workers, stop, lambda: tell(Progress(sum(done), in_all)) if tell else None)
    if failures:
        raise failures[0]
    return Progress(sum(done), in_all)


def _work(
    chosen: Sequence[StoredArray], made: FileHandle, forms: Mapping[str, StoredForm], most: int
) -> Iterator[_Work]:
    laid_out = {one["name"]: (number, one) for number, one in enumerate(made.description["arrays"])}
    for array in chosen:
        number, there = laid_out[array.name]
        unit = there["shards"] or there["chunks"]
        form = forms[array.name]
        size = array.dtype.itemsize
        if array.dtype.hasobject:
            size = TEXT_BYTES + form.dtype.itemsize * (form.length or 1)
        shape = tile_shape(array.shape, size, unit, array.chunks, most)
        for tile in tiles(array.shape, shape):
            yield _Work(number, array, tile, form)


def _one_at_a_time(items: Iterator[_Work]) -> Callable[[], _Work | None]:
    """Returns a function that gives the next item to any thread, and None after the last."""
    lock = threading.Lock()

    def following() -> _Work | None:
        with lock:
            return next(items, None)

    return following
