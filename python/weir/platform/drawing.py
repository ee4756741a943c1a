"""Draws platform descriptions at the terminal.

One is drawn with its stages as bars, limits, costs, wiring, topology and fits; several are rows of
a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from weir.bench.tables import plain_table
from weir.platform.summary import Row, device_texts, fit_of, limits, rows
from weir.platform.table import HEAD, NOTE, machine_row
from weir.platform.topology import Branch, topology_tree
from weir.platform.wiring import io_group_texts, sources, wiring_tree
from weir.results.platform import Platform
from weir.results.quantities import percent_text, rate_text, seconds_text, significant, size_text
from weir.results.record import Quantity

BAR_CELLS = 24
COLOURS = {"node": "cyan", "rank": "cyan", "node link": "magenta"}
TARGET_COLOUR = "yellow"


def draw_platform(console: Console, platform: Platform) -> None:
    """Draws everything, the path first."""
    when = f", measured {platform.measured_utc}" if platform.measured_utc else ", not measured"
    took = f" in {seconds_text(platform.seconds)}" if platform.seconds else ""
    console.print(f"[bold]{escape(platform.name)}[/bold]{when}{took}", highlight=False)
    quiet = platform.conditions.get("quiet")
    if isinstance(quiet, str):
        console.print(f"  system: {escape(quiet)}", highlight=False)
    console.print()
    draw_stages(console, platform)
    console.print()
    draw_limits(console, platform)
    draw_costs(console, platform)
    draw_metadata(console, platform)
    draw_wiring(console, platform)
    console.print()
    console.print(_rich_tree(topology_tree(platform)))
    draw_doubts(console, platform)


def draw_machines(console: Console, platforms: Sequence[Platform]) -> None:
    """Draws a table with a row for each machine."""
    table = plain_table(*HEAD)
    for platform in platforms:
        table.add_row(*(escape(cell) for cell in machine_row(platform).cells()))
    console.print(table)
    console.print()
    console.print(NOTE, highlight=False)


def draw_wiring(console: Console, platform: Platform) -> None:
    """Draws the edges as a tree with their rates and origins, then groups of nodes and sources."""
    tree = wiring_tree(platform)
    if tree is not None:
        console.print()
        console.print(_rich_tree(tree), highlight=False)
    for text in io_group_texts(platform):
        console.print(text, highlight=False, markup=False)
    for text in sources(platform):
        console.print(f"  {text}", style="dim", highlight=False, markup=False)


def draw_stages(console: Console, platform: Platform) -> None:
    """Draws one line per stage in the order of the path; bars share one logarithmic scale."""
    all_rows = rows(platform)
    scale = [row.total for row in all_rows if row.total > 0]
    if not scale:
        console.print("no stage has a rate")
        return
    low = 4.0 ** math.floor(math.log(min(scale), 4))
    high = 4.0 ** math.ceil(math.log(max(scale), 4))
    table = plain_table("stage", "at", ">units", ">of one unit", "95 % interval", ">fixed cost")
    table.add_column(f"all units, {rate_text(low)} to {rate_text(high)}", no_wrap=True)
    table.add_column("fit is off by", justify="right", no_wrap=True)
    for row in all_rows:
        colour = COLOURS.get(row.kind, TARGET_COLOUR)
        fixed = row.fixed.value
        table.add_row(
            f"  {escape(row.name)}" if row.is_unit else escape(row.name),
            "" if row.is_unit else row.kind,
            "" if row.is_unit else str(row.units),
            rate_text(row.rate.value),
            interval_text(row.rate),
            seconds_text(fixed) if fixed else "",
            f"[{colour}]{bar(row.total, low, high)}[/]",
            fit_text(platform, row),
            style="dim" if row.is_unit else None,
        )
    console.print(table)


OPEN_ABOVE = 10.0
"""An upper end of an interval more than this many times the value is not a useful bound."""


def bar(value: float, low: float, high: float, cells: int = BAR_CELLS) -> str:
    """A bar of eighths of a cell: empty at ``low``, full at ``high``, logarithmic in between."""
    if value <= low or high <= low:
        return "▏"
    eighths = round(8 * cells * min(1.0, math.log(value / low) / math.log(high / low)))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def interval_text(quantity: Quantity) -> str:
    """Returns low and high as percentages of the value; empty without an interval."""
    if quantity.low == quantity.value == quantity.high or quantity.value <= 0:
        return ""
    low, high = quantity.low / quantity.value - 1, quantity.high / quantity.value - 1
    above = f"{100 * high:+.0f} %" if high < OPEN_ABOVE else "and open above"
    return f"{100 * low:+.0f} % {above}"


def fit_text(platform: Platform, row: Row) -> str:
    """Returns the median error on held-out samples."""
    fit = fit_of(platform, row)
    if fit is None:
        return ""
    text = percent_text(fit.held_out_median_error)
    return text if fit.fits else f"[red]{text}, no fit[/]"


def draw_limits(console: Console, platform: Platform) -> None:
    """Draws the stage that limits large and small transfers of all ranks."""
    for limit in limits(platform):
        console.print(
            f"{limit.what} of {size_text(limit.operation_bytes)} by all ranks: limited by "
            f"[bold]{escape(limit.stage)}[/bold], about {rate_text(limit.bytes_per_second)}",
            highlight=False,
        )


def draw_costs(console: Console, platform: Platform) -> None:
    """Draws the costs of single operations that move few bytes or none."""
    costs = [
        f"{name} {seconds_text(quantity.value)}"
        for name, quantity in platform.latencies_seconds.items()
    ]
    if costs:
        console.print(f"one operation: {escape(', '.join(costs))}", highlight=False)
    work = platform.busy_work_operations_per_second
    if work is not None:
        console.print(
            f"busy work of a rank: {significant(work.value / 1e9)} operations per ns",
            highlight=False,
        )


def draw_metadata(console: Console, platform: Platform) -> None:
    """Draws operations on names per second, with one client and with all, and the device's."""
    for target in platform.metadata:
        head = f"on names, per second{_of(target.directory)}"
        table = plain_table(head, ">one client", f">{target.clients} clients", ">in one directory")
        for name, rates in target.operations.items():
            figures = (rates.one_client, rates.all_clients, rates.one_directory)
            table.add_row(name, *("" if one is None else _per_second(one) for one in figures))
        console.print()
        console.print(table)
        for text in device_texts(target):
            console.print(escape(text), highlight=False)


def _of(directory: str | None) -> str:
    return "" if directory is None else f", {escape(directory)}"


def _per_second(rate: Quantity) -> str:
    return (
        f"{significant(rate.value)} ({interval_text(rate)})"
        if interval_text(rate)
        else (significant(rate.value))
    )


def draw_doubts(console: Console, platform: Platform) -> None:
    """Draws what the probe had to leave out, and fits that are poor."""
    warnings = platform.conditions.get("warnings")
    told: Sequence[str] = [str(one) for one in warnings] if isinstance(warnings, list) else []
    for text in told:
        console.print(f"warning: {escape(text)}", highlight=False)
    for fit in platform.fits:
        if not fit.fits:
            console.print(f"warning: {escape(fit.stage)}: {escape(fit.text)}", highlight=False)


def _rich_tree(branch: Branch, parent: Tree | None = None) -> Tree:
    tree = Tree(escape(branch.text)) if parent is None else parent.add(escape(branch.text))
    for child in branch.children:
        _rich_tree(child, tree)
    return tree
