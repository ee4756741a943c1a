"""Draws what routes take of messages, and what they could (the workload sink).

Over the size of a message, every route is a series (Vishwanath et al., figures 3, 6 and 7). Over
the number of stagers, of their receiving threads, or of aggregators (figures 6, 9 and 10), a few
sizes are, in a figure for each route that is otherwise the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from weir.analysis.campaign_summary import level_text
from weir.analysis.sink import (
    AXES,
    SIZE,
    Axis,
    level_on,
    measured_of,
    route_beside,
    sink_listing,
    sinks_of,
)
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
MEDIANS = "medians, with the least and the most of the repetitions."
TITLE = "size of a rank's message"


CAPACITY = (
    " The capacity of the source is the rate at which the ranks copy such messages in their own "
    "memory."
)


def compare(runs: Sequence[Run]) -> Markup | None:
    """Returns the table of all runs, and charts over what they differ in; None without runs."""
    found = listing.render(sink_listing(runs), titled=True)
    if found is None:
        return None
    return join(_over_the_size(runs), *(_over(axis, runs) for axis in AXES), found)


def _over(axis: Axis, runs: Sequence[Run]) -> Markup | None:
    """Returns a figure for each route that was taken with several numbers of something."""
    points: dict[str, dict[int, dict[int, Point]]] = {}
    for run, sink in sinks_of(runs):
        level = level_on(axis, run)
        if level is None:
            continue
        of_size = points.setdefault(route_beside(axis, run), {})
        of_size.setdefault(sink.message_bytes, {})[level] = _point(level, [measured_of(run)])
    several = {
        route: {size: found for size, found in of.items() if len(found) > 1}
        for route, of in points.items()
    }
    return join(*(_over_of_route(axis, route, of) for route, of in several.items() if of))


def _over_of_route(axis: Axis, route: str, of_size: Mapping[int, Mapping[int, Point]]) -> Markup:
    sizes = sorted(of_size)
    series = [
        Series(level_text(SIZE, size), "write", 0, [of[level] for level in sorted(of)])
        for size, of in sorted(of_size.items())
    ]
    drawn = [series[place] for place in _evenly(len(sizes), MOST_SERIES)]
    said = "" if len(drawn) == len(series) else " The table below has all sizes."
    return _figure(
        axis.parameter,
        axis.title,
        _coloured(drawn),
        join(
            element("strong", f"Rate of all ranks over the {axis.title}: {route}"),
            f" \u2013 {MEDIANS} Each series is a size of a rank's message.{said}",
        ),
        name=f"sink-{axis.parameter}-{route}",
        tabled=series,
    )


def _evenly(count: int, most: int) -> list[int]:
    """Returns at most so many of ``count`` places, with both ends."""
    if count <= most:
        return list(range(count))
    return [place * (count - 1) // (most - 1) for place in range(most)]


def _coloured(series: Sequence[Series]) -> list[Series]:
    return [
        replace(one, marker=place, own_colour=colour)
        for place, (one, colour) in enumerate(zip(series, colours(len(series)), strict=True))
    ]


def _over_the_size(runs: Sequence[Run]) -> Markup | None:
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
    figures = []
    for at in range(0, len(routes), room):
        some = routes[at : at + room]
        figures.append(
            _figure(
                SIZE,
                TITLE,
                [*_coloured(some), replace(source, marker=MOST_SERIES - 1)],
                join(
                    element("strong", f"Rate of all ranks over the {TITLE}"),
                    f" \u2013 {MEDIANS}{CAPACITY}",
                ),
                name="sink-" + "-".join(one.name for one in some),
            )
        )
    return join(*figures)


def _point(level: int, seen: Sequence[Measured]) -> Point:
    """Returns the median of what was seen at a level, with the least and the most."""
    values = sorted(value for one in seen for value in one.values)
    medians = sorted(one.median for one in seen)
    return Point(level, medians[len(medians) // 2], values[0], values[-1])


def _figure(
    over: str,
    title: str,
    series: Sequence[Series],
    caption: Markup,
    *,
    name: str,
    tabled: Sequence[Series] | None = None,
) -> Markup:
    """Returns a figure of series over a parameter, with all figures of ``tabled`` in a table."""
    said = "; ".join(
        f"{one.name}: "
        + ", ".join(f"{level_text(over, p.level)} {shown(p.value, 'bytes/s')}" for p in one.points)
        for one in series
    )
    image = line_chart(
        over,
        title,
        series,
        description=f"Rate over the {title}. {said}",
        units=SCALES["bytes/s"],
        frame=Frame(has_labels=True, is_logarithmic=True),
    )
    rows = [
        [
            level_text(over, point.level),
            one.name,
            shown(point.value, "bytes/s"),
            figure_range_text(point.low, point.high, "bytes/s"),
        ]
        for one in tabled or series
        for point in one.points
    ]
    data = table(
        [over, "series", "median", "least to most"],
        rows,
        caption=f"Figures over {over}",
        numeric_from=2,
    )
    return figure(name.replace(" ", "-"), caption, image, table=data, width=FULL_WIDTH)
