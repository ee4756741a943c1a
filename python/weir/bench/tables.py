"""Prints tables at the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from weir.analysis.listing import Cell, Listing, Word, cell_text

COLOURS: dict[str, str] = {
    "as expected": "green",
    "as calibrated": "yellow",
    "not decided": "cyan",
    "below": "yellow",
    "above": "red",
    "no expectation": "dim",
}


def show_listing(console: Console, listing: Listing | None) -> None:
    """Prints a table of words and figures with its remarks; nothing if there is no table."""
    if listing is None:
        return
    first = listing.numeric_from
    table = plain_table(*listing.head[:first], *(f">{name}" for name in listing.head[first:]))
    for row in listing.rows:
        table.add_row(*(_coloured(cell) for cell in row))
    console.print(table)
    for remark in (listing.lead, listing.note):
        if remark:
            console.print(remark, highlight=False, markup=False)


def _coloured(cell: Cell) -> str:
    text = escape(cell_text(cell))
    colour = COLOURS.get(cell.verdict) if isinstance(cell, Word) else None
    return f"[{colour}]{text}[/]" if colour else text


def plain_table(*names: str) -> Table:
    """Returns a table without lines; ">" before a name aligns its column to the right.

    A column whose name begins with "=" wraps its text.
    """
    table = Table(box=None, header_style="bold", padding=(0, 1), pad_edge=False)
    for name in names:
        table.add_column(
            name.lstrip(">="),
            justify="right" if name.startswith(">") else "left",
            no_wrap=not name.startswith("="),
            overflow="fold" if name.startswith("=") else "ellipsis",
        )
    return table
