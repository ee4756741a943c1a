"""Draws bars by rank: horizontal with names for few ranks, columns for many.

All panels of a drawing share one scale in seconds, so that I/O times and waits can be compared
visually.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weir.report.chart import FULL_WIDTH, LinearScale, bar, drawing, line, shortened, text
from weir.report.markup import Markup, coordinate, element
from weir.report.quantities import Unit, seconds_text, time_unit

SIDEWAYS_LIMIT = 32
LEFT = 168.0
PANEL_GAP = 64.0
TOP = 24.0
NAME_LENGTH = 22
GLYPH = 6.2
"""Mean width of a title's glyph in pixels."""

COLUMNS_LEFT, COLUMNS_RIGHT = 64.0, 12.0
COLUMNS_LIMIT = 400
COLUMNS_HEIGHT = 210.0
LEAST_PANEL = 34.0
RANK_LABELS = 10
LEAST_GAPPED = 4.0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """One kind of time, in seconds by rank."""

    css: str
    name: str
    seconds: Floats


@dataclass(frozen=True)
class Panel:
    """Kinds of time that are stacked on each other."""

    title: str
    series: Sequence[Series]

    @property
    def totals(self) -> Floats:
        sums: Floats = np.sum([series.seconds for series in self.series], axis=0)
        return sums


def render(
    ranks: NDArray[np.int32],
    panels: list[Panel],
    slowest: int,
    hosts: dict[int, str],
    description: str,
) -> tuple[Markup, str]:
    """Returns the drawing, and a note for the caption on how it was made."""
    if len(ranks) <= SIDEWAYS_LIMIT:
        return _sideways(ranks, panels, slowest, hosts, description), ""
    return _columns(ranks, panels, slowest, description)


def _sideways(
    ranks: NDArray[np.int32],
    panels: list[Panel],
    slowest: int,
    hosts: dict[int, str],
    description: str,
) -> Markup:
    row = 24.0 if len(ranks) <= 16 else 16.0
    largest = [float(panel.totals.max()) for panel in panels]
    per_second, widths = _panel_widths(panels, largest)
    parts: list[Markup] = []
    begin = LEFT
    for panel, width in zip(panels, widths, strict=True):
        parts.append(text(begin, 12, panel.title, class_="tick"))
        for place in range(len(ranks)):
            y = TOP + place * row
            parts += _stack(panel, place, int(ranks[place]), begin, y + 2, row - 5, per_second)
            end = begin + float(panel.totals[place]) * per_second
            strong = int(ranks[place]) == slowest and panel is panels[0]
            label = seconds_text(float(panel.totals[place]))
            parts.append(
                text(end + 5, y + row / 2 + 3.5, label, class_="tick strong" if strong else "tick")
            )
        bottom = TOP + len(ranks) * row
        parts.append(line(begin, TOP, begin, bottom, "axis"))
        begin += width
    for place, rank in enumerate(ranks):
        name = f"rank {rank} {shortened(hosts.get(int(rank), ''), NAME_LENGTH)}".rstrip()
        strong = int(rank) == slowest
        name = f"\u25b8 {name}" if strong else name
        parts.append(
            text(
                LEFT - 8,
                TOP + place * row + row / 2 + 3.5,
                name,
                anchor="end",
                class_="tick strong" if strong else "tick",
            )
        )
    return drawing(FULL_WIDTH, TOP + len(ranks) * row + 6, description, parts)


def _panel_widths(panels: list[Panel], largest: list[float]) -> tuple[float, list[float]]:
    """Returns pixels per second, and each panel's width with room for its title and figures."""
    titles = [len(panel.title) * GLYPH + 12 for panel in panels]
    room = FULL_WIDTH - LEFT - PANEL_GAP * len(panels)
    per_second = room / (sum(largest) or 1.0)
    lacking = sum(
        max(0.0, title - most * per_second - PANEL_GAP)
        for title, most in zip(titles, largest, strict=True)
    )
    per_second *= (room - lacking) / room
    widths = [
        max(title, most * per_second + PANEL_GAP)
        for title, most in zip(titles, largest, strict=True)
    ]
    return per_second, widths


