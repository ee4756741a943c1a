"""Reads the order of the calls of each process of a program (src/adapters/calls/call_order.hpp)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from weir.advise.records import RecordError, unescaped, whole_lines

FIRST_LINE = "weir-order 2"
COLLECTIVE = ("read_all", "write_all")
KINDS = ("open", "close", "read", "write", "sync", "truncate", *COLLECTIVE)
OPEN_STDIO = 8
"""The flag of a file that the C library's streams opened, of which reads and writes are unknown."""


@dataclass(frozen=True)
class Moved:
    """What calls did, and how long they took."""

    calls: Counter[str]
    """By kind."""
    bytes_read: int
    bytes_written: int
    in_calls: float
    """Seconds."""
    between: float
    """Seconds between calls."""

    @property
    def bytes(self) -> int:
        return self.bytes_read + self.bytes_written


@dataclass
class Order:
    """The calls of one process."""

    rank: int | None
    ranks: int | None
    started: int
    """Seconds since 1970."""
    program: str
    lines: list[str] = field(default_factory=list)
    """Lines of calls and loops, as in the record."""
    files: list[str] = field(default_factory=list)
    """Absolute paths, by number."""
    shapes: list[str] = field(default_factory=list)
    """The words behind ``shape`` of calls whose bytes are not one block, by number."""
    streams: set[str] = field(default_factory=set)
    """The files among them whose reads and writes are not seen."""
    missed_calls: int = 0
    missed_bytes: int = 0
    seconds: float | None = None
    """None if the process was killed, which leaves the rest of its calls unknown."""

    def moved(self) -> Moved:
        """Sums up all calls."""
        calls: Counter[str] = Counter()
        moved: Counter[str] = Counter()
        in_calls = between = 0
        for rounds, words in _with_rounds(self.lines):
            number = rounds * int(words[1])
            calls[words[0]] += number
            direction = words[0].removesuffix("_all")
            if direction in ("read", "write"):
                moved[direction] += number * bytes_and_shape(words[4])[0]
            between += int(words[5]) + int(words[6])
            in_calls += int(words[7])
        return Moved(calls, moved["read"], moved["write"], in_calls / 1e9, between / 1e9)


def bytes_and_shape(word: str) -> tuple[int, int | None]:
    """Returns the bytes of a call, and the number of their shape if they are not one block."""
    size, colon, shape = word.partition(":")
    return int(size), int(shape) if colon else None


def with_shapes(lines: Iterable[str], numbers: Mapping[int, int]) -> Iterator[str]:
    """Yields lines with other numbers of shapes."""
    for line in lines:
        words = line.split("\t")
        if words[0] != "loop":
            size, shape = bytes_and_shape(words[4])
            if shape is not None:
                words[4] = f"{size}:{numbers[shape]}"
        yield "\t".join(words)


def _with_rounds(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yields the words of each line of calls, and how often the loops around it repeat it."""
    around: list[tuple[int, int]] = []  # of each loop: the line after it, and all rounds
    for number, line in enumerate(lines):
        words = line.split("\t")
        while around and number >= around[-1][0]:
            around.pop()
        rounds = around[-1][1] if around else 1
        if words[0] == "loop":
            around.append((number + 1 + int(words[2]), rounds * int(words[1])))
        else:
            yield rounds, words


def _check_shapes(order: Order) -> None:
    """Raises ValueError if a complete record lacks a shape."""
    if order.seconds is None:
        return
    for line in order.lines:
        words = line.split("\t")
        shape = None if words[0] == "loop" else bytes_and_shape(words[4])[1]
        if shape is not None and shape >= len(order.shapes):
            raise ValueError(f"shape {shape} is missing")


def _check_numbers(words: list[str]) -> None:
    """Raises ValueError unless the line of a loop or of calls has its numbers."""
    if words[0] != "loop" and len(words) > 4:
        size, shape = bytes_and_shape(words[4])
        if shape is not None and shape < 0:
            raise ValueError("a shape has a negative number")
        words = [*words[:4], str(size), *words[5:]]
    numbers = [int(word) for word in words[1:]]
    if words[0] == "loop":
        if len(numbers) != 3 or min(numbers) < 1:
            raise ValueError("a loop has three numbers of at least 1")
    elif len(numbers) < 7:
        raise ValueError("a call has seven numbers, and strides")
    elif numbers[0] < 1 or min(numbers[1:7]) < 0:
        raise ValueError("a call has a negative number")


def read_orders(folder: Path) -> list[Order]:
    """Returns the records of all processes in the folder, in the order of their names."""
    return [
        parse(path.read_text(errors="replace"), path) for path in sorted(folder.glob("*.order"))
    ]


def parse(text: str, path: Path) -> Order:
    """Parses the record of one process. Raises RecordError."""
    lines = whole_lines(text, path, FIRST_LINE, "the order of a process's calls")
    if len(lines) < 2:
        return Order(None, None, 0, "")
    number = 2
    try:
        words = lines[1].split("\t")
        order = Order(
            rank=int(words[2]) if int(words[2]) >= 0 else None,
            ranks=int(words[3]) if int(words[3]) > 0 else None,
            started=int(words[5]),
            program=unescaped(words[6]),
        )
        streams = set()
        for line in lines[2:]:
            number += 1
            words = line.split("\t")
            match words[0]:
                case "missed":
                    order.missed_calls, order.missed_bytes = int(words[1]), int(words[2])
                case "shape":
                    for word in words[1:]:
                        int(word)
                    order.shapes.append("\t".join(words[1:]))
                case "file":
                    order.files.append(unescaped(words[1]))
                case "end":
                    order.seconds = int(words[1]) / 1e9
                case _:
                    if words[0] not in (*KINDS, "loop"):
                        raise ValueError(f"{words[0]!r} is no kind of line")
                    _check_numbers(words)
                    order.lines.append(line)
                    if words[0] == "open" and int(words[4]) & OPEN_STDIO:
                        streams.add(int(words[2]))
        _check_shapes(order)
        order.streams = {order.files[one] for one in streams if one < len(order.files)}
    except (ValueError, IndexError) as error:
        message = f"{path}, line {number}: {error}"
        raise RecordError(message) from error
    return order
