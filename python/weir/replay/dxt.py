"""Reads the calls that Darshan's DXT traced, as the order of calls of each rank.

The text is that of ``darshan-dxt-parser`` (Darshan 3, darshan-util/doc, "Guide to
darshan-dxt-parser output")::

    # exe: ./solver
    # nprocs: 2
    # DXT, file_id: 16457598720760448348, file_name: /scratch/out
    # DXT, rank: 0, hostname: n1
    # DXT, write_count: 1, read_count: 0
    # Module    Rank  Wt/Rd  Segment          Offset       Length    Start(s)      End(s)
     X_POSIX       0  write        0               0       262144      0.0029      0.0032

Only calls of POSIX are taken: those of MPI-IO ended in them. DXT traces reads and writes alone, so
a rank is taken to open a file before its first call on it, and to close it after the last one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from weir.advise.records import RecordError
from weir.replay.orders import Order

PARSER = "darshan-dxt-parser"
PARSER_SECONDS = 600
MOST_CALLS = 1 << 22
OPEN_WRITES, OPEN_CREATES = 1, 2
"""Flags of the call that opens a file (src/adapters/calls/call_pattern.hpp)."""
_FILE = re.compile(r"# DXT, file_id: \d+, file_name: (.+)")
_COUNTS = re.compile(r"# DXT, write_count: (\d+), read_count: (\d+)")
_CALL = re.compile(
    r"X_(POSIX|MPIIO)\s+(-?\d+)\s+(write|read)\s+\d+\s+(\S+)\s+(\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)"
    r"(?:\s+\[.*)?"
)


@dataclass(frozen=True)
class Call:
    """A read or a write."""

    kind: str
    file: int
    """Number of the file among the files of the rank."""
    offset: int
    size: int
    begin: int
    """Nanoseconds since the program began."""
    end: int


@dataclass
class _Traced:
    """What was traced of a rank."""

    files: dict[str, int] = field(default_factory=dict)
    """Numbers of paths."""
    calls: list[Call] = field(default_factory=list)


def text_of(log: Path) -> str:
    """Returns what darshan-dxt-parser prints of a log, or the text itself if it is that already.

    Raises RecordError if the log cannot be read, or needs the parser and there is none.
    """
    try:
        content = log.read_bytes()
    except OSError as error:
        message = f"{log}: {error.strerror}"
        raise RecordError(message) from error
    if b"\0" not in content[:4096]:
        return content.decode(errors="replace")
    parser = shutil.which(PARSER)
    if parser is None:
        message = (
            f"{log} is a log of Darshan, and {PARSER} of darshan-util, which reads it, was not "
            f"found: install it, or give the output of `{PARSER} {log.name}` of another machine"
        )
        raise RecordError(message)
    try:
        done = subprocess.run(
            [parser, str(log)], capture_output=True, timeout=PARSER_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"{PARSER} {log}: {error}"
        raise RecordError(message) from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        message = f"{PARSER} {log} failed: {said[-1] if said else done.returncode}"
        raise RecordError(message)
    return done.stdout.decode(errors="replace")


def read_dxt(text: str, name: str) -> list[Order]:
    """Returns the calls of each rank that has any, in the order of the ranks.

    `name` is that of the text, for messages. Raises RecordError with the number of the line if the
    text has another form, lacks calls that it announces, or has more than MOST_CALLS; and if it has
    no call of POSIX.
    """
    traced: dict[int, _Traced] = {}
    path, announced = "", 0
    """Calls of the last file and rank that are still to come."""
    number = calls = 0
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if found := _CALL.fullmatch(words):
            announced -= 1
            if not path or announced < 0:
                raise _fault(name, number, "is a call that no header announces")
            calls += 1
            if calls > MOST_CALLS:
                raise _fault(name, number, f"is one more than {MOST_CALLS} calls")
            _take_call(traced, path, found, f"{name}: line {number}")
        elif announced > 0 and (words.startswith("# DXT, file_id:") or not words):
            raise _fault(name, number, f"ends a file of which {announced} calls are missing")
        elif found := _FILE.fullmatch(words):
            path, announced = found[1], 0
        elif found := _COUNTS.fullmatch(words):
            announced = int(found[1]) + int(found[2])
        elif words and not words.startswith("#"):
            raise _fault(name, number, f"is no line of {PARSER}: '{words[:60]}'")
    if announced > 0:
        raise _fault(name, number, f"ends a file of which {announced} calls are missing")
    if not any(one.calls for one in traced.values()):
        message = f"{name} has no calls of DXT's POSIX module: run the program with DXT enabled"
        raise RecordError(message)
    program = _header(text, "exe", r".*") or ""
    ranks = _header(text, "nprocs", r"\d+")
    started = int(_header(text, "start_time", r"\d+") or 0)
    return [
        _order(traced[rank], rank, None if ranks is None else int(ranks), started, program)
        for rank in sorted(traced)
        if traced[rank].calls
    ]


def _header(text: str, name: str, value: str) -> str | None:
    found = re.search(rf"^# {name}: ({value})", text, re.MULTILINE)
    return found[1].strip() if found else None


def _fault(name: str, number: int, told: str) -> RecordError:
    return RecordError(f"{name}: line {number}: {told}")


def _take_call(traced: dict[int, _Traced], path: str, found: re.Match[str], place: str) -> None:
    if found[1] != "POSIX" or found[5] == "0":
        return
    if not found[4].isdigit():
        message = f"{place}: the call has no offset"
        raise RecordError(message)
    one = traced.setdefault(int(found[2]), _Traced())
    file = one.files.setdefault(path, len(one.files))
    begin, end = (round(float(time) * 1e9) for time in (found[6], found[7]))
    one.calls.append(Call(found[3], file, int(found[4]), int(found[5]), begin, max(begin, end)))


def _order(traced: _Traced, rank: int, ranks: int | None, started: int, program: str) -> Order:
    # DXT's clock is coarse: calls on one file that begin at the same time keep their order.
    calls = sorted(traced.calls, key=lambda call: call.begin)
    return Order(
        rank=rank if rank >= 0 else None,
        ranks=ranks,
        started=started,
        program=program,
        lines=list(_lines(calls)),
        files=list(traced.files),
        seconds=max(call.end for call in calls) / 1e9,
    )


def _lines(calls: list[Call]) -> Iterator[str]:
    written = {call.file for call in calls if call.kind == "write"}
    last = {call.file: place for place, call in enumerate(calls)}
    opened: set[int] = set()
    before = place = 0
    while place < len(calls):
        call = calls[place]
        gap = max(0, call.begin - before)
        if call.file not in opened:
            opened.add(call.file)
            flags = OPEN_WRITES + OPEN_CREATES if call.file in written else 0
            yield _line("open", 1, call.file, 0, flags, (gap, 0, 0))
            gap = 0
        count, stride = _run(calls, place)
        run = calls[place : place + count]
        gaps = sum(max(0, b.begin - a.end) for a, b in pairwise(run))
        times = (gap, gaps, sum(one.end - one.begin for one in run))
        yield _line(call.kind, count, call.file, call.offset, call.size, times, stride)
        place += count
        before = run[-1].end
        if last[call.file] == place - 1:
            yield _line("close", 1, call.file, 0, 0, (0, 0, 0))


def _run(calls: list[Call], place: int) -> tuple[int, int]:
    """How many calls from `place` on are alike, at equal distances; and this distance."""
    first = calls[place]
    alike = (first.kind, first.file, first.size)
    stride: int | None = None
    count = 1
    while place + count < len(calls):
        call = calls[place + count]
        if stride is None:
            stride = call.offset - first.offset
        if (call.kind, call.file, call.size) != alike:
            break
        if call.offset != first.offset + count * stride:
            break
        count += 1
    return count, stride if stride is not None and count > 1 else 0


def _line(
    kind: str,
    count: int,
    file: int,
    offset: int,
    size: int,
    times: Iterable[int],
    stride: int = 0,
) -> str:
    words = [kind, count, file, offset, size, *times, *([stride, 0] if stride else [])]
    return "\t".join(map(str, words))
