"""Prints the table of ``weir bench flagfile``: rates of other ranks by the number of pollers."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from weir.analysis.flagfile import polled_lines
from weir.results.quantities import percent_text, seconds_text
from weir.results.schema import Run


def show_flagfile(console: Console, runs: Sequence[Run]) -> None:
    """Prints a line for every complete run; nothing for other workloads."""
    lines = polled_lines(runs)
    if not lines:
        return
    table = Table(box=None, header_style="bold", padding=(0, 1), pad_edge=False)
    table.add_column("run", no_wrap=True)
    for name in ("others' stat/s", "of unpolled", "polls/s", "flag seen after"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(
            escape(line.label),
            f"{line.others_rate:,.0f}",
            "" if line.share is None else percent_text(line.share),
            "" if line.polls_rate is None else f"{line.polls_rate:,.0f}",
            "" if line.notice_seconds is None else seconds_text(line.notice_seconds),
        )
    console.print(table)
