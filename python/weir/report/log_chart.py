"""Draws quantities over numbers of ranks on two logarithmic axes: powers are straight lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from weir.report.chart import FULL_WIDTH, LogScale, drawing, line, text
from weir.report.line_chart import marker
from weir.report.markup import Markup, element, join
from weir.report.quantities import grouped

LEFT, RIGHT, TOP, BOTTOM = 72.0, 36.0, 22.0, 48.0
HEIGHT = 360.0
MOST_LEVELS = 8
"""Up to this many numbers of ranks are labelled on the axis; with more, powers of ten."""
STYLES = ("write", "read", "sync", "remap", "blocked")
"""Classes of colours, in the order of the curves."""


@dataclass(frozen=True)
class Curve:
    """Points (ranks, value) of one curve; a value of 0 cannot be drawn and is left out."""

    name: str
    style: str
    """Class of its colour, one of ``STYLES``."""
    shape: int
    measured: list[tuple[int, float]]
    expected: list[tuple[int, float]] = field(default_factory=list)
    """Expected continuation, drawn with dashes from the last measured point."""


def has_points(curves: Sequence[Curve]) -> bool:
    return any(value > 0 for curve in curves for _, value in curve.measured)


def log_chart(
    curves: Sequence[Curve],
    unit: str,
    say: Callable[[float], str],
    description: str,
) -> Markup:
    """Returns the drawing; ``say`` formats a value. A curve must have a point (``has_points``)."""
    values = [v for curve in curves for _, v in [*curve.measured, *curve.expected] if v > 0]
    ranks = [r for curve in curves for r, v in [*curve.measured, *curve.expected] if v > 0]
    levels = sorted(set(ranks))
    across = _across(levels)
    up = LogScale(*_decades(min(values), max(values)), HEIGHT - BOTTOM, TOP)
    parts: list[Markup] = []
    for value in _powers(up):
        y = up(value)
        parts.append(line(LEFT, y, FULL_WIDTH - RIGHT, y, "grid"))
        parts.append(text(LEFT - 8, y + 4, say(value), class_="tick", anchor="end"))
    base = HEIGHT - BOTTOM
    for value in levels if len(levels) <= MOST_LEVELS else _powers(across):
        x = across(value)
        parts.append(line(x, base, x, base + 4, "axis"))
        label = grouped(round(value))
        parts.append(text(x, base + 17, label, class_="tick", anchor="middle"))
    parts.append(line(LEFT, base, FULL_WIDTH - RIGHT, base, "axis"))
    parts.append(text(LEFT - 8, 11, unit, class_="tick", anchor="end"))
    title = "ranks, both axes logarithmic"
    parts.append(text(FULL_WIDTH - RIGHT, base + 36, title, class_="tick", anchor="end"))
    parts += [_drawn(curve, across, up, say) for curve in curves]
    return drawing(FULL_WIDTH, HEIGHT, description, parts)


def _drawn(curve: Curve, across: LogScale, up: LogScale, say: Callable[[float], str]) -> Markup:
    measured = sorted((r, v) for r, v in curve.measured if v > 0)
    last = measured[-1:] if measured else []
    beyond = sorted((r, v) for r, v in curve.expected if v > 0 and (not last or r > last[0][0]))
    parts: list[Markup] = []
    for points, style in ((measured, "measured"), ([*last, *beyond], "expected-line")):
        if len(points) > 1:
            path = "M" + "L".join(f"{across(r):.2f} {up(v):.2f}" for r, v in points)
            parts.append(element("path", d=path, class_=f"{style} {curve.style}-line", fill="none"))
    for r, v in [*measured, *beyond]:
        tip = f"{curve.name}, {grouped(r)} ranks: {say(v)}"
        parts.append(marker(across(r), up(v), curve.shape, curve.style, tip=tip, value=v))
    return join(*parts)


def curve_legend(curves: Sequence[Curve]) -> Markup:
    entries = [
        element(
            "li",
            element(
                "svg",
                line(1, 6, 29, 6, f"measured {curve.style}-line"),
                marker(15, 6, curve.shape, curve.style),
                width=30.0,
                height=12.0,
                aria_hidden="true",
            ),
            " ",
            curve.name,
        )
        for curve in curves
    ]
    if any(curve.expected for curve in curves):
        sample = line(1, 6, 29, 6, f"expected-line {curves[0].style}-line")
        dashes = element("svg", sample, width=30.0, height=12.0, aria_hidden="true")
        entries.append(element("li", dashes, " expected on more ranks"))
    return element("ul", *entries, class_="legend")


def _across(levels: Sequence[int]) -> LogScale:
    """Returns a scale from the fewest to the most ranks if labelled, else whole decades."""
    ends = _decades(levels[0], levels[-1])
    if 1 < len(levels) <= MOST_LEVELS:
        ends = float(levels[0]), float(levels[-1])
    return LogScale(*ends, LEFT, FULL_WIDTH - RIGHT)


def _decades(low: float, high: float) -> tuple[float, float]:
    """Returns the enclosing whole powers of ten, which differ."""
    first = math.floor(math.log10(low) + 1e-9)
    last = math.ceil(math.log10(high) - 1e-9)
    return 10.0**first, 10.0 ** max(last, first + 1)


def _powers(scale: LogScale) -> list[float]:
    first, last = round(math.log10(scale.low)), round(math.log10(scale.high))
    return [10.0**power for power in range(first, last + 1)]
