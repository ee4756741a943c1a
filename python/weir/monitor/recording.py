"""A file of samples that is complete up to its last second, whatever ends the monitor.

It begins with ``MAGIC``; then come frames: length and CRC-32 of what follows, four bytes each, the
lowest first, and a text or columns, compressed by zlib. The first frame is JSON about the monitor,
the last one, where the monitor ended well, JSON about its end. Between them are blocks: the number
of bytes of a JSON text, this text with the counters that the block names first, and columns of
numbers. ``times`` has a row for each sample; the other columns have a row for each counter that has
grown in a sample. A counter without a row has not moved, so that idle targets take no room. The
moments in ``since`` and ``until`` are 0 where the growth is that between two samples.

A block is written at once, at least every second, and the writer holds no other samples.
"""

from __future__ import annotations

import contextlib
import json
import struct
import sys
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from weir.errors import Error
from weir.monitor.counters import Key, Values
from weir.monitor.sampler import SECOND, Sample

MAGIC = b"weir monitor 1\n"
FLUSHED_NS = SECOND
MOST_ROWS = 20_000
"""A block is also written when it has so many rows."""
LONGEST_FRAME = 16 << 20
_FRAME = struct.Struct("<II")
_LENGTH = struct.Struct("<I")
HEADER, BLOCK, END = b"H", b"B", b"E"
COLUMNS = {
    "times": "q",
    "took": "q",
    "cost": "q",
    "sample": "I",
    "counter": "I",
    "since": "q",
    "until": "q",
    "bytes_read": "q",
    "bytes_written": "q",
    "operations": "q",
    "busy_ns": "q",
}


class Writer:
    """Writes samples to a file."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self._stream: BinaryIO = path.open("xb", buffering=0)
        self._stream.write(MAGIC)
        self._frame(HEADER, json.dumps(header).encode())
        self._numbers: dict[Key, int] = {}
        self._began_ns: int | None = None
        self._begin()

    def _begin(self) -> None:
        self._columns = {name: array(code) for name, code in COLUMNS.items()}
        self._new: list[Key] = []

    def add(self, sample: Sample) -> None:
        """Adds a sample; it is in the file at the latest a second later."""
        columns = self._columns
        if self._began_ns is None:
            self._began_ns = sample.at_ns
        for key, values in sample.grown.items():
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = len(self._numbers)
                self._new.append(key)
            columns["sample"].append(len(columns["times"]))
            columns["counter"].append(number)
            since_ns, until_ns = sample.spans.get(key, (0, 0))
            columns["since"].append(since_ns)
            columns["until"].append(until_ns)
            for name, value in zip(Values._fields, values, strict=True):
                columns[name].append(value)
        columns["times"].append(sample.at_ns)
        columns["took"].append(sample.took_ns)
        columns["cost"].append(sample.cost_ns)
        if sample.at_ns - self._began_ns >= FLUSHED_NS or len(columns["counter"]) >= MOST_ROWS:
            self.flush()

    def flush(self) -> None:
        """Writes what was added."""
        if not self._columns["times"]:
            return
        lengths = {name: len(column) for name, column in self._columns.items()}
        text = json.dumps({"new": self._new, "lengths": lengths}).encode()
        columns = b"".join(_lowest_first(column).tobytes() for column in self._columns.values())
        self._frame(BLOCK, _LENGTH.pack(len(text)) + text + columns)
        self._began_ns = None
        self._begin()

    def close(self, end: dict[str, Any]) -> None:
        """Ends the file with what is known at the end."""
        self.flush()
        self._frame(END, json.dumps(end).encode())
        self._stream.close()

    def _frame(self, kind: bytes, content: bytes) -> None:
        packed = kind + zlib.compress(content, 1)
        self._stream.write(_FRAME.pack(len(packed), zlib.crc32(packed)) + packed)


def _lowest_first(column: array[int]) -> array[int]:
    if sys.byteorder == "big":
        column.byteswap()
    return column


@dataclass(frozen=True)
class Block:
    """The samples of a second or so; ``rows`` has sample, counter, its span and growth."""

    times_ns: list[int]
    took_ns: list[int]
    cost_ns: list[int]
    rows: list[tuple[int, Key, tuple[int, int], Values]]


class Reader:
    """Reads a recording, up to the place where its writer was killed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._keys: list[Key] = []
        self.end: dict[str, Any] | None = None
        """What the monitor said at its end; None until all blocks are read, or if it was killed."""
        try:
            self._stream: BinaryIO = path.open("rb")
        except OSError as error:
            raise Error(f"{path} cannot be read: {error.strerror}") from None
        if self._stream.read(len(MAGIC)) != MAGIC:
            self._stream.close()
            raise Error(f"{path} is not a recording of weir monitor: give one that it has written")
        first = self._next()
        if first is None or first[0] != HEADER:
            self._stream.close()
            raise Error(f"{path} was cut off before its first sample: record again")
        self.header: dict[str, Any] = json.loads(first[1])

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def blocks(self) -> Iterator[Block]:
        """Yields the blocks in order of time."""
        while (frame := self._next()) is not None:
            kind, content = frame
            if kind == END:
                self.end = json.loads(content)
                return
            yield self._block(content)

    def _next(self) -> tuple[bytes, bytes] | None:
        """Returns kind and content of the next frame; None at the end or at a torn frame."""
        head = self._stream.read(_FRAME.size)
        if len(head) < _FRAME.size:
            return None
        length, checksum = _FRAME.unpack(head)
        if length > LONGEST_FRAME:
            return None
        packed = self._stream.read(length)
        if len(packed) < length or zlib.crc32(packed) != checksum:
            return None
        with contextlib.suppress(zlib.error):
            return packed[:1], zlib.decompress(packed[1:])
        return None

    def _block(self, content: bytes) -> Block:
        (text_bytes,) = _LENGTH.unpack_from(content)
        place = _LENGTH.size + text_bytes
        about = json.loads(content[_LENGTH.size : place])
        self._keys += [Key(*one) for one in about["new"]]
        columns: dict[str, array[int]] = {}
        for name, code in COLUMNS.items():
            column = array(code)
            size = about["lengths"][name] * column.itemsize
            column.frombytes(content[place : place + size])
            columns[name] = _lowest_first(column)
            place += size
        rows = [
            (sample, self._keys[counter], (since, until), Values(*values))
            for sample, counter, since, until, *values in zip(
                columns["sample"],
                columns["counter"],
                columns["since"],
                columns["until"],
                *(columns[name] for name in Values._fields),
                strict=True,
            )
        ]
        return Block(
            columns["times"].tolist(), columns["took"].tolist(), columns["cost"].tolist(), rows
        )