def _stack(
    panel: Panel, place: int, rank: int, begin: float, y: float, height: float, per_second: float
) -> list[Markup]:
    parts = []
    x = begin
    for series in panel.series:
        value = float(series.seconds[place])
        width = value * per_second
        if value > 0:
            tip = f"rank {rank}: {series.name} {seconds_text(value)}"
            parts.append(bar(x, y, width, height, series.css, tip=tip, value=value))
        x += width
    return parts


def _columns(
    ranks: NDArray[np.int32], panels: list[Panel], slowest: int, description: str
) -> tuple[Markup, str]:
    size = -(-len(ranks) // COLUMNS_LIMIT)
    first = panels[0].totals
    chosen = [
        begin + int(first[begin : begin + size].argmax()) for begin in range(0, len(ranks), size)
    ]
    said = ""
    if size > 1:
        said = f"Each column is the slowest of {size} consecutive ranks."
    largest = [float(panel.totals.max()) for panel in panels]
    per_second = COLUMNS_HEIGHT / (sum(largest) or 1.0)
    scale = LinearScale(0, len(chosen), COLUMNS_LEFT, FULL_WIDTH - COLUMNS_RIGHT)
    unit = time_unit(max(largest))
    parts: list[Markup] = []
    place = chosen.index(int(np.flatnonzero(ranks == slowest)[0]))
    titles_right = place < len(chosen) / 2
    base = 0.0
    for panel, most in zip(panels, largest, strict=True):
        height = most * per_second
        base += TOP + max(LEAST_PANEL, height)
        parts += _column_panel(panel, chosen, scale, base, per_second, unit, most)
        parts.append(
            text(
                scale.end if titles_right else scale.start,
                base - max(LEAST_PANEL, height) - 8,
                panel.title,
                class_="tick",
                anchor="end" if titles_right else "start",
            )
        )
        if panel is panels[0]:
            parts.append(_slowest_mark(scale(place + 0.5), base - height, slowest))
    step = 2 ** max(0, int(np.ceil(np.log2(len(ranks) / RANK_LABELS))))
    for index in range(0, len(ranks), step):
        x = scale(index / size)
        parts.append(line(x, base, x, base + 4, "axis"))
        parts.append(text(x, base + 16, str(int(ranks[index])), class_="tick", anchor="middle"))
    parts.append(text(COLUMNS_LEFT - 14, base + 16, "rank", class_="tick", anchor="end"))
    return drawing(FULL_WIDTH, base + 24, description, parts), said


def _slowest_mark(x: float, y: float, rank: int) -> Markup:
    return element(
        "g",
        element("path", d=f"M{x:.1f} {y - 2:.1f}l-4 -6h8z", class_="pointer"),
        text(
            min(max(x, COLUMNS_LEFT + 50), FULL_WIDTH - COLUMNS_RIGHT - 50),
            y - 11,
            f"slowest: rank {rank}",
            class_="tick strong",
            anchor="middle",
        ),
    )


def _column_panel(
    panel: Panel,
    chosen: list[int],
    scale: LinearScale,
    base: float,
    per_second: float,
    unit: Unit,
    most: float,
) -> list[Markup]:
    """Draws one path per kind, so that a report of a thousand ranks stays small."""
    width = scale(1) - scale(0)
    gap = 1.0 if width >= LEAST_GAPPED else 0.0
    floor = np.zeros(len(chosen))
    parts: list[Markup] = []
    for value in LinearScale(0, most / unit.size, 0, 1).ticks(
        max(1, round(most * per_second / 40))
    ):
        y = base - value * unit.size * per_second
        parts.append(line(COLUMNS_LEFT, y, FULL_WIDTH - COLUMNS_RIGHT, y, "grid"))
        label = f"{value:g} {unit.name}"
        parts.append(text(COLUMNS_LEFT - 6, y + 4, label, class_="tick", anchor="end"))
    for series in panel.series:
        heights = series.seconds[chosen] * per_second
        path = "".join(
            f"M{coordinate(scale(place))} {coordinate(base - floor[place])}"
            f"h{coordinate(width - gap)}v{coordinate(-height)}h{coordinate(gap - width)}z"
            for place, height in enumerate(heights.tolist())
            if height > 0
        )
        parts.append(element("path", d=path, class_=series.css))
        floor = floor + heights
    parts.append(line(COLUMNS_LEFT, base, FULL_WIDTH - COLUMNS_RIGHT, base, "axis"))
    return parts
