"""Steps of the workload open: their times, their operations, and operations on more ranks."""

from __future__ import annotations

from collections.abc import Sequence

from weir.analysis.listing import Cell, Listing, Range, Value
from weir.results.opening_records import ExpectedOperations, OpeningStep, StepOperations
from weir.results.quantities import seconds_text
from weir.results.schema import Run

VISIBLE = 5e-4
"""A smaller part of an operation is an artefact of the fit and counts as none."""


SERVER = (
    "server: how long the file system is busy with these operations, at the rate that was given or "
    "probed; a program waits longer"
)


def opening_listing(runs: Sequence[Run]) -> Listing | None:
    """Returns a row for every step of every run; None for other workloads."""
    opened = [run for run in runs if run.opening]
    if not opened:
        return None
    told = [step.operations.expected for run in opened for step in run.opening if step.operations]
    more = max(told, key=len, default=[])
    served = any(one.seconds is not None for one in more)
    unit = " (server)" if served else ""
    head = ["run", "step", "median", "interval", "operations", "of rank 0", "on n ranks"]
    rows = [
        [run.label if place == 0 else "", *_row(step)]
        for run in opened
        for place, step in enumerate(run.opening)
    ]
    head += [f"on {one.ranks:,}{unit}" for one in more]
    return Listing(
        "Times and operations of each step", head, rows, 2, note=SERVER if served else ""
    )


def _row(step: OpeningStep) -> list[Cell]:
    times, counted = step.times, step.operations
    cells: list[Cell] = [
        step.step,
        Value(times.median, "s"),
        Range(times.low, times.high, "s"),
    ]
    if counted is not None:
        cells += [Value(counted.total, "count"), Value(counted.first_rank, "count")]
        cells += [growth_text(counted), *(_more(one) for one in counted.expected)]
    return cells


def _more(one: ExpectedOperations) -> Cell:
    if one.seconds is None:
        return Value(one.operations, "count")
    return f"{round(one.operations):,} ({seconds_text(one.seconds)})"


def growth_text(operations: StepOperations) -> str:
    """Returns how operations grow, such as "2 + 3 n", by nodes; or says that counts are too few."""
    nodes = operations.nodes
    if nodes is not None:
        first, further = nodes.first_node, _number(nodes.further_node)
        return f"{first} + {further} per further node of {nodes.ranks_per_node}"
    if not operations.expected:
        return "unknown below 3 ranks"
    fixed, each = operations.fixed, operations.per_rank
    if abs(each) < VISIBLE:
        return _number(max(fixed, 0.0))
    if abs(fixed) < VISIBLE:
        return f"{_number(each)} n"
    if fixed < 0:
        return f"{_number(each)} n - {_number(-fixed)}"
    return f"{_number(fixed)} + {_number(each)} n"


def _number(value: float) -> str:
    return f"{round(value)}" if abs(value - round(value)) < VISIBLE else f"{value:.2f}"
