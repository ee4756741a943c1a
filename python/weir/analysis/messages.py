"""What messages between ranks and I/O cost each other: madbench --messages."""

from __future__ import annotations

from collections.abc import Sequence

from weir.analysis.listing import Cell, Listing, Value
from weir.results.message_records import MovedBeside
from weir.results.quantities import percent_text
from weir.results.schema import Run

NOTE = (
    "Alone: the rate in the SYNC run, where I/O and messages alternate. At the same time: the rate "
    "in the ASYNC run, of transfers (of S and of C) during which messages travelled for 90 % of "
    "the time or more, and of messages beside transfers. Kept: the ratio of both in the same "
    "repetition, with the interval for its median. Rates are those of all ranks together. "
    "Messages also take processor time, which I/O through the page cache needs as well."
)


def messages_listing(runs: Sequence[Run]) -> Listing | None:
    """Returns a row for each kind of movement of each ASYNC run with its SYNC run; else None."""
    by_id = {run.id: run for run in runs}
    rows: list[Sequence[Cell]] = []
    for run in runs:
        if run.messages is None or run.messages.alone_run_id is None:
            continue
        sibling = by_id.get(run.messages.alone_run_id)
        alone = sibling.messages.kinds if sibling is not None and sibling.messages else []
        by_kind = {one.moved: one for one in alone}
        rows += [_row(run.label, one, by_kind.get(one.moved)) for one in run.messages.kinds]
    if not rows:
        return None
    head = ["run", "what moves", "alone", "at the same time", "kept", "interval", "counted"]
    return Listing("Messages and I/O at the same time", head, rows, 2, "", NOTE)


def _row(label: str, one: MovedBeside, sibling: MovedBeside | None) -> list[Cell]:
    alone = sibling.alone if sibling is not None else None
    kept = one.kept
    return [
        label,
        one.moved,
        None if alone is None else Value(alone.median, "bytes/s"),
        None if one.together is None else Value(one.together.median, "bytes/s"),
        None if kept is None else Value(kept.median, "share"),
        None
        if kept is None
        else f"{percent_text(kept.low)} to {percent_text(kept.high)} "
        f"({percent_text(kept.confidence)})",
        Value(one.together_share, "share"),
    ]
