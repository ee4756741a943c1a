"""What pollers cost other ranks: runs of the workload flagfile beside the run without pollers."""

from __future__ import annotations

from collections.abc import Sequence

from weir.analysis.listing import Cell, Listing, Value
from weir.results.figures import NOTICE, headlines_of
from weir.results.quantities import percent_text
from weir.results.schema import Run

NOTE = (
    "The same ranks called stat on their own files in all runs; the number of other ranks that "
    "polled one file differs. The values are medians, in operations per second of all ranks of "
    "a kind. On one machine, pollers use processor time and file system time."
)


def polled_listing(runs: Sequence[Run]) -> Listing | None:
    """Returns a row for each complete run, by number of pollers; None for other workloads."""
    found = [(run.flag, run) for run in runs if run.flag is not None and run.status == "complete"]
    if not found:
        return None
    found.sort(key=lambda one: one[0].pollers)
    head = ["run", "others' stat", "of unpolled", "polls", "flag seen after"]
    medians = [{one.function: one.series.median for one in headlines_of(run)} for _, run in found]
    alone = medians[0].get("stat") if found[0][0].pollers == 0 else None
    rows: list[list[Cell]] = []
    shares = []
    for (_, run), known in zip(found, medians, strict=True):
        others, polls, notice = known.get("stat", 0.0), known.get("poll"), known.get(NOTICE)
        row: list[Cell] = [run.label, Value(others, "1/s")]
        row.append(Value(others / alone, "share") if alone else None)
        row.append(None if polls is None else Value(polls, "1/s"))
        row.append(None if notice is None else Value(notice, "s"))
        rows.append(row)
        shares += [(others / alone, run.label)] if alone else []
    lead = ""
    if len(shares) > 1:
        share, label = min(shares)
        lead = (
            f"With {label} the look-ups of the other ranks reach {percent_text(share)} of their "
            "rate without pollers."
        )
    return Listing("How pollers slow down other ranks", head, rows, lead=lead, note=NOTE)
