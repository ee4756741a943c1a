"""Draws the stages of a byte's path, one below the other, on one logarithmic scale of rates.

Pictures of platforms and the report's expectations share this drawing. In a picture that stands
alone colours are attributes; in a report the style sheet overrides them by class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from weir.report.chart import LogScale, line
from weir.report.markup import Markup, element, join
from weir.report.picture_file import INK, SOFT, text_at
from weir.results.platform import StageKind
from weir.results.record import Quantity

ROW, UNIT_ROW = 30, 22
BAR = 20
PLACE_GAP, PLACE_ROW = 12, 22
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
MARKS = [float(10**decade * 1024**power) for power in range(len(UNITS)) for decade in range(3)]
"""Rates at which the axis has marks, in the units of the labels."""
FARTHEST = 10.0
"""An interval is drawn to at most so many times the fastest stage: its end may be infinite."""
LEAST_MARK_GAP = 58.0
GRID = "#dfe5ea"
COLOURS: dict[StageKind, str] = {
    "rank": "#2a6f97",
    "node": "#2a6f97",
    "node link": "#8e5aa8",
    "I/O node": "#8e5aa8",
    "fabric": "#8e5aa8",
    "server": "#b5651d",
    "device link": "#b5651d",
    "target": "#c98a1b",
    "device cache": "#7a8f2a",
}
PLACES: dict[StageKind, str] = {
    "rank": "In a rank",
    "node": "In a host's memory",
    "node link": "Between hosts",
    "I/O node": "Through I/O nodes",
    "fabric": "In the network of all",
    "server": "In a server",
    "device link": "On the way to the device",
    "target": "On the targets",
    "device cache": "In the device's cache",
}


@dataclass(frozen=True)
class StageBar:
    """One stage, or one unit of the stage above it."""

    name: str
    kind: StageKind | None
    """None: the place of the stage is not known."""
    total: Quantity
    """Bytes per second of all units."""
    label: str
    """What stands after the bar."""
    said: str
    """What appears when a pointer rests on the bar."""
    is_unit: bool = False
    css: str | None = None
    """The bar's class in a report; None: the colour of its place."""
    is_strong: bool = False


@dataclass(frozen=True)
class Columns:
    """Where names and bars are, in pixels."""

    left: float
    bar_left: float
    bar_right: float


@dataclass(frozen=True)
class PathChart:
    """The drawing, with what is needed to add to it."""

    drawn: Markup
    scale: LogScale
    middles: list[float]
    """Vertical places of the bars."""
    top: float
    bottom: float


def path_chart(
    bars: Sequence[StageBar], columns: Columns, top: float, rates: Sequence[float] = ()
) -> PathChart:
    """Draws bars, of which there is at least one, under their places; ``rates`` fit in as well."""
    scale = _scale(bars, columns, rates)
    parts: list[Markup] = []
    middles: list[float] = []
    y = top + 24
    kind: StageKind | None = None
    for bar in bars:
        if bar.kind != kind and bar.kind is not None:
            y += PLACE_GAP
            parts.append(
                text_at(
                    columns.left, y + 12, PLACES[bar.kind], size=12, weight="600", fill=SOFT,
                    class_="tick",
                )
            )  # fmt: skip
            y += PLACE_ROW
        kind = bar.kind
        parts.append((_unit if bar.is_unit else _stage)(bar, y, columns, scale))
        middles.append(y + BAR / 2)
        y += UNIT_ROW if bar.is_unit else ROW
    grid = _grid(scale, top + 18, y)
    return PathChart(join(grid, *parts), scale, middles, top + 18, y)


def within(scale: LogScale, rate: float) -> float:
    """Returns the place of a rate; one beyond an end of the scale is at that end."""
    return scale(min(max(rate, scale.low), scale.high))


def _scale(bars: Sequence[StageBar], columns: Columns, rates: Sequence[float]) -> LogScale:
    values = [bar.total.value for bar in bars] + [rate for rate in rates if rate > 0]
    fastest = max(values)
    widest = max(min(bar.total.high, FARTHEST * fastest) for bar in bars)
    low = max((mark for mark in MARKS[:-1] if mark <= min(values)), default=MARKS[0])
    above = (mark for mark in MARKS if mark >= max(widest, fastest) and mark > low)
    return LogScale(low, min(above, default=MARKS[-1]), columns.bar_left, columns.bar_right)


def _grid(scale: LogScale, top: float, bottom: float) -> Markup:
    drawn: list[Markup] = []
    last = -math.inf
    for mark in (mark for mark in MARKS if scale.low <= mark <= scale.high):
        x = scale(mark)
        drawn.append(element("line", x1=x, x2=x, y1=top, y2=bottom, stroke=GRID, class_="grid"))
        if x - last >= LEAST_MARK_GAP:
            last = x
            drawn.append(
                text_at(
                    x, top - 6, _mark_text(mark), size=11, fill=SOFT, anchor="middle",
                    class_="tick",
                )
            )  # fmt: skip
    return join(*drawn)


def _mark_text(mark: float) -> str:
    power = int(math.log2(mark) // 10)
    return f"{mark / 1024**power:.0f} {UNITS[power]}/s"


def _stage(bar: StageBar, y: float, columns: Columns, scale: LogScale) -> Markup:
    end = within(scale, bar.total.value)
    low, high = within(scale, bar.total.low), within(scale, bar.total.high)
    weight = "600" if bar.is_strong else None
    css = "label strong" if bar.is_strong else "label"
    return join(
        text_at(columns.left + 12, y + 14, bar.name, size=14, weight=weight, class_=css),
        element(
            "rect",
            x=columns.bar_left,
            y=y,
            width=max(1.0, end - columns.bar_left),
            height=float(BAR),
            rx=3,
            fill=COLOURS[bar.kind] if bar.kind and not bar.css else None,
            class_=bar.css,
            data_value=repr(float(bar.total.value)),
            data_tip=bar.said if bar.css else None,
        ),
        _whisker(low, high, y + BAR / 2) if high > low else None,
        text_at(max(end, high) + 8, y + 14, bar.label, size=13, weight=weight, class_=css),
        element("title", bar.said) if not bar.css else None,
    )


def _whisker(low: float, high: float, y: float) -> Markup:
    ends = [(low, high, y, y), (low, low, y - 4, y + 4), (high, high, y - 4, y + 4)]
    return element(
        "g",
        *(line(x1, y1, x2, y2, "whisker") for x1, x2, y1, y2 in ends),
        stroke=INK,
        stroke_width=1.5,
    )


def _unit(bar: StageBar, y: float, columns: Columns, scale: LogScale) -> Markup:
    end = within(scale, bar.total.value)
    return join(
        text_at(columns.left + 28, y + 11, bar.name, size=12, fill=SOFT, class_="tick"),
        element(
            "rect", x=columns.bar_left, y=y + 2, width=max(1.0, end - columns.bar_left),
            height=10.0, rx=2, fill=COLOURS[bar.kind] if bar.kind else None, opacity="0.55",
        ),
        text_at(end + 8, y + 11, bar.label, size=12, fill=SOFT, class_="tick"),
    )  # fmt: skip
