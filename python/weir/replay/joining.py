"""Joins the records of a program's processes to one file (bench/workloads/replay/record.hpp)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weir.replay.orders import Order, with_shapes

FIRST_LINE = "weir-record 2"


@dataclass(frozen=True)
class Joined:
    """The processes that are the ranks of a record, and those that are not."""

    ranks: list[Order]
    left_out: list[Order]
    """Complete records of processes that moved bytes and are no rank: of helpers, or of a second
    program of a rank."""
    killed: int
    """Processes that left no complete record."""
    ranks_told: int | None
    """Number of ranks according to the launcher."""


def joined(orders: Sequence[Order]) -> Joined:
    """Chooses the process of each rank.

    If a launcher numbered processes, the process of a rank is the one with that number that made
    most calls. Otherwise each process that moved bytes is a rank, in the order of their starts.
    """
    complete = [one for one in orders if one.seconds is not None]
    moving = [one for one in complete if one.lines]
    numbered = [one for one in complete if one.rank is not None]
    if numbered:
        by_rank: dict[int, Order] = {}
        for one in numbered:
            assert one.rank is not None
            known = by_rank.get(one.rank)
            if known is None or _weight(one) > _weight(known):
                by_rank[one.rank] = one
        ranks = [by_rank[rank] for rank in sorted(by_rank)]
    else:
        ranks = sorted((one for one in moving if one.moved().bytes), key=lambda one: one.started)
    chosen = {id(one) for one in ranks}
    left_out = [one for one in moving if id(one) not in chosen and one.moved().bytes]
    told = [one.ranks for one in numbered if one.ranks is not None]
    return Joined(ranks, left_out, len(orders) - len(complete), max(told, default=None))


def _weight(order: Order) -> tuple[int, int]:
    moved = order.moved()
    return moved.calls.total(), moved.bytes


def escaped(text: str) -> str:
    """Returns a text as the last word of a line."""
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def record_text(ranks: Sequence[Order], command: str) -> str:
    """Returns the file of a record."""
    return "".join(f"{line}\n" for line in _lines(ranks, command))


def _lines(ranks: Sequence[Order], command: str) -> Iterator[str]:
    numbers: dict[str, int] = {}
    shapes: dict[str, int] = {}
    for order in ranks:
        for path in order.files:
            numbers.setdefault(path, len(numbers))
        for shape in order.shapes:
            shapes.setdefault(shape, len(shapes))
    yield FIRST_LINE
    yield f"command\t{escaped(command)}"
    yield from (f"file\t{escaped(path)}" for path in numbers)
    yield from (f"shape\t{shape}" for shape in shapes)
    for order in ranks:
        files = spans([numbers[path] for path in order.files])
        head = (len(order.lines), order.missed_calls, order.missed_bytes, files)
        yield "rank\t" + "\t".join(str(word) for word in head)
        yield from with_shapes(order.lines, {i: shapes[one] for i, one in enumerate(order.shapes)})
    yield f"end\t{len(numbers)}\t{len(ranks)}"


def spans(numbers: Sequence[int]) -> str:
    """Returns numbers as a list such as 0-2,7, in which a span counts upwards; - if empty."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    words = [f"{low}" if low == high else f"{low}-{high}" for low, high in found]
    return ",".join(words) or "-"
