"""Reads the record of each process of an observed program (src/adapters/calls/record.hpp)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from weir.errors import Error

FIRST_LINE = "weir-calls 1"


class RecordError(Error):
    """A record cannot be read; the text says which file, which line and why."""


@dataclass
class FileRecord:
    """What one process did with one file."""

    path: str
    made: bool
    """Whether the process created it, by opening it with creation if missing or in another way."""
    wrote: bool
    """Whether it was opened for writing."""
    bytes_read: int
    bytes_written: int
    """Bytes moved by read, write and related calls, not through stdio."""
    first: float
    last: float
    """Seconds since the process began, of the last open, stat or similar operation; `first` is that
    of the first."""
    counts: dict[str, int]
    """Number of operations by name: open, close, stat …"""


@dataclass
class ProcessRecord:
    """What one process did."""

    process: int
    rank: int | None
    ranks: int | None
    host: str
    program: str
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    """Seconds in metadata operations, by name; the time of reads and writes is unknown."""
    files: list[FileRecord] = field(default_factory=list)
    folders: dict[str, int] = field(default_factory=dict)
    """Number of names that were created, by folder."""
    left_out: int = 0
    """Operations on files that have no line of their own."""
    duration: float | None = None
    """Seconds; None if the process was killed, which leaves the counts unknown."""


def read_records(folder: Path) -> list[ProcessRecord]:
    """Returns all records in the folder."""
    return [
        parse(path.read_text(errors="replace"), path) for path in sorted(folder.glob("*.calls"))
    ]


def whole_lines(text: str, path: Path, first_line: str, subject: str) -> list[str]:
    """Returns the lines of a record that were written as a whole, the first one included.

    Raises RecordError if the text does not begin with the first line, or a part of it.
    """
    if not first_line.startswith(text[: len(first_line)]):
        message = f"{path}: is not a record of {subject}"
        raise RecordError(message)
    return text.split("\n")[:-1]


def parse(text: str, path: Path) -> ProcessRecord:
    """Parses one record. Raises RecordError."""
    lines = whole_lines(text, path, FIRST_LINE, "a process's calls")
    if len(lines) < 2:  # The process was killed before it wrote the record.
        return ProcessRecord(process=0, rank=None, ranks=None, host="", program="")
    number = 2
    try:
        words = lines[1].split("\t")
        record = ProcessRecord(
            process=int(words[1]),
            rank=int(words[2]) if int(words[2]) >= 0 else None,
            ranks=int(words[3]) if int(words[3]) > 0 else None,
            host=words[4],
            program=unescaped(words[6]),
        )
        for line in lines[2:]:
            number += 1
            _take_line(record, line.split("\t"))
    except (ValueError, IndexError) as error:
        message = f"{path}, line {number}: {error}"
        raise RecordError(message) from error
    return record


def _take_line(record: ProcessRecord, words: list[str]) -> None:
    match words[0]:
        case "total":
            record.counts[words[1]] = int(words[2])
            record.seconds[words[1]] = int(words[3]) / 1e9
        case "file":
            record.files.append(
                FileRecord(
                    path=unescaped(words[8]),
                    made=words[1] == "1",
                    wrote=words[2] == "1",
                    bytes_read=int(words[3]),
                    bytes_written=int(words[4]),
                    first=int(words[5]) / 1e9,
                    last=int(words[6]) / 1e9,
                    counts={
                        name: int(count)
                        for name, count in (one.split("=") for one in words[7].split(",") if one)
                    },
                )
            )
        case "folder":
            record.folders[unescaped(words[2])] = int(words[1])
        case "left-out":
            record.left_out = int(words[1])
        case "end":
            record.duration = int(words[1]) / 1e9


_ESCAPED = re.compile(r"\\(.)")


def unescaped(text: str) -> str:
    """Returns the path that the last word of a line stands for."""
    return _ESCAPED.sub(lambda found: {"t": "\t", "n": "\n"}.get(found[1], found[1]), text)
