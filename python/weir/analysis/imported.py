"""The figures of runs that other programs measured, as a table for terminal and report."""

from __future__ import annotations

from collections.abc import Sequence

from weir.analysis.listing import Cell, Listing, Range, Value
from weir.results.figures import Figure, figures_of
from weir.results.schema import Run

HEAD = ["run", "figure", "formed as", "median", "interval", "repetitions"]
NOTE = (
    "A figure is compared only with one that was formed in the same way: total includes opening "
    "and closing, barrier the closing barrier, span neither."
)


def imported_listing(runs: Sequence[Run]) -> Listing | None:
    """Returns a row for each figure of the imported runs; None if there is no such run."""
    rows = [
        _row(run, figure) for run in runs if run.imported is not None for figure in figures_of(run)
    ]
    if not rows:
        return None
    return Listing("Figures as other programs state them", HEAD, rows, 3, note=NOTE)


def _row(run: Run, figure: Figure) -> Sequence[Cell]:
    series = figure.series
    number = len(series.values)
    if number == 0 and run.imported is not None:
        number = run.imported.repetitions
    return [
        run.label,
        figure.name,
        figure.metric.replace("_", " "),
        Value(series.median, figure.unit),
        None if number < 2 else Range(series.low, series.high, figure.unit),
        Value(number, "count"),
    ]
