"""Merges the records of a program's processes to what all its ranks did with each file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from weir.advise.records import ProcessRecord

MOVING = {"read", "write"}
"""Operations that move bytes; the others are metadata operations."""
LOOKING = ("stat", "access", "readlink")


LAUNCHERS = {
    "hydra_pmi_proxy", "mpiexec", "mpirun", "orted", "orterun", "prted", "prterun", "slurmstepd",
    "srun",
}  # fmt: skip
"""Programs that may find a rank number in their environment although they are not ranks."""


@dataclass
class RankUse:
    """What one rank did with one file."""

    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    wrote: bool = False
    first: float = float("inf")
    last: float = 0.0

    def count(self, *operations: str) -> int:
        return sum(self.counts.get(one, 0) for one in operations)

    @property
    def span(self) -> float:
        """Seconds from the first metadata operation to the last."""
        return max(0.0, self.last - self.first)


@dataclass
class FileUse:
    """What all ranks did with one file."""

    path: str
    ranks: dict[int, RankUse] = field(default_factory=dict)
    made: bool = False
    bytes_written: int = 0

    def ranks_with(self, least: int, *operations: str) -> list[int]:
        """Returns the ranks with at least this many of these operations."""
        return sorted(rank for rank, use in self.ranks.items() if use.count(*operations) >= least)

    def count(self, *operations: str) -> int:
        return sum(use.count(*operations) for use in self.ranks.values())


@dataclass
class Use:
    """What a program did.

    The processes of a rank count together. In a program without ranks each process counts as one,
    in the order in which they began. In a program with ranks, processes without one, such as its
    launcher, are left out.
    """

    has_ranks: bool
    ranks: int
    """Number of ranks with a complete record."""
    ranks_told: int | None
    """Number of ranks according to the launcher."""
    killed: int
    """Number of processes that were killed, so that their operations are unknown."""
    left_out: int
    counts: dict[str, dict[int, int]]
    """Number of operations by name and rank."""
    seconds: dict[int, float]
    """Seconds in metadata operations by rank."""
    duration: float
    """Seconds of the longest process."""
    files: list[FileUse]
    folders: dict[str, int]

    @property
    def metadata_operations(self) -> int:
        return sum(
            sum(by_rank.values()) for name, by_rank in self.counts.items() if name not in MOVING
        )


def merge(records: Sequence[ProcessRecord]) -> Use:
    """Merges the records of all processes."""
    records = [one for one in records if one.program.rpartition("/")[2] not in LAUNCHERS]
    has_ranks = any(one.rank is not None for one in records)
    # A process that was killed while it began is kept, because nobody knows what it was.
    kept = [one for one in records if one.rank is not None or not has_ranks or not one.program]
    ended = [one for one in kept if one.duration is not None]
    numbers = {id(one): i if one.rank is None else one.rank for i, one in enumerate(kept)}
    counts: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    seconds: dict[int, float] = defaultdict(float)
    files: dict[str, FileUse] = {}
    folders: dict[str, int] = defaultdict(int)
    for record in ended:
        rank = numbers[id(record)]
        for name, count in record.counts.items():
            counts[name][rank] += count
        seconds[rank] += sum(record.seconds.values())
        for path, made in record.folders.items():
            folders[path] += made
        for one in record.files:
            file = files.setdefault(one.path, FileUse(one.path))
            file.made = file.made or one.made
            file.bytes_written += one.bytes_written
            use = file.ranks.setdefault(rank, RankUse())
            use.wrote = use.wrote or one.wrote
            use.first = min(use.first, one.first)
            use.last = max(use.last, one.last)
            for name, count in one.counts.items():
                use.counts[name] += count
    return Use(
        has_ranks=has_ranks,
        ranks=len({numbers[id(one)] for one in ended}),
        ranks_told=max((one.ranks for one in kept if one.ranks), default=None),
        killed=len(kept) - len(ended),
        left_out=sum(one.left_out for one in ended),
        counts={name: dict(by_rank) for name, by_rank in counts.items()},
        seconds=dict(seconds),
        duration=max((one.duration or 0.0 for one in ended), default=0.0),
        files=sorted(files.values(), key=lambda one: one.path),
        folders=dict(folders),
    )


def ranks_text(ranks: Iterable[int]) -> str:
    """Formats sorted numbers: "0 to 3, 7"."""
    parts: list[list[int]] = []
    for rank in ranks:
        if parts and rank == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], rank]
        else:
            parts.append([rank])
    shown = [" to ".join(map(str, part)) for part in parts[:5]]
    return ", ".join(shown) + (" …" if len(parts) > 5 else "")
