"""Shows a table of words and figures."""

from __future__ import annotations

from weir.analysis.listing import Cell, Listing, Range, Value, Word
from weir.report.chart import table
from weir.report.markup import Child, Markup, element, join
from weir.report.quantities import count, figure_range_text, percent_text, shown
from weir.report.wording import badge


def render(listing: Listing | None, *, titled: bool = False, skipped: int = 0) -> Markup | None:
    """Returns the table with its remarks, without its first ``skipped`` columns."""
    if listing is None:
        return None
    rows = [[_cell(cell) for cell in row[skipped:]] for row in listing.rows]
    numeric = listing.numeric_from - skipped
    head = listing.head[skipped:]
    return join(
        element("p", listing.lead, class_="lead") if listing.lead else None,
        table(head, rows, caption=listing.caption, numeric_from=numeric, titled=titled),
        element("p", listing.note, class_="note") if listing.note else None,
    )


def _cell(cell: Cell) -> Child:
    if isinstance(cell, Word):
        return join(badge(cell.verdict), cell.remark)
    if isinstance(cell, Range):
        return figure_range_text(*cell[:3]) + cell.remark
    if not isinstance(cell, Value):
        return cell and element("bdi", cell)
    if cell.unit == "count":
        return count(round(cell.value))
    return percent_text(cell.value) if cell.unit == "share" else shown(cell.value, cell.unit)
