"""Sums up the records of an observed program's processes.

They are of calls of MPI-IO (src/adapters/mpiio/record.hpp) or of calls on datasets of HDF5
(src/adapters/hdf5/call_counts.hpp), which have the same lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from weir.advise.records import RecordError, unescaped

FIRST_LINES = ("weir-mpiio 3", "weir-hdf5 1")
NO_FILE = "(no open file)"
FURTHER_FILES = "(further files)"


@dataclass
class CallSums:
    """What all ranks did with one function on one file."""

    calls: int = 0
    failed: int = 0
    size: int = 0
    """Bytes that successful calls asked to move."""
    seconds: float = 0.0
    """Time in these calls, of all ranks together."""
    longest: float = 0.0
    """Time in these calls on the rank that spent most."""
    longest_rank: int = -1
    ranks: int = 0
    """Number of ranks that called it."""
    taken: int = 0
    """Number of the calls that were taken over."""
    staged: int = 0
    """Number of these whose bytes a stager got."""
    without: float | None = 0.0
    """What ``seconds`` would have been without Weir, as estimated; None if it is not known."""


@dataclass
class Sums:
    """What all processes of a program did."""

    processes: int = 0
    """Number of complete records."""
    incomplete: int = 0
    ranks_told: int | None = None
    """Number of ranks according to the launcher."""
    has_ranks: bool = False
    seconds: float = 0.0
    """Duration of the longest process."""
    files: dict[str, dict[str, CallSums]] = field(default_factory=dict)
    """By path and function."""
    passed: dict[str, dict[str, int]] = field(default_factory=dict)
    """By path and reason: calls that might have been taken over and were passed on."""


@dataclass
class _Process:
    rank: int
    ranks: int
    seconds: float
    lines: list[tuple[str, str, int, int, int, float, int, int, float | None]]
    """Path, function, calls, failed, bytes, seconds, taken, staged, seconds without Weir."""
    passed: list[tuple[str, str, int]]
    """Path, reason, calls."""


def sum_up(records: Iterable[Path]) -> Sums:
    """Returns the sums of these records, of which it keeps one at a time. Raises RecordError."""
    sums = Sums()
    for path in records:
        process = _parse(path.read_text(errors="replace"), path)
        if process is None:
            sums.incomplete += 1
        else:
            _add(sums, process)
    return sums


def _add(sums: Sums, process: _Process) -> None:
    rank = process.rank if process.rank >= 0 else sums.processes
    sums.processes += 1
    sums.has_ranks = sums.has_ranks or process.rank >= 0
    sums.seconds = max(sums.seconds, process.seconds)
    if process.ranks > 0:
        sums.ranks_told = max(process.ranks, sums.ranks_told or 0)
    for path, reason, calls in process.passed:
        by_reason = sums.passed.setdefault(path, {})
        by_reason[reason] = by_reason.get(reason, 0) + calls
    for path, function, calls, failed, size, seconds, taken, staged, without in process.lines:
        one = sums.files.setdefault(path, {}).setdefault(function, CallSums())
        one.calls += calls
        one.failed += failed
        one.size += size
        one.seconds += seconds
        one.ranks += 1
        one.taken += taken
        one.staged += staged
        if one.without is not None:
            one.without = None if without is None else one.without + without
        if seconds > one.longest or one.longest_rank < 0:
            one.longest, one.longest_rank = seconds, rank


def _parse(text: str, path: Path) -> _Process | None:
    """Parses one record; None if its process was killed while it wrote it."""
    lines = text.split("\n")
    if not any(first.startswith(text[: len(first)]) for first in FIRST_LINES):
        message = f"{path}: is not a record of a process's calls of MPI-IO or HDF5"
        raise RecordError(message)
    if len(lines) < 4 or not lines[-2].startswith("end\t") or lines[-1]:
        return None
    number = 2
    try:
        words = lines[1].split("\t")
        process = _Process(int(words[2]), int(words[3]), 0.0, [], [])
        file = NO_FILE
        for line in lines[2:-1]:
            number += 1
            words = line.split("\t")
            match words[0]:
                case "file":
                    file = unescaped(words[1])
                case "further-files":
                    file = FURTHER_FILES
                case "no-file":
                    file = NO_FILE
                case "call":
                    calls, failed, size, nanoseconds, taken = (int(word) for word in words[2:7])
                    staged = int(words[7]) if len(words) > 7 else 0  # HDF5's calls are not staged
                    estimate = int(words[8]) if len(words) > 8 else -1  # nor estimated, nor older
                    process.lines.append(
                        (file, words[1], calls, failed, size, nanoseconds / 1e9, taken, staged,
                         estimate / 1e9 if estimate >= 0 else None)
                    )  # fmt: skip
                case "passed":
                    process.passed.append((file, words[2], int(words[1])))
                case "end":
                    process.seconds = int(words[1]) / 1e9
    except (ValueError, IndexError) as error:
        message = f"{path}, line {number}: {error}"
        raise RecordError(message) from error
    return process
