"""Draws simulations: the parts of one with how busy they are, or rates over swept levels.

The file is self-contained: SVG without scripts, or HTML that contains it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from weir.report.markup import Markup, element
from weir.report.picture_file import SOFT, draw, text_at, write_picture_file
from weir.results.quantities import percent_text, rate_text, size_text
from weir.sim.job import level_text
from weir.sim.table import Simulated

WIDTH = 960.0
MARGIN = 32.0
NAME_WIDTH = 250.0
LABEL_WIDTH = 300.0
TOP = 92.0
ROW = 30.0
TRACK = "#e8edf1"
COLOURS = ("#2a6f97", "#c98a1b", "#8e5aa8", "#7a8f2a", "#b5651d", "#468189")
"""Colours of the limits in a picture of several simulations, in the order of their appearance."""


def write_picture(path: Path, platform: str, several: Sequence[Simulated]) -> Path:
    """Writes the picture of one simulation or of several."""
    drawing = _one(platform, several[0]) if len(several) == 1 else _several(platform, several)
    return write_picture_file(path, f"Simulation on {platform}", drawing)


def _one(platform: str, one: Simulated) -> Markup:
    asked, outcome = one.asked, one.outcome
    rows = [
        (
            part.name,
            part.busy_share,
            f"busy {percent_text(part.busy_share)} of the time, {part.units_used} units, "
            f"{size_text(part.bytes)}",
            COLOURS[0] if part.name == outcome.limit.name else COLOURS[-1],
        )
        for part in outcome.parts
        if part.units_used
    ]
    title = f"{asked.ranks} ranks on {platform}, {asked.strategy}"
    lead = f"{rate_text(outcome.bytes_per_second)}, simulated; limit: {one.limit}"
    return _chart(title, lead, rows)


def _several(platform: str, several: Sequence[Simulated]) -> Markup:
    best = max(one.outcome.bytes_per_second for one in several) or 1.0
    limits = list(dict.fromkeys(one.limit for one in several))
    rows = [
        (
            ", ".join(f"{name} {level_text(name, level)}" for name, level in one.levels.items()),
            one.outcome.bytes_per_second / best,
            f"{rate_text(one.outcome.bytes_per_second)}, limit: {one.limit}",
            COLOURS[limits.index(one.limit) % len(COLOURS)],
        )
        for one in several
    ]
    names = ", ".join(several[0].levels)
    return _chart(f"Rate over {names} on {platform}", "simulated; one colour per limit", rows)


def _chart(title: str, lead: str, rows: Sequence[tuple[str, float, str, str]]) -> Markup:
    height = TOP + ROW * len(rows) + MARGIN
    left = MARGIN + NAME_WIDTH
    room = WIDTH - left - LABEL_WIDTH - MARGIN
    parts = [
        text_at(MARGIN, 42, title, size=22),
        text_at(MARGIN, 66, lead, size=14, fill=SOFT),
    ]
    for number, (name, share, label, colour) in enumerate(rows):
        y = TOP + ROW * number
        length = room * min(1.0, share)
        parts += [
            text_at(MARGIN, y + 15, name, size=14),
            element("rect", x=left, y=y, width=room, height=20, fill=TRACK),
            element("rect", x=left, y=y, width=length, height=20, fill=colour),
            text_at(left + room + 8, y + 15, label, size=12),
        ]
    return draw(parts, width=WIDTH, height=height, label=title)
