"""Draws how fast each rank moved bytes over the whole run, as a heat map for each direction."""

from __future__ import annotations

from weir.report import heat_map
from weir.report.chart import FULL_WIDTH, csv, figure
from weir.report.event_store import EventStore
from weir.report.heat_map import HeatMap
from weir.report.markup import Markup, element, join
from weir.report.quantities import plural
from weir.results.expectations import Direction

COLUMNS = 160
DIRECTIONS: tuple[Direction, ...] = ("write", "read")


def render(store: EventStore) -> Markup | None:
    """Returns the figure; None if a single rank moved bytes, or none did."""
    ranks = store.rank_count()
    first = heat_map.first_of_rows(ranks)
    maps = {
        direction: heat
        for direction in DIRECTIONS
        if (heat := _map(store, direction, ranks, first)) is not None
    }
    if ranks < 2 or not maps:
        return None
    together = -(-ranks // len(first))
    rows = f"the slowest of up to {together} consecutive ranks" if together > 1 else "a rank"
    caption = join(
        element("strong", f"{plural(ranks, 'rank')} over the run"),
        f" \u2013 each row is {rows}, warm-ups included: bytes over the time in which it moved "
        "them, with the durable sync that follows a write. Blank: it moved none then.",
    )
    images = [
        heat_map.draw(
            heat,
            direction.capitalize(),
            "time since the run began",
            "run",
            f"Rate of {plural(ranks, 'rank')} over the run, {direction}; dark is slow",
        )
        for direction, heat in maps.items()
    ]
    data = [csv(heat_map.csv_of(heat, f"{name} by rank")) for name, heat in maps.items()]
    return figure("ranks-over-time", caption, *images, table=join(data), width=FULL_WIDTH)


def _map(store: EventStore, direction: Direction, ranks: int, first: list[int]) -> HeatMap | None:
    found = store.rank_rates(direction, first, COLUMNS)
    if found is None:
        return None
    edges, rates = found
    last = [one - 1 for one in [*first[1:], ranks]]
    names = [
        f"rank {low}" if low == high else f"ranks {low}\u2013{high}"
        for low, high in zip(first, last, strict=True)
    ]
    return HeatMap(names, edges, rates)
