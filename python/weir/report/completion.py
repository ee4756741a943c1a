"""Draws when targets (or hosts, or ranks) were done, how fast they were, and how many still moved.

Both drawings are of A. Uselton, "Parallel File System Benchmarking Made Easy", section 3.9.1: the
rate of each target against its completion time (figure 13), and the end of a test in which targets
go idle one after the other (figure 10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weir.analysis.trends import tail_fraction
from weir.report.axes import HEIGHT, TOP, Axes
from weir.report.chart import FULL_WIDTH, csv, drawing, figure, line, table
from weir.report.line_chart import marker
from weir.report.markup import Markup, element, join
from weir.report.quantities import (
    Unit,
    percent_text,
    plural,
    rate,
    rate_text,
    seconds,
    seconds_text,
)

MOST_TIPS = 128
TABLE_ROWS = 64

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Completion:
    """When a unit had moved its bytes, in seconds, and its bytes per second until then."""

    name: str
    seconds: float
    rate: float


def still_moving(done: Sequence[Completion]) -> tuple[Floats, Floats]:
    """Returns the edges of times, from 0 on, and how many units are not done between them."""
    times, counts = np.unique([one.seconds for one in done], return_counts=True)
    left = len(done) - np.concatenate([[0], np.cumsum(counts)[:-1]])
    return np.concatenate([[0.0], times]), left.astype(np.float64)


def tail_of(done: Sequence[Completion]) -> float:
    """Returns the share of the time in which fewer than half of the units are not done."""
    return tail_fraction(np.array([one.seconds for one in done]))


def render(
    done: Sequence[Completion], unit: str, meaning: str, name: str = "completion"
) -> Markup | None:
    """Draws the units; None if there are fewer than two.

    ``unit``: a word such as target. ``meaning``: the horizontal axis, without its unit. ``name``:
    of the figures, for programs.
    """
    if len(done) < 2 or max(one.seconds for one in done) <= 0:
        return None
    return join(
        _rates(done, unit, meaning, name), _still_moving(done, unit, f"{name}-still-moving")
    )


def _rates(done: Sequence[Completion], unit: str, meaning: str, name: str) -> Markup:
    """Draws rate against completion time: units on a line through them moved equal bytes."""
    last = max(one.seconds for one in done)
    first = min(one.seconds for one in done)
    axes = Axes.of(np.array([0.0, last * 1.05]), max(one.rate for one in done), FULL_WIDTH, HEIGHT)
    tail = percent_text((last - first) / last)
    image = drawing(
        FULL_WIDTH,
        TOP + HEIGHT + 40,
        f"Mean rate against completion time of {plural(len(done), unit)}; the first is done "
        f"after {seconds_text(first)}, the last after {seconds_text(last)}",
        axes.frame(meaning, 5, 10),
        [
            marker(
                axes.x(one.seconds),
                axes.y(one.rate),
                0,
                "write",
                tip=f"{one.name}: {rate_text(one.rate)}, {seconds_text(one.seconds)}"
                if len(done) <= MOST_TIPS
                else None,
                value=one.rate,
            )
            for one in done
        ],
    )
    caption = join(
        element("strong", "Rate against completion time"),
        f" \u2013 a point for each {unit}. Between the first that was done and the last, {tail} of "
        f"the time, some {unit}s were idle.",
    )
    latest = sorted(done, key=lambda one: -one.seconds)[:TABLE_ROWS]
    rows = [[one.name, seconds(one.seconds), rate(one.rate)] for one in latest]
    data = table(
        [unit.capitalize(), "Done after", "Mean rate"],
        rows,
        caption=f"Completion of each {unit}, the last first{_of_many(len(done))}",
        titled=True,
    )
    return figure(name, caption, image, table=data)


def _still_moving(done: Sequence[Completion], unit: str, name: str) -> Markup:
    edges, left = still_moving(done)
    axes = Axes.of(np.array([0.0, edges[-1] * 1.05]), len(done), FULL_WIDTH, HEIGHT / 2)
    tail = tail_of(done)
    half = edges[-1] * (1 - tail)
    said = (
        f"in the last {percent_text(tail)} of the time, from {seconds_text(half)} on, fewer than "
        f"half of them are"
    )
    image = drawing(
        FULL_WIDTH,
        TOP + HEIGHT / 2 + 40,
        f"How many of {plural(len(done), unit)} still move bytes, over time; {said}",
        axes.frame("time since the first bytes", 3, 10, unit=Unit(f"{unit}s", 1.0)),
        axes.steps(edges, left, "monitored write-line"),
        line(axes.x(half), TOP, axes.x(half), axes.y.start, "axis"),
    )
    caption = join(
        element("strong", f"{unit.capitalize()}s that still move bytes"),
        f" \u2013 how many of {plural(len(done), unit)} are not done; {said} (upright line).",
    )
    lines = ["from_second,until_second,still_moving"]
    for begin, end, number in zip(edges[:-1], edges[1:], left, strict=True):
        lines.append(f"{begin:.6g},{end:.6g},{number:.0f}")
    return figure(name, caption, image, table=csv("\n".join(lines) + "\n"))


def _of_many(number: int) -> str:
    return f"; {TABLE_ROWS} of {number}" if number > TABLE_ROWS else ""
