"""Draws simulations: the parts and units of one with how busy they are, or rates over levels.

The file is self-contained: SVG without scripts, or HTML that contains it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from weir.report.markup import Markup, element
from weir.report.picture_file import SOFT, draw, text_at, write_picture_file
from weir.results.quantities import percent_text, rate_text, seconds_text, size_text
from weir.sim.job import level_text
from weir.sim.program import PartLoad, UnitLoad
from weir.sim.table import Simulated

WIDTH = 960.0
MARGIN = 32.0
NAME_WIDTH = 250.0
LABEL_WIDTH = 300.0
TOP = 92.0
ROW = 30.0
STRIP = 30.0
STRIP_BARS = 18.0
LEAST_BAR_WIDTH = 2.0
MOST_NAMED = 3
"""Number of slow units of a part that are named."""
TRACK = "#e8edf1"
SLOW = "#b23a48"
COLOURS = ("#2a6f97", "#c98a1b", "#8e5aa8", "#7a8f2a", "#b5651d", "#468189")
"""Colours of the limits in a picture of several simulations, in the order of their appearance."""


def write_picture(path: Path, platform: str, several: Sequence[Simulated]) -> Path:
    """Writes the picture of one simulation or of several."""
    drawing = _one(platform, several[0]) if len(several) == 1 else _several(platform, several)
    return write_picture_file(path, f"Simulation on {platform}", drawing)


@dataclass(frozen=True)
class Row:
    """A bar with its name and label, and the part whose units are drawn below it."""

    name: str
    share: float
    label: str
    colour: str
    part: PartLoad | None = None

    @property
    def has_strip(self) -> bool:
        return self.part is not None and len(self.part.units) > 1

    @property
    def height(self) -> float:
        return ROW + (STRIP if self.has_strip else 0.0)


def _one(platform: str, one: Simulated) -> Markup:
    asked, outcome = one.asked, one.outcome
    rows = [
        Row(
            part.name,
            part.busy_share,
            f"busy {percent_text(part.busy_share)} of the time, {part.units_used} units, "
            f"{size_text(part.bytes)}",
            COLOURS[0] if part.name == outcome.limit.name else COLOURS[-1],
            part,
        )
        for part in outcome.parts
        if part.units_used
    ]
    title = f"{asked.ranks} ranks on {platform}, {asked.strategy}"
    lead = (
        f"{rate_text(outcome.bytes_per_second)}, simulated; limit: {one.limit}; below each bar its "
        "units, relative to the busiest"
    )
    return _chart(title, lead, rows)


def _several(platform: str, several: Sequence[Simulated]) -> Markup:
    best = max(one.outcome.bytes_per_second for one in several) or 1.0
    limits = list(dict.fromkeys(one.limit for one in several))
    rows = [
        Row(
            ", ".join(f"{name} {level_text(name, level)}" for name, level in one.levels.items()),
            one.outcome.bytes_per_second / best,
            f"{rate_text(one.outcome.bytes_per_second)}, limit: {one.limit}",
            COLOURS[limits.index(one.limit) % len(COLOURS)],
        )
        for one in several
    ]
    names = ", ".join(several[0].levels)
    return _chart(f"Rate over {names} on {platform}", "simulated; one colour per limit", rows)


def _chart(title: str, lead: str, rows: Sequence[Row]) -> Markup:
    height = TOP + sum(row.height for row in rows) + MARGIN
    left = MARGIN + NAME_WIDTH
    room = WIDTH - left - LABEL_WIDTH - MARGIN
    parts = [
        text_at(MARGIN, 42, title, size=22),
        text_at(MARGIN, 66, lead, size=14, fill=SOFT),
    ]
    y = TOP
    for row in rows:
        length = room * min(1.0, row.share)
        parts += [
            text_at(MARGIN, y + 15, row.name, size=14),
            element("rect", x=left, y=y, width=room, height=20, fill=TRACK),
            element("rect", x=left, y=y, width=length, height=20, fill=row.colour),
            text_at(left + room + 8, y + 15, row.label, size=12),
        ]
        if row.part is not None and row.has_strip:
            parts += _strip(row.part, left, y + ROW - 6, room, row.colour)
        y += row.height
    return draw(parts, width=WIDTH, height=height, label=title)


def _strip(part: PartLoad, left: float, top: float, room: float, colour: str) -> list[Markup]:
    """Draws a bar for each unit of a part, or for several of many, beside the busiest unit."""
    each = math.ceil(len(part.units) * LEAST_BAR_WIDTH / room)
    bars = [part.units[first : first + each] for first in range(0, len(part.units), each)]
    width = room / len(bars)
    most = max(unit.busy_seconds for unit in part.units) or 1.0
    drawn = []
    for number, units in enumerate(bars):
        height = STRIP_BARS * max(unit.busy_seconds for unit in units) / most
        drawn.append(
            element(
                "rect",
                element("title", _bar_text(units, part)),
                x=left + width * number,
                y=top + STRIP_BARS - height,
                width=0.8 * width if each == 1 else width,
                height=height,
                fill=SLOW if any(unit.speed < 1 for unit in units) else colour,
            )
        )
    x = left + room + 8
    slow = [f"{unit.name} at {percent_text(unit.speed)}" for unit in part.units if unit.speed < 1]
    left_out = part.units_used - len(part.units)
    text = f"busiest: {part.busiest}" + (
        f"; {left_out} no busier ones left out" if left_out else ""
    )
    drawn.append(text_at(x, top + 8, text, size=11, fill=SOFT))
    if slow:
        named = ", ".join(slow[:MOST_NAMED]) + (", ..." if len(slow) > MOST_NAMED else "")
        drawn.append(text_at(x, top + 20, f"slow: {named}", size=11, fill=SLOW))
    return drawn


def _bar_text(units: Sequence[UnitLoad], part: PartLoad) -> str:
    busiest = max(units, key=lambda unit: unit.busy_seconds)
    which = units[0].name if len(units) == 1 else f"{units[0].name} to {units[-1].name}"
    return (
        f"{part.name} {which}: {size_text(busiest.bytes)}, busy for "
        f"{seconds_text(busiest.busy_seconds)}"
    )
