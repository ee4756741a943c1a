"""Formats what `weir record` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weir.mpiio.table import aligned
from weir.replay.joining import Joined
from weir.replay.orders import COLLECTIVE, Order
from weir.results.quantities import seconds_text, size_text

MOST_RANKS = 16
"""Ranks that have lines of their own."""
HEADINGS = ("rank", "files", "calls", "written", "read", "in calls", "between", "lines", "record")


def table(joined: Joined, size: int) -> Iterator[str]:
    """Yields lines: a summary, what is missing, and a row for each of the first ranks.

    `size` is that of the file in bytes.
    """
    files = {path for one in joined.ranks for path in one.files}
    many = len(joined.ranks)
    calls = sum(one.moved().calls.total() for one in joined.ranks)
    yield (
        f"{_number(many, 'rank')}, {_number(len(files), 'file')}, "
        f"{calls} calls; the record has {size_text(size)}"
    )
    yield from _collective(joined)
    yield from _missing(joined)
    rows = [HEADINGS, *(_row(rank, one) for rank, one in enumerate(joined.ranks[:MOST_RANKS]))]
    yield from aligned(rows)
    if many > MOST_RANKS:
        yield f"{many - MOST_RANKS} more ranks"


def _collective(joined: Joined) -> Iterator[str]:
    counts = [one.moved().calls for one in joined.ranks]
    calls = sum(one[kind] for one in counts for kind in COLLECTIVE)
    if calls:
        yield f"{calls} calls of these are collective"
    shapes = {shape for one in joined.ranks for shape in one.shapes}
    if shapes:
        yield f"{_number(len(shapes), 'pattern')} of calls whose bytes are not one block"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _row(rank: int, order: Order) -> tuple[str, ...]:
    moved = order.moved()
    size = sum(len(line) + 1 for line in order.lines)
    return (
        str(rank),
        str(len(order.files)),
        str(moved.calls.total()),
        size_text(moved.bytes_written),
        size_text(moved.bytes_read),
        seconds_text(moved.in_calls),
        seconds_text(moved.between),
        str(len(order.lines)),
        size_text(size),
    )


def _missing(joined: Joined) -> Iterator[str]:
    told = joined.ranks_told
    if told is not None and told > len(joined.ranks):
        yield f"{told - len(joined.ranks)} of {told} ranks left no record: they are not replayed"
    if joined.killed:
        yield f"{joined.killed} processes were killed: what they did is not known"
    missed = sum(one.missed_calls for one in joined.ranks)
    if missed:
        size = size_text(sum(one.missed_bytes for one in joined.ranks))
        yield (
            f"{missed} calls with {size} are not in the record: it is full, threads met there, or "
            "which bytes these are is not known (docs/replay.md)"
        )
    if joined.left_out:
        size = size_text(sum(one.moved().bytes for one in joined.left_out))
        yield f"{len(joined.left_out)} more processes moved {size}: {_programs(joined.left_out)}"
    streams = {path for one in joined.ranks for path in one.streams}
    if streams:
        yield (
            f"reads and writes of {len(streams)} files that fopen opened are not seen: "
            f"{min(streams)}{' …' if len(streams) > 1 else ''}"
        )


def _programs(orders: Sequence[Order]) -> str:
    return ", ".join(sorted({one.program for one in orders}))
