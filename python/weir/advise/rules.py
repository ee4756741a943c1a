"""Finds what is wrong with a program's metadata operations, by a table of thresholds.

The cases are those that users report to computing centres ("Parallel I/O in a Supercomputing
Centre", PDSW 2011): files used for communication, thousands of files, and opens that grow with the
number of ranks.
"""

from __future__ import annotations

import stat
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from weir.advise.use import LOOKING, FileUse, Use, ranks_text

MOST_SHOWN = 3
"""Number of files of a kind that are named; for the others the text gives their number."""


@dataclass(frozen=True)
class Threshold:
    """The number from which on something is reported."""

    name: str
    value: int
    meaning: str


THRESHOLDS = (
    Threshold(
        "ranks-opening-one-file", 16, ("number of ranks that open the same file by themselves")
    ),
    Threshold("opens-of-one-file", 20, "number of times that a rank opens the same file"),
    Threshold(
        "looks-at-one-file",
        50,
        "number of times that a rank looks at a file that it does not write",
    ),
    Threshold(
        "looks", 1000, ("number of calls of stat, access and readlink of a rank, over all files")
    ),
    Threshold("files-in-one-folder", 1000, "number of names that are created in one folder"),
    Threshold("small-files", 100, "number of files that are written and stay small"),
    Threshold("small-file-bytes", 65536, "size below which a file is small"),
    Threshold("metadata-percent", 10, "share of a rank's time in metadata operations"),
)


@dataclass(frozen=True)
class Advice:
    """One problem."""

    kind: str
    count: int
    """Number of operations or files; the largest comes first."""
    what: str
    """Text with the count, the file and the ranks."""
    to_do: str


def advice_on(use: Use, thresholds: Mapping[str, int] | None = None) -> list[Advice]:
    """Returns all problems, by kind, the worst first.

    `thresholds`, by name, replace those of the table.
    """
    limits = {one.name: one.value for one in THRESHOLDS} | dict(thresholds or {})
    found = [advice for rule in RULES for advice in rule(use, limits)]
    worst: dict[str, int] = {}
    for one in found:
        worst[one.kind] = max(worst.get(one.kind, 0), one.count)
    return sorted(found, key=lambda one: (-worst[one.kind], one.kind, -one.count))


def _who(use: Use, ranks: list[int]) -> str:
    if not use.has_ranks:
        return "one process" if len(ranks) == 1 else f"{len(ranks)} processes"
    return f"rank{'s' if len(ranks) > 1 else ''} {ranks_text(ranks)}"


def _worst(
    found: list[tuple[int, FileUse]], kind: str, to_do: str, text: Callable[[FileUse, int], str]
) -> Iterator[Advice]:
    """Yields one line for each of the worst files; the last says how many more there are."""
    found.sort(key=lambda one: (-one[0], one[1].path))
    for number, (count, file) in enumerate(found[:MOST_SHOWN], start=1):
        more = len(found) - MOST_SHOWN
        rest = f" (and {more} more files)" if number == MOST_SHOWN and more > 0 else ""
        yield Advice(kind, count, text(file, count) + rest, to_do)


def _opened_by_all(use: Use, limits: Mapping[str, int]) -> Iterator[Advice]:
    found = [
        (file.count("open"), file)
        for file in use.files
        if len(file.ranks_with(1, "open")) >= limits["ranks-opening-one-file"]
    ]
    yield from _worst(
        found,
        "the same file on many ranks",
        "if all ranks read the file, let one rank read and broadcast it; if they share it, "
        "open it collectively with a library whose aggregators open it for the others",
        lambda file, count: (
            f"{file.path}: {count} opens by {_who(use, file.ranks_with(1, 'open'))}"
        ),
    )


def _opened_again(use: Use, limits: Mapping[str, int]) -> Iterator[Advice]:
    least = limits["opens-of-one-file"]
    loops: list[tuple[int, FileUse]] = []
    for_writes: list[tuple[int, FileUse]] = []
    for file in use.files:
        ranks = file.ranks_with(least, "open")
        if not ranks:
            continue
        opens = sum(file.ranks[rank].count("open") for rank in ranks)
        writes = sum(file.ranks[rank].count("write") for rank in ranks)
        (for_writes if 0 < writes <= 2 * opens else loops).append((opens, file))

    def text(file: FileUse, count: int) -> str:
        return f"{file.path}: {count} opens by {_who(use, file.ranks_with(least, 'open'))}"

    yield from _worst(
        for_writes, "opened for each write",
        "open it once before the loop, keep it open, and close it at the end; gather small writes "
        "in memory", text,
    )  # fmt: skip
    yield from _worst(
        loops, "opened and closed in a loop",
        "open it once before the loop and keep it open, or keep its data in memory", text,
    )  # fmt: skip


