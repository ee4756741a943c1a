"""Determines what the trace shows: which repetition, which ranks, and every interval.

Figure 3 of Borrill et al. (section 2.3) has one row per rank and shows every operation. The trace
does the same up to ``ROWS_LIMIT`` ranks and ``EXACT_LIMIT`` intervals. Beyond the first limit, rows
are chosen: the slowest and the fastest ranks, and others at equal distances. Beyond the second,
each row is divided into columns, and each column shows the kind that fills most of it. The caption
states both.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from weir.report.event_store import TRANSFERS, Events
from weir.report.sources import measured
from weir.results.events import OPERATION_NAMES
from weir.results.schema import Run

ROWS_LIMIT = 64
EXTREMES = 8
EXACT_LIMIT = 12_000
COLUMN_LIMIT = 40_000
MOST_COLUMNS = 800

KINDS = (*OPERATION_NAMES, "barrier wait", "token wait", "blocked in I/O")
BARRIER_WAIT, TOKEN_WAIT = KINDS.index("barrier wait"), KINDS.index("token wait")
BLOCKED = KINDS.index("blocked in I/O")
TRANSFER_CODES = tuple(OPERATION_NAMES.index(name) for name in TRANSFERS)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Choice:
    """A repetition to draw, and the reason for choosing it."""

    repetition: int
    reason: str


@dataclass(frozen=True)
class Intervals:
    """Intervals of all ranks: columns of equal length. ``event`` is -1 for a merged interval."""

    rank: Integers
    kind: Integers
    start_ns: Integers
    end_ns: Integers
    event: Integers

    def __len__(self) -> int:
        return len(self.rank)

    def of(self, chosen: NDArray[np.bool_]) -> Intervals:
        return Intervals(
            self.rank[chosen],
            self.kind[chosen],
            self.start_ns[chosen],
            self.end_ns[chosen],
            self.event[chosen],
        )


def choose_repetitions(run: Run, available: dict[int, int]) -> list[Choice]:
    """Returns the repetition of median duration and, if clearly slower, the slowest one.

    For a run that did not finish it is the last repetition with events.
    """
    if run.status != "complete" and available:
        last = max(available)
        return [Choice(last, f"repetition {last}, the last before the run ended")]
    complete = [r for r in measured(run) if r.index in available]
    if not complete:
        return [Choice(index, f"repetition {index}") for index in sorted(available)[-1:]]
    middle = median([r.seconds for r in complete])
    typical = min(complete, key=lambda r: (abs(r.seconds - middle), r.index))
    number = len(complete)
    reason = f"repetition {typical.index}, whose duration is nearest the median of {number}"
    choices = [Choice(typical.index, reason)]
    slowest = max(complete, key=lambda r: (r.seconds, -r.index))
    if slowest.seconds > 1.1 * typical.seconds:
        excess = (slowest.seconds / typical.seconds - 1) * 100
        reason = f"repetition {slowest.index}, the slowest, {excess:.0f} % longer than the typical"
        choices.append(Choice(slowest.index, reason))
    return choices


def io_seconds_by_rank(events: Events) -> tuple[Integers, Floats]:
    """Returns the ranks, ascending, and the time of each in read, write and sync."""
    ranks, index = np.unique(events.rank, return_inverse=True)
    moving = np.isin(events.operation, TRANSFER_CODES)
    took = np.where(moving, events.end_ns - events.start_ns, 0).astype(np.float64) * 1e-9
    sums: Floats = np.bincount(index, weights=took, minlength=len(ranks)).astype(np.float64)
    return ranks.astype(np.int64), sums


def choose_ranks(ranks: Integers, io_seconds: Floats, limit: int = ROWS_LIMIT) -> list[int]:
    """Returns all ranks, or the slowest, the fastest and equidistant others, in rank order."""
    if len(ranks) <= limit:
        return [int(rank) for rank in ranks]
    by_time = np.argsort(-io_seconds, kind="stable")
    chosen = {int(ranks[i]) for i in (*by_time[:EXTREMES], *by_time[-EXTREMES:])}
    others = [int(rank) for rank in ranks if int(rank) not in chosen]
    places = np.linspace(0, len(others) - 1, limit - len(chosen)).round().astype(int)
    chosen.update(others[place] for place in places)
    return sorted(chosen)


def intervals_of(events: Events, asynchronous: bool = False) -> Intervals:
    """Returns every operation, the token wait before it, and the barrier wait after it.

    In asynchronous runs a transfer and the time for which it blocked its rank differ: the blocked
    time is a separate interval.
    """
    number = np.arange(len(events), dtype=np.int64)
    everything = np.ones(len(events), dtype=np.bool_)
    begins = barrier_start(events)
    parts: list[tuple[NDArray[np.bool_], Integers | int, Integers, Integers]] = [
        (everything, events.operation.astype(np.int64), events.start_ns, events.end_ns),
        (events.barrier_wait_ns > 0, BARRIER_WAIT, begins, begins + events.barrier_wait_ns),
        (
            events.token_wait_ns > 0,
            TOKEN_WAIT,
            events.start_ns - events.token_wait_ns,
            events.start_ns,
        ),
    ]
    if asynchronous:
        transfers = np.isin(events.operation, TRANSFER_CODES)
        blocks = transfers & (events.foreground_ns > 0)
        blocked = blocked_start(events)
        parts.append((blocks, BLOCKED, blocked, blocked + events.foreground_ns))
    return Intervals(
        np.concatenate([events.rank[chosen].astype(np.int64) for chosen, _, _, _ in parts]),
        np.concatenate(
            [np.broadcast_to(kind, len(events))[chosen] for chosen, kind, _, _ in parts]
        ),
        np.concatenate([start[chosen] for chosen, _, start, _ in parts]),
        np.concatenate([end[chosen] for chosen, _, _, end in parts]),
        np.concatenate([number[chosen] for chosen, _, _, _ in parts]),
    )


def untimed_share(intervals: Intervals, asynchronous: bool) -> float:
    """Returns the share of the ranks' time, 0 to 1, in which a rank was in none of the kinds."""
    own = intervals
    if asynchronous:
        own = intervals.of(~np.isin(intervals.kind, TRANSFER_CODES))
    duration = int(intervals.end_ns.max() - intervals.start_ns.min())
    whole = duration * len(np.unique(intervals.rank))
    return max(0.0, 1 - float((own.end_ns - own.start_ns).sum()) / whole) if whole else 0.0


