"""What a program observes of its output, and what storage does: runs of flash and s3d."""

from __future__ import annotations

from collections.abc import Sequence

from weir.analysis.listing import Cell, Listing, Value
from weir.results.output_records import OutputStream
from weir.results.quantities import percent_text
from weir.results.schema import Run

NOTE = (
    "Observed: bytes over the time for which the slowest rank was blocked. Storage: bytes over the "
    "time until the files were durable. Hidden: the share of that time for which the program was "
    "not blocked. Stager wait: for how long of a repetition's blocked time the slowest rank waited "
    "for its stager, instead of copying. Work: the busy work of a repetition, against what was "
    "requested; storing in the background takes processor time from it. The values are medians."
)


def outputs_listing(runs: Sequence[Run]) -> Listing | None:
    """Returns a row for each kind of file of each complete run; None for other workloads."""
    found = [(run, run.outputs) for run in runs if run.outputs and run.status == "complete"]
    if not found:
        return None
    head = ["run", "files", "observed", "storage", "hidden", "stager wait", "work", "of requested"]
    rows: list[Sequence[Cell]] = []
    hidden: list[tuple[float, str]] = []
    for run, outputs in found:
        wanted = outputs.work_requested_seconds
        for place, stream in enumerate(outputs.streams):
            row: list[Cell] = [run.label if place == 0 else "", *_row(stream)]
            took = outputs.work.median
            worked = wanted > 0 and place == 0
            row.append(Value(took, "s") if worked else None)
            row.append(Value(took / wanted, "share") if worked else None)
            rows.append(row)
            if stream.hidden_fraction is not None:
                hidden.append((stream.hidden_fraction, f"{stream.stream} files with {run.label}"))
    lead = ""
    if hidden:
        share, what = max(hidden)
        lead = f"At most {percent_text(share)} of the time to storage is hidden: of {what}."
    return Listing("What the program observes of its output", head, rows, 2, lead, NOTE)


def _row(stream: OutputStream) -> list[Cell]:
    hidden, waited = stream.hidden_fraction, stream.stager_wait
    return [
        f"{stream.files} {stream.stream}",
        Value(stream.observed.median, "bytes/s"),
        Value(stream.storage.median, "bytes/s"),
        None if hidden is None else Value(hidden, "share"),
        None if waited is None else Value(waited.median, "s"),
    ]
