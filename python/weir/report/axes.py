"""The axes of drawings of rates or counts over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weir.report.chart import LinearScale, bottom_axis, line, plot, text, time_axis
from weir.report.markup import Child, Markup, coordinate, element, join
from weir.report.quantities import Unit, rate_unit, time_unit

Floats = NDArray[np.float64]

LEFT, RIGHT, TOP = 66.0, 14.0, 20.0
HEIGHT = 240.0


@dataclass(frozen=True)
class Axes:
    """Scales of a drawing over time."""

    x: LinearScale
    y: LinearScale

    @classmethod
    def of(cls, edges: Floats, largest: float, width: float, height: float) -> Axes:
        x = LinearScale(float(edges[0]), float(edges[-1]), LEFT, width - RIGHT)
        return cls(x, LinearScale(0.0, largest * 1.06 or 1.0, TOP + height, TOP))

    def frame(
        self, title: str, ticks: int, marks: int, clock: str | None = None, unit: Unit | None = None
    ) -> Markup:
        """Draws both axes; the unit is at the top of the vertical one.

        ``unit``: of the vertical axis; that of a rate if it is None. ``clock``: see ``time_axis``;
        None if the horizontal axis is not the time of a plot.
        """
        parts: list[Markup] = []
        unit = unit or rate_unit(self.y.high)
        for value, label in self.y.ticks_in(unit, ticks):
            y = self.y(value)
            parts.append(line(self.x.start, y, self.x.end, y, "grid"))
            parts.append(text(LEFT - 8, y + 4, label, class_="tick", anchor="end"))
        parts.append(text(LEFT - 8, 11, unit.name, class_="tick", anchor="end"))
        if clock is not None:
            parts.append(time_axis(self.x, self.y.start, title, clock, marks=marks))
        else:
            time = time_unit(max(abs(self.x.low), abs(self.x.high)))
            labels = self.x.ticks_in(time, marks)
            parts.append(bottom_axis(self.x, self.y.start, labels, f"{title}, {time.name}"))
        return join(*parts)

    def plot(self, *content: Child) -> Markup:
        return plot(self.x, TOP - 4, self.y.start + 1, *content)

    def steps(self, edges: Floats, values: Floats, css: str) -> Markup:
        """Draws a line with a step at each edge; adjacent columns of equal height are joined."""
        heights = [coordinate(self.y(float(value))) for value in values]
        parts = [f"M{coordinate(self.x(float(edges[0])))} {heights[0]}"]
        for place, height in enumerate(heights):
            if place and height != heights[place - 1]:
                parts.append(f"V{height}")
            if place + 1 == len(heights) or heights[place + 1] != height:
                parts.append(f"H{coordinate(self.x(float(edges[place + 1])))}")
        return element("path", d="".join(parts), class_=css)