def barrier_start(events: Events) -> Integers:
    """Returns when the barrier wait after each operation began: at the operation's end.

    A durable sync belongs to its write. If the wait is recorded with the write and the sync was
    made before the wait, the wait began when the sync had ended.
    """
    write, sync = OPERATION_NAMES.index("write"), OPERATION_NAMES.index("sync")
    start = events.end_ns.copy()
    if len(events) > 1:
        followed = (
            (events.operation[:-1] == write)
            & (events.operation[1:] == sync)
            & (events.rank[:-1] == events.rank[1:])
            & (events.bin[:-1] == events.bin[1:])
            & (events.start_ns[1:] < events.end_ns[:-1] + events.barrier_wait_ns[:-1])
        )
        start[:-1][followed] = events.end_ns[1:][followed]
    return start


def blocked_start(events: Events) -> Integers:
    """Returns when each operation began to block its rank; it did so for ``foreground_ns``.

    A rank is blocked while it waits for a transfer's end, or while starting one does not return at
    once. Events have only the sum. Because a rank cannot compute while blocked, the place that
    overlaps less with its computation is chosen: the end of the transfer, or its start.
    """
    at_end = events.end_ns - events.foreground_ns
    place = at_end.copy()
    computing = ~np.isin(events.operation, TRANSFER_CODES)
    begins = np.flatnonzero(np.diff(events.rank, prepend=-1))  # Events are sorted by rank.
    for low, high in itertools.pairwise([*begins.tolist(), len(events)]):
        worked = low + np.flatnonzero(computing[low:high])
        if not len(worked):
            continue
        knots = np.column_stack([events.start_ns[worked], events.end_ns[worked]]).ravel()
        done = np.repeat(np.cumsum(events.end_ns[worked] - events.start_ns[worked]), 2)
        done[0::2] -= events.end_ns[worked] - events.start_ns[worked]

        own = slice(low, high)
        lasting = events.foreground_ns[own]
        early, late = (
            np.interp(begin + lasting, knots, done) - np.interp(begin, knots, done)
            for begin in (events.start_ns[own], at_end[own])
        )
        place[own] = np.where(early < late, events.start_ns[own], at_end[own])
    return place


def coverage(start: Floats, end: Floats, edges: Floats) -> Floats:
    """Returns the time that intervals cover within each column; overlaps count twice.

    The time covered up to t is the sum of (t - start) over the intervals begun less the sum of (t -
    end) over those ended; with sorted ends both are prefix sums.
    """

    def begun(points: Floats) -> Floats:
        ordered = np.sort(points)
        sums = np.concatenate([[0.0], np.cumsum(ordered)])
        passed = np.searchsorted(ordered, edges, side="right")
        covered: Floats = passed * edges - sums[passed]
        return covered

    return np.diff(begun(start) - begun(end)).astype(np.float64)


def in_columns(intervals: Intervals, lanes: list[set[int]]) -> Intervals:
    """Merges intervals by column: a column of a rank's lane gets the kind that fills most of it."""
    origin = int(intervals.start_ns.min())
    ranks = np.unique(intervals.rank)
    columns = max(100, min(MOST_COLUMNS, COLUMN_LIMIT // (len(ranks) * len(lanes))))
    edges = np.linspace(0, float(intervals.end_ns.max() - origin), columns + 1)
    merged: list[tuple[int, int, int, int]] = []
    for rank in ranks:
        own = intervals.of(intervals.rank == rank)
        for lane in lanes:
            kinds = sorted(lane)
            filled = np.array(
                [
                    coverage(
                        (own.start_ns[own.kind == kind] - origin).astype(np.float64),
                        (own.end_ns[own.kind == kind] - origin).astype(np.float64),
                        edges,
                    )
                    for kind in kinds
                ]
            )
            best = np.where(filled.sum(axis=0) >= 0.5 * np.diff(edges), filled.argmax(axis=0), -1)
            cuts = np.flatnonzero(np.diff(best)) + 1
            for first, last in zip([0, *cuts], [*cuts, columns], strict=True):
                if best[first] >= 0:
                    begin, end = int(edges[first]) + origin, int(edges[last]) + origin
                    merged.append((int(rank), kinds[int(best[first])], begin, end))
    table = np.array(merged, dtype=np.int64).reshape(-1, 4)
    return Intervals(table[:, 0], table[:, 1], table[:, 2], table[:, 3], np.full(len(table), -1))
