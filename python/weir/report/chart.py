"""Parts that all drawings share: scales, axes, the frame of a figure, tables.

A drawing is SVG in CSS pixels at its full width. Colours are CSS classes (``style.css``), so that
one drawing serves light and dark pages and print. The meaning of a mark is in its ``data-value``
(exact, in base units) and ``data-tip`` (the text that appears when a pointer rests on it).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from weir.report.markup import Child, Markup, coordinate, element, join
from weir.report.quantities import Unit, time_unit

FULL_WIDTH = 880.0
HALF_WIDTH = 428.0
LEAST_TICKS = 3


@dataclass(frozen=True)
class LinearScale:
    """Maps [low, high] to [start, end] in pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        span = self.high - self.low
        share = (value - self.low) / span if span > 0 else 0.0
        return self.start + share * (self.end - self.start)

    def ticks(self, about: int = 5) -> list[float]:
        """Round numbers (1, 2 or 5 times a power of ten) within the scale."""
        step = round_step((self.high - self.low) / max(1, about))
        if step <= 0:
            return [self.low]
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [index * step for index in range(first, last + 1)]

    def ticks_in(self, unit: Unit, about: int = 5) -> list[tuple[float, str]]:
        """Returns places of ticks that are round in ``unit``, and their labels without the unit."""
        scaled = LinearScale(self.low / unit.size, self.high / unit.size, 0, 1)
        return [(value * unit.size, f"{value:.10g}") for value in scaled.ticks(about)]