def _polled(use: Use, limits: Mapping[str, int]) -> Iterator[Advice]:
    least = limits["looks-at-one-file"]
    folders = {_folder_of(file.path) for file in use.files}
    found = []

    def polling(file: FileUse) -> list[int]:
        return [
            rank
            for rank in file.ranks_with(least, *LOOKING)
            if not file.ranks[rank].wrote
            # Programs look at some files often while they start, but not for long.
            and (file.ranks[rank].span >= 1 or file.ranks[rank].count(*LOOKING) >= 20 * least)
        ]

    for file in use.files:
        ranks = [] if file.path in folders else polling(file)
        if ranks:
            found.append((sum(file.ranks[rank].count(*LOOKING) for rank in ranks), file))

    def text(file: FileUse, count: int) -> str:
        ranks = polling(file)
        one = max((file.ranks[rank] for rank in ranks), key=lambda seen: seen.count(*LOOKING))
        every = one.span / max(1, one.count(*LOOKING) - 1)
        return f"{file.path}: looked at {count} times by {_who(use, ranks)}, every {_time(every)}"

    yield from _worst(
        found, "a file is polled",
        "do not communicate through files: send a message (MPI, a socket), or let one rank "
        "look, with pauses of seconds, and inform the others", text,
    )  # fmt: skip


def _looks(use: Use, limits: Mapping[str, int]) -> Iterator[Advice]:
    by_rank: dict[int, int] = defaultdict(int)
    for name in LOOKING:
        for rank, count in use.counts.get(name, {}).items():
            by_rank[rank] += count
    many = sorted(rank for rank, count in by_rank.items() if count >= limits["looks"])
    if not many:
        return
    count = sum(by_rank[rank] for rank in many)
    folders: dict[str, int] = defaultdict(int)
    for file in use.files:
        folders[_folder_of(file.path)] += file.count(*LOOKING)
    where = sorted(folders, key=lambda folder: -folders[folder])[:2]
    yield Advice(
        "many stat calls",
        count,
        f"{count} stat, access and readlink by {_who(use, many)}, most in "
        + " and ".join(f"{folder} ({folders[folder]})" for folder in where),
        "keep the results of earlier calls; read a folder once instead of looking up each "
        "name; put Python packages and libraries into an image or on a local disk",
    )


def _files_in_one_folder(use: Use, limits: Mapping[str, int]) -> Iterator[Advice]:
    for path, made in sorted(use.folders.items(), key=lambda one: -one[1])[:MOST_SHOWN]:
        if made >= limits["files-in-one-folder"]:
            yield Advice(
                "many files in one folder",
                made,
                f"{path}: {made} names were created in it",
                "write fewer files, shared files or containers; if files per rank are needed, "
                "put at most a few hundred into a folder",
            )


def _small_files(use: Use, limits: Mapping[str, int]) -> Iterator[Advice]:
    small = [
        file
        for file in use.files
        if file.made and file.count("write", "open") > 0 and _size(file) is not None
        and (_size(file) or 0) < limits["small-file-bytes"]
    ]  # fmt: skip
    if len(small) < limits["small-files"]:
        return
    folders: dict[str, int] = defaultdict(int)
    for file in small:
        folders[_folder_of(file.path)] += 1
    where = max(folders, key=lambda folder: folders[folder])
    yield Advice(
        "many small files",
        len(small),
        f"{len(small)} files of less than {limits['small-file-bytes']} bytes were created, "
        f"{folders[where]} of them in {where}",
        "put them into one file (HDF5, NetCDF, Zarr with shards, a tar file)",
    )


def _size(file: FileUse) -> int | None:
    """Returns the bytes of a file that was created: its present size, or what was written to it."""
    try:
        status = Path(file.path).stat()
    except OSError:
        return file.bytes_written or None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _share_of_time(use: Use, limits: Mapping[str, int]) -> Iterator[Advice]:
    if use.duration <= 0 or not use.seconds:
        return
    rank, seconds = max(use.seconds.items(), key=lambda one: one[1])
    percent = 100 * seconds / use.duration
    if percent >= limits["metadata-percent"]:
        yield Advice(
            "much time in metadata operations",
            0,
            f"{_who(use, [rank])} spent {seconds:.1f} of {use.duration:.1f} s in them "
            f"({percent:.0f} %)",
            "begin with the advice above",
        )


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.1f} s"


RULES: tuple[Callable[[Use, Mapping[str, int]], Iterator[Advice]], ...] = (
    _opened_by_all, _opened_again, _polled, _looks, _files_in_one_folder, _small_files,
    _share_of_time,
)  # fmt: skip
