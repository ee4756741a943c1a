"""Draws what all ranks together do over time, with one strip per kind, for any number of ranks."""

from __future__ import annotations

import numpy as np

from weir.report.chart import (
    FULL_WIDTH,
    LinearScale,
    csv,
    drawing,
    figure,
    line,
    plot,
    table,
    text,
    time_axis,
)
from weir.report.event_store import Events
from weir.report.markup import Markup, coordinate, element, join
from weir.report.quantities import percent_text, plural
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


def render(events: Events, intervals: Intervals, repetition: int) -> Markup:
    edges, found = shares(events, intervals)
    scale = LinearScale(0.0, float(edges[-1]), LEFT, FULL_WIDTH - RIGHT)
    highest = max(1.0, *(float(share.max()) for share in found.values()))
    strips: list[Markup] = []
    areas: list[Markup] = []
    rows = []
    for place, (kind, share) in enumerate(found.items()):
        base = TOP + place * (STRIP + GAP) + STRIP
        areas.append(_area(edges, share / highest, base, scale, CSS[kind]))
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
    ranks = len(np.unique(events.rank))
    image = drawing(
        FULL_WIDTH,
        bottom + 40,
        f"Share of all {plural(ranks, 'rank')} in each kind of activity over the repetition; "
        + ", ".join(f"{name} {mean} on average" for name, mean, _ in rows),
        time_axis(scale, bottom, "time since the repetition began", f"repetition-{repetition}"),
        plot(scale, 0.0, bottom, areas),
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
    return figure("activity", caption, image, table=join(data, csv(_csv(edges, found))))


def _csv(edges: Floats, found: dict[int, Floats]) -> str:
    lines = [",".join(["second", *(KINDS[kind] for kind in found)])]
    columns = [share.tolist() for share in found.values()]
    for second, *own in zip(edges[:-1].tolist(), *columns, strict=True):
        lines.append(",".join([f"{second:.6g}", *(f"{share:.3g}" for share in own)]))
    return "\n".join(lines) + "\n"


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