@dataclass(frozen=True)
class LogScale:
    """Maps [low, high], both positive, to [start, end] by their logarithm."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Returns powers of ten, with 2 and 5 times these if few fit; else round steps."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for factors in ((1,), (1, 2, 5)):
            found = [factor * 10.0**power for power in powers for factor in factors]
            found = [value for value in found if self.low <= value <= self.high]
            if len(found) >= LEAST_TICKS:
                return found
        return [value for value in LinearScale(self.low, self.high, 0, 1).ticks(5) if value > 0]


def round_step(raw: float) -> float:
    """Returns the smallest of 1, 2, 5 times a power of ten that is at least ``raw``."""
    if raw <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))


def text(
    x: float, y: float, *content: Child, class_: str = "label", anchor: str = "start"
) -> Markup:
    """A line of text; ``anchor`` is start, middle or end."""
    position = None if anchor == "start" else anchor
    return element("text", *content, x=x, y=y, class_=class_, text_anchor=position)


def shortened(name: str, most: int) -> str:
    """Returns a name of at most so many characters, with an ellipsis if it was longer."""
    return name if len(name) <= most else name[: most - 1] + "\u2026"


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def bar(
    x: float, y: float, width: float, height: float, class_: str, *, tip: str, value: float
) -> Markup:
    """Draws a filled rectangle for ``value``, exact in base units."""
    return element(
        "rect",
        x=x,
        y=y,
        width=max(width, 0.0),
        height=height,
        class_=class_,
        data_value=repr(float(value)),
        data_tip=tip,
    )


def whisker(low: float, high: float, end: float, middle: float) -> list[Markup]:
    """Draws an interval, in pixels, with an arrow if it continues beyond the scale."""
    shown = min(high, end)
    parts = [
        line(low, middle, shown, middle, "whisker"),
        line(low, middle - 3, low, middle + 3, "whisker"),
    ]
    if high > end:
        arrow = f"M{end:.2f} {middle:.2f}l-6 -3.5v7z"
        parts.append(element("path", d=arrow, class_="pointer"))
    else:
        parts.append(line(high, middle - 3, high, middle + 3, "whisker"))
    return parts


def bottom_axis(
    scale: LinearScale | LogScale,
    y: float,
    labels: Iterable[tuple[float, str]],
    title: str,
    *,
    top: float | None = None,
) -> Markup:
    """Draws tick labels under ``y``, grid lines up to ``top``, and the axis title at the right."""
    marks: list[Markup] = []
    for value, label in labels:
        x = scale(value)
        if top is not None:
            marks.append(line(x, top, x, y, "grid"))
        marks.append(text(x, y + 15, label, class_="tick mark", anchor="middle"))
    marks.append(line(scale.start, y, scale.end, y, "axis"))
    marks.append(text(scale.end, y + 31, title, class_="tick", anchor="end"))
    return join(marks)


def time_axis(
    scale: LinearScale,
    y: float,
    title: str,
    clock: str,
    *,
    marks: int = 8,
    top: float | None = None,
) -> Markup:
    """Draws the axis of times in seconds of a ``plot``, which a script redraws for a part of them.

    Drawings of one run with the same ``clock`` always show the same part.
    """
    unit = time_unit(max(abs(scale.low), abs(scale.high)))
    axis = bottom_axis(scale, y, scale.ticks_in(unit, marks), f"{title}, {unit.name}", top=top)
    return element(
        "g",
        axis,
        class_="time-axis",
        data_clock=clock,
        data_from=repr(scale.low),
        data_to=repr(scale.high),
        data_size=repr(float(unit.size)),
        data_marks=str(marks),
    )


def plot(scale: LinearScale, top: float, bottom: float, *content: Child, **more: float) -> Markup:
    """Returns the area of a drawing over time: a script may show a part of it, and cuts it off."""
    width, height = scale.end - scale.start, bottom - top
    return element(
        "svg",
        *content,
        x=scale.start,
        y=top,
        width=width,
        height=height,
        viewBox=f"{coordinate(scale.start)} {coordinate(top)} {coordinate(width)} "
        f"{coordinate(height)}",
        preserveAspectRatio="none",
        class_="plot",
        **{f"data_{name}": str(value) for name, value in more.items()},
    )


def csv(text: str) -> Markup:
    """Returns values as lines with commas, to be read or saved."""
    return element("pre", text, class_="csv", tabindex="0", role="group", aria_label="Values")


def drawing(width: float, height: float, description: str, *content: Child) -> Markup:
    """Returns an image with a description in words for people who cannot see it."""
    return element(
        "svg",
        *content,
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
        aria_label=description,
        preserveAspectRatio="xMinYMin meet",
    )


@dataclass(frozen=True)
class Legend:
    """Class of a mark, and its meaning."""

    entries: Sequence[tuple[str, str]]

    def render(self) -> Markup:
        items = [
            element(
                "li",
                element(
                    "svg",
                    element("rect", width=14.0, height=10.0, class_=css),
                    width=14.0,
                    height=10.0,
                    aria_hidden="true",
                ),
                " ",
                name,
            )
            for css, name in self.entries
        ]
        return element("ul", *items, class_="legend")


def figure(
    name: str,
    caption: Child,
    *content: Child,
    legend: Legend | Markup | None = None,
    table: Markup | None = None,
    width: float = FULL_WIDTH,
) -> Markup:
    """Returns a figure with ``name`` for programs, a caption above, and a table of its data."""
    wide = width > HALF_WIDTH
    scroll = element(
        "div",
        *content,
        class_="drawing wide" if wide else "drawing",
        tabindex="0" if wide else None,
        role="group" if wide else None,
        aria_label="Drawing, scrolls sideways on narrow screens" if wide else None,
    )
    data = None
    if table is not None:
        summary = element("summary", "Data of this figure")
        data = element("details", summary, table, class_="data")
    return element(
        "figure",
        element("figcaption", caption),
        legend.render() if isinstance(legend, Legend) else legend,
        scroll,
        data,
        data_figure=name,
    )


def table(
    head: Sequence[Child],
    rows: Iterable[Sequence[Child]],
    *,
    caption: str,
    numeric_from: int = 1,
    class_: str | None = None,
    titled: bool = False,
) -> Markup:
    """Returns a table; a row's first cell is its header, columns from ``numeric_from`` are numbers.

    The caption is for people who cannot see the page, unless it is the table's title (``titled``).
    """

    def aligned(index: int) -> str | None:
        return "number" if index >= numeric_from else None

    header = element(
        "tr",
        *(element("th", cell, scope="col", class_=aligned(i)) for i, cell in enumerate(head)),
    )
    body = [
        element(
            "tr",
            *(
                element("th", cell, scope="row", class_=aligned(i))
                if i == 0
                else element("td", cell, class_=aligned(i))
                for i, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    whole = element(
        "table",
        element("caption", caption, class_=None if titled else "visually-hidden"),
        element("thead", header),
        element("tbody", *body),
        class_=class_,
    )
    return element("div", whole, class_="scroll", tabindex="0", role="group", aria_label=caption)
