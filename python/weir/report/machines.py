"""Draws machines beside each other: bars in four panels, as in MADbench2's figure 6."""

from __future__ import annotations

from collections.abc import Sequence

from weir.analysis.machines import PANELS, Bar, Panel, bar_text, in_panel, panel_name
from weir.report.chart import LinearScale
from weir.report.markup import Markup, element
from weir.report.picture_file import INK, SOFT, draw, text_at
from weir.report.quantities import rate_unit

WIDTH, MARGIN, GAP = 1080.0, 24.0, 36.0
TOP, TITLE, AXIS, ROW, BAR = 58.0, 26.0, 34.0, 30.0, 9.0
COLOURS = {"read": "#1f6fb2", "write": "#e39a0c"}
LINE = "#dde2e7"
PALE = 0.4


def draw_machines(bars: Sequence[Bar], ranks: int) -> Markup:
    """Returns the picture; all panels have one scale, so that they can be compared."""
    columns = (WIDTH - 2 * MARGIN - GAP) / 2
    rows = max((len(in_panel(bars, panel)) for panel in PANELS), default=0)
    height = TITLE + ROW * max(rows, 1) + AXIS
    top = max(bar.high for bar in bars)
    parts = [
        text_at(MARGIN, 28, f"Machines at {ranks} ranks", size=18, weight="600"),
        text_at(
            MARGIN,
            47,
            "MADbench2, synchronous; the better of the measured interfaces; lines are intervals of "
            "the median" + ("; pale bars are predicted" if any(b.predicted for b in bars) else ""),
            size=12,
            fill=SOFT,
        ),
    ]
    for place, panel in enumerate(PANELS):
        x = MARGIN + (place % 2) * (columns + GAP)
        y = TOP + (place // 2) * (height + 8)
        parts += _panel(
            in_panel(bars, panel), panel, LinearScale(0, top, x, x + columns), y, height
        )
    words = "; ".join(
        f"{panel_name(panel)}: "
        + (
            ", ".join(f"{b.machine} {bar_text(b, found[0].rate)}" for b in found)
            if (found := in_panel(bars, panel))
            else "not measured"
        )
        for panel in PANELS
    )
    label = f"Rates of machines at {ranks} ranks. {words}"
    return draw(parts, width=WIDTH, height=TOP + 2 * height + 24, label=label)


def _panel(
    found: Sequence[Bar], panel: Panel, scale: LinearScale, y: float, height: float
) -> list[Markup]:
    name = f"({'abcd'[PANELS.index(panel)]}) {panel_name(panel)}"
    parts = [text_at(scale.start, y + 16, name, size=14, weight="600")]
    base = y + height - AXIS
    unit = rate_unit(scale.high)
    for at, label in scale.ticks_in(unit, 4):
        x = scale(at)
        parts.append(_line(x, y + TITLE, x, base, LINE))
        parts.append(text_at(x, base + 14, label, size=11, fill=SOFT, anchor="middle"))
    parts.append(text_at(scale.end, base + 28, unit.name, size=11, fill=SOFT, anchor="end"))
    if not found:
        parts.append(text_at(scale.start, y + TITLE + 18, "not measured", size=12, fill=SOFT))
    for place, bar in enumerate(found):
        row = y + TITLE + place * ROW
        said = f"{bar.machine}: {bar_text(bar, found[0].rate)}"
        parts.append(text_at(scale.start + 4, row + 13, said, size=12))
        parts.append(
            element(
                "rect",
                x=scale.start,
                y=row + 17,
                width=scale(bar.rate) - scale.start,
                height=BAR,
                fill=COLOURS[bar.direction],
                fill_opacity=PALE if bar.predicted else None,
                data_value=repr(bar.rate),
            )
        )
        if bar.low < bar.high:
            middle = row + 17 + BAR / 2
            parts.append(_line(scale(bar.low), middle, scale(bar.high), middle, INK))
    parts.append(_line(scale.start, base, scale.end, base, SOFT))
    return parts


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour, stroke_width=1.2)
