"""Draws what routes take of messages over their size, and what they could (the workload sink)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weir.analysis.campaign_summary import level_text
from weir.analysis.sink import SIZE, measured_of, sink_listing, sinks_of
from weir.report import listing
from weir.report.chart import FULL_WIDTH, figure, table
from weir.report.line_chart import (
    MOST_SERIES,
    Frame,
    Point,
    Series,
    colours,
    line_chart,
)
from weir.report.markup import Markup, element, join
from weir.report.quantities import SCALES, figure_range_text, shown
from weir.results.schema import Run
from weir.results.series import Series as Measured

SOURCE = "source capacity"
TITLE = "size of a rank's message"


def compare(runs: Sequence[Run]) -> Markup | None:
    """Returns the table of all runs, and a chart if they differ in size; None without runs."""
    found = listing.render(sink_listing(runs), titled=True)
    if found is None:
        return None
    return join(_charts(runs), found)


def _charts(runs: Sequence[Run]) -> Markup | None:
    """Returns figures of a few routes each, all with the capacity of the source beside them."""
    points: dict[str, dict[int, Point]] = {}
    capacity: dict[int, list[Measured]] = {}
    for run, sink in sinks_of(runs):
        size = sink.message_bytes
        points.setdefault(sink.route, {})[size] = _point(size, [measured_of(run)])
        capacity.setdefault(size, []).append(sink.source_capacity)
    if len(capacity) < 2:
        return None
    source = Series(SOURCE, "read", 1, [_point(size, seen) for size, seen in capacity.items()])
    routes = [Series(name, "write", 0, list(of.values())) for name, of in points.items()]
    room = MOST_SERIES - 1
    return join(*(_figure(routes[at : at + room], source) for at in range(0, len(routes), room)))


def _point(size: int, seen: Sequence[Measured]) -> Point:
    """Returns the median of what was seen with messages of a size, with the least and the most."""
    values = sorted(value for one in seen for value in one.values)
    medians = sorted(one.median for one in seen)
    return Point(size, medians[len(medians) // 2], values[0], values[-1])


def _figure(routes: Sequence[Series], source: Series) -> Markup:
    series = [
        replace(one, marker=place, own_colour=colour)
        for place, (one, colour) in enumerate(zip(routes, colours(len(routes)), strict=True))
    ]
    series.append(replace(source, marker=MOST_SERIES - 1))
    said = "; ".join(
        f"{one.name}: "
        + ", ".join(f"{level_text(SIZE, p.level)} {shown(p.value, 'bytes/s')}" for p in one.points)
        for one in series
    )
    image = line_chart(
        SIZE,
        TITLE,
        series,
        description=f"Rate over the {TITLE}. {said}",
        units=SCALES["bytes/s"],
        frame=Frame(has_labels=True, is_logarithmic=True),
    )
    caption = join(
        element("strong", f"Rate of all ranks over the {TITLE}"),
        " \u2013 medians, with the least and the most of the repetitions. The capacity of the "
        "source is the rate at which the ranks copy such messages in their own memory.",
    )
    rows = [
        [
            level_text(SIZE, point.level),
            one.name,
            shown(point.value, "bytes/s"),
            figure_range_text(point.low, point.high, "bytes/s"),
        ]
        for one in series
        for point in one.points
    ]
    data = table(
        [SIZE, "series", "median", "least to most"],
        rows,
        caption=f"Figures over {SIZE}",
        numeric_from=2,
    )
    return figure(
        "sink-" + "-".join(one.name for one in routes).replace(" ", "-"),
        caption,
        image,
        table=data,
        width=FULL_WIDTH,
    )
