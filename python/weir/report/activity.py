"""Draws what all ranks together do over time, with one strip per kind, for any number of ranks."""

from __future__ import annotations

import numpy as np

from weir.report.chart import (
    FULL_WIDTH,
    LinearScale,
    bottom_axis,
    drawing,
    figure,
    line,
    table,
    text,
)
from weir.report.event_store import Events
from weir.report.markup import Markup, coordinate, element, join
from weir.report.quantities import percent_text, plural, time_unit
from weir.report.trace_layout import KINDS, Floats, Intervals, coverage

LEFT, RIGHT = 100.0, 96.0
STRIP, GAP, TOP = 30.0, 10.0, 6.0
COLUMNS = 300
CSS = ("read", "write", "sync", "compute", "remap", "wait", "wait", "blocked")


def shares(events: Events, intervals: Intervals) -> tuple[Floats, dict[int, Floats]]:
    """Returns column edges in seconds and, by kind, the mean share of ranks in that kind."""
    origin = int(intervals.start_ns.min())
    edges = np.linspace(0.0, float(intervals.end_ns.max() - origin) * 1e-9, COLUMNS + 1)
    ranks = len(np.unique(events.rank))
    found: dict[int, Floats] = {}
    for kind in range(len(KINDS)):
        own = intervals.of(intervals.kind == kind)
        if not len(own):
            continue
        begin = (own.start_ns - origin).astype(np.float64) * 1e-9
        end = (own.end_ns - origin).astype(np.float64) * 1e-9
        found[kind] = np.clip(coverage(begin, end, edges) / np.diff(edges) / ranks, 0.0, None)
    return edges, found


def render(events: Events, intervals: Intervals) -> Markup:
    edges, found = shares(events, intervals)
    scale = LinearScale(0.0, float(edges[-1]), LEFT, FULL_WIDTH - RIGHT)
    highest = max(1.0, *(float(share.max()) for share in found.values()))
    strips: list[Markup] = []
    rows = []
    for place, (kind, share) in enumerate(found.items()):
        base = TOP + place * (STRIP + GAP) + STRIP
        strips.append(_area(edges, share / highest, base, scale, CSS[kind]))
        strips.append(line(scale.start, base, scale.end, base, "axis"))
        strips.append(
            text(LEFT - 8, base - STRIP / 2 + 4, KINDS[kind], class_="tick", anchor="end")
        )
        mean, peak = percent_text(float(share.mean())), percent_text(float(share.max()))
        strips.append(
            text(FULL_WIDTH - RIGHT + 6, base - STRIP / 2 + 4, f"mean {mean}", class_="tick")
        )
        rows.append([KINDS[kind], mean, peak])
    bottom = TOP + len(found) * (STRIP + GAP)
    unit = time_unit(float(edges[-1]))
    labels = scale.ticks_in(unit, 8)
    ranks = len(np.unique(events.rank))
    image = drawing(
        FULL_WIDTH,
        bottom + 40,
        f"Share of all {plural(ranks, 'rank')} in each kind of activity over the repetition; "
        + ", ".join(f"{name} {mean} on average" for name, mean, _ in rows),
        bottom_axis(scale, bottom, labels, f"time since the repetition began, {unit.name}"),
        strips,
    )
    caption = join(
        element("strong", f"What all {plural(ranks, 'rank')} did together"),
        " \u2013 the same repetition with every operation of every rank: the height of a strip "
        f"is the share of ranks in it (full height {percent_text(highest)}), mean at the right.",
    )
    data = table(
        ["Activity", "Average share of ranks", "Largest share"],
        rows,
        caption="Share of ranks by activity",
    )
    return figure("activity", caption, image, table=data)


def _area(edges: Floats, share: Floats, base: float, scale: LinearScale, css: str) -> Markup:
    """Draws a stepped area; adjacent columns of equal height are joined."""
    parts = [f"M{coordinate(scale(float(edges[0])))} {coordinate(base)}"]
    heights = np.round(base - share * STRIP, 1)
    cuts = [0, *(np.flatnonzero(np.diff(heights)) + 1).tolist()]
    for first, following in zip(cuts, [*cuts[1:], len(share)], strict=True):
        parts.append(f"V{coordinate(float(heights[first]))}")
        parts.append(f"H{coordinate(scale(float(edges[following])))}")
    parts.append(f"V{coordinate(base)}z")
    return element("path", d="".join(parts), class_=css)
