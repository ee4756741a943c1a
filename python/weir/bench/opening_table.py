"""Prints the table of ``weir bench open``: times, operations, and operations on more ranks."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from weir.analysis.opening import growth_text
from weir.results.opening_records import ExpectedOperations
from weir.results.quantities import seconds_text
from weir.results.schema import Run


def show_opening(console: Console, runs: Sequence[Run]) -> None:
    """Prints a line for every step of every complete run; nothing for other workloads."""
    opened = [run for run in runs if run.opening and run.status == "complete"]
    if not opened:
        return
    table = Table(box=None, header_style="bold", padding=(0, 1), pad_edge=False)
    table.add_column("run", no_wrap=True)
    table.add_column("step", no_wrap=True)
    for name in ("median", "operations", "on n ranks"):
        table.add_column(name, justify="right", no_wrap=True)
    told = [step.operations.expected for run in opened for step in run.opening if step.operations]
    more = max(told, key=len, default=[])
    served = any(one.seconds is not None for one in more)
    for one in more:
        unit = " (server)" if served else ""
        table.add_column(f"on {one.ranks:,}{unit}", justify="right", no_wrap=True)
    for run in opened:
        for place, step in enumerate(run.opening):
            label = escape(run.label) if place == 0 else ""
            cells = [label, step.step, seconds_text(step.times.median_seconds)]
            if step.operations is not None:
                cells += [str(step.operations.total), growth_text(step.operations)]
                cells += [_more(one) for one in step.operations.expected]
            table.add_row(*cells)
    console.print(table)
    if served:
        console.print(
            "server: how long the file system is busy with these operations, at the rate that "
            "was given or probed; a program waits longer",
            highlight=False,
        )


def _more(one: ExpectedOperations) -> str:
    total = f"{round(one.operations):,}"
    return total if one.seconds is None else f"{total} ({seconds_text(one.seconds)})"
