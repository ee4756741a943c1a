"""The time of files that stagers take over from a program which computes between its output steps.

"Asynchronous data staging blocks the computation only for the duration of copying data from the CN
to the staging nodes. [...] If there is insufficient memory on the staging nodes (receivers), the
transfer is blocked until sufficient buffer/memory space is made available" (Vishwanath, Hereld,
Morozov, Papka, SC 2011, section 4.3). With a file of B bytes and stagers whose memory has room
for R more of them:

    hand-over   B <= R   B / h                          h: rate of the hand-over
                B > R    R / h + (B - R) / d            d: rate at which stagers store
    storing     B / d, from the end of the hand-over or, where the memory is full, from then on

A stager stores one file after the other in the order of their hand-over, and keeps a file in memory
until all of it has come (docs/staging.md, section Memory). So within a step both take turns, and
over many steps the slower one is the limit. R is what the files before have left, of which
computing for W seconds hides min(W, time of storing). If there is room for a single step, a rank
waits as in ``weir.model.overlap.hidden_seconds``, where one transfer runs behind computation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True)
class StagedFile:
    """One file: its times by the hand-over alone and by storing alone, at the full rate of each.

    ``kind`` names the files that are measured together, such as checkpoints.
    """

    kind: str
    bytes: float
    hand_over_seconds: float
    storing_seconds: float


@dataclass(frozen=True)
class StagedTime:
    """What a program and its storage take, in seconds over all files.

    ``blocked`` is the time of all hand-overs, of which ``waiting`` is that for room in the stagers'
    memory. ``until_stored`` is the time during which some file of a kind was begun and not stored
    yet, added up over the kinds.
    """

    blocked_seconds: float
    waiting_seconds: float
    until_stored_seconds: float

    @property
    def hidden_fraction(self) -> float:
        """The share of the time to storage for which the program is not blocked."""
        if self.until_stored_seconds <= 0:
            return 0.0
        return max(0.0, 1 - self.blocked_seconds / self.until_stored_seconds)


class _Taken(NamedTuple):
    """When a file is copied if nothing waits, when it is handed over, and when it is stored."""

    copied: float
    handed_over: float
    stored: float


@dataclass
class _Stagers:
    """The files in the stagers' memory: when each is begun to be stored, and when it is stored."""

    room_bytes: float
    held: deque[tuple[float, float, float]] = field(default_factory=deque)
    """Begin, end and bytes of each file, in their order."""
    free_at: float = 0.0

    def held_bytes(self, now: float) -> float:
        while self.held and self.held[0][1] <= now:
            self.held.popleft()
        return sum(held * _left(now, begin, end) for begin, end, held in self.held)

    def stored_at(self, now: float, amount: float) -> float:
        """Returns when ``amount`` bytes of those that are held at ``now`` are stored."""
        for begin, end, held in self.held:
            left = held * _left(now, begin, end)
            if amount <= left and left > 0:
                return end - (end - begin) * (left - amount) / held
            amount -= left
        return max(now, self.free_at)

    def take(self, now: float, file: StagedFile) -> _Taken:
        """Takes over a file from ``now`` on."""
        held = self.held_bytes(now)
        copied = now + file.hand_over_seconds
        excess = held + file.bytes - self.room_bytes
        begin = max(copied, self.free_at)
        if excess <= 0 or file.bytes <= 0:
            handed_over = copied
        elif excess <= held:
            handed_over = max(copied, self.stored_at(now, excess))
            begin = max(handed_over, self.free_at)
        else:
            # The memory is full before all has come: the file's own first bytes are stored.
            room = max(0.0, self.room_bytes - held)
            begin = max(self.free_at, now + file.hand_over_seconds * room / file.bytes)
            own = file.storing_seconds * (excess - held) / file.bytes
            handed_over = max(copied, begin + own)
        stored = max(begin + file.storing_seconds, handed_over)
        self.held.append((begin, stored, file.bytes))
        self.free_at = stored
        return _Taken(copied, handed_over, stored)


def staged_time(
    steps: Iterable[Sequence[StagedFile]], computing_seconds: float, room_bytes: float
) -> StagedTime:
    """Returns the times of output steps, each of which is followed by computing.

    ``room_bytes`` is the memory of all stagers together, infinite if it holds everything. They hold
    nothing at first.
    """
    stagers = _Stagers(room_bytes)
    now = blocked = waiting = until_stored = 0.0
    last_of: dict[str, float] = {}
    for files in steps:
        for file in files:
            taken = stagers.take(now, file)
            blocked += taken.handed_over - now
            waiting += taken.handed_over - taken.copied
            # A file that is begun before the one before it is stored counts from there on.
            until_stored += max(0.0, taken.stored - max(now, last_of.get(file.kind, 0.0)))
            last_of[file.kind] = taken.stored
            now = taken.handed_over
        now += computing_seconds
    return StagedTime(blocked, waiting, until_stored)


def _left(now: float, begin: float, end: float) -> float:
    """Returns the share that is not stored yet."""
    if now <= begin:
        return 1.0
    return (end - now) / (end - begin) if now < end else 0.0
