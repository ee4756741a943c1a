"""The journal: one JSON object per line, appended, and flushed to disk before work continues.

``begin`` is written before a run starts, ``done`` after its folder is complete and on disk,
``failed`` when it ended otherwise. Only its ``done`` line makes a run count as done, so that a
crash at any point loses at most the current run. A line that a crash or a disk damaged is skipped
with a message, and the run to which it belonged is repeated.

Each task of a job array writes its own journal, so that no two machines append to one file; readers
merge all ``journal*.jsonl``.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from pydantic import Field, ValidationError

from weir.bench.errors import BenchError
from weir.results.folder import refuse_newer
from weir.results.record import Record

JOURNAL_FILE = "journal.jsonl"
JOURNALS = "journal*.jsonl"


class Entry(Record):
    """One line of a journal."""

    format_version: Literal[1] = 1
    event: Literal["begin", "done", "failed"]
    run: int = Field(ge=1)
    at: str = Field(description="UTC")
    seconds: float = Field(default=0.0, ge=0, description="the whole run took, with its set-up")
    estimated_seconds: float = Field(default=0.0, ge=0, description="before it began")
    reason: str = ""


def read_journals(folder: Path, tell: Callable[[str], None]) -> list[Entry]:
    """Returns all entries of all journals, ordered by time; reports damaged lines to ``tell``."""
    entries: list[Entry] = []
    for file in sorted(folder.glob(JOURNALS)):
        try:
            lines = file.read_bytes().split(b"\n")
        except OSError as error:
            raise BenchError(f"{file} cannot be read: {error.strerror}") from None
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                entries.append(Entry.model_validate_json(line))
            except ValidationError:
                refuse_newer(file, line, 1)
                tell(f"{file} line {number} is damaged and ignored; its run will be repeated")
    return sorted(entries, key=lambda entry: entry.at)


def done_runs(entries: list[Entry]) -> dict[int, Entry]:
    """Returns the last ``done`` entry of every run that has one."""
    return {entry.run: entry for entry in entries if entry.event == "done"}


class Journal:
    """Appends to one journal; no other process may append to it meanwhile."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor = -1

    def __enter__(self) -> Self:
        try:
            self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            size = os.fstat(self._descriptor).st_size
            if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
                # A crash truncated the last line; the next one must not be joined to it.
                os.write(self._descriptor, b"\n")
        except BlockingIOError:
            self._close()
            raise BenchError(
                f"another weir runs the campaign in {self._file.parent}: wait until it has ended"
            ) from None
        except OSError as error:
            self._close()
            raise BenchError(f"{self._file} cannot be written: {error.strerror}") from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def append(self, entry: Entry) -> None:
        """Writes one line and waits until it is on disk."""
        line = json.dumps(entry.model_dump(mode="json"), ensure_ascii=False).encode() + b"\n"
        try:
            written = os.write(self._descriptor, line)
            os.fsync(self._descriptor)
        except OSError as error:
            raise BenchError(
                f"{self._file} cannot be written: {error.strerror}; finished runs are kept: "
                "remove the cause, then continue with --resume"
            ) from None
        if written != len(line):
            raise BenchError(
                f"{self._file}: the disk is full; finished runs are kept: free some space, then "
                "continue with --resume"
            )

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
