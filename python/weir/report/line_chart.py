"""Draws a quantity over a factor's levels: points with intervals, expectations as bands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from weir.analysis.campaign_summary import level_text
from weir.report.chart import FULL_WIDTH, LinearScale, LogScale, drawing, line, text
from weir.report.markup import Markup, element, join
from weir.report.quantities import RATE_UNITS, Unit, fitting_unit
from weir.results.campaign import Value

LEFT, RIGHT, TOP, BOTTOM = 62.0, 18.0, 20.0, 48.0
HEIGHT = 330.0
LOG_FROM_RATIO = 8.0
MARKERS = ("disc", "square", "triangle", "diamond")
OTHER_COLOURS = ("remap", "sync", "blocked")
"""Colours of the style sheet besides those of the directions; they can be distinguished in grey and
by the colour-blind."""
MOST_SERIES = 1 + len(OTHER_COLOURS)
"""Number of series in one drawing; further series have their own drawings."""
LABEL_WIDTH = 150.0
"""Width beside the last points for the names of the series."""
LABEL_HEIGHT = 14.0


@dataclass(frozen=True)
class Point:
    """A measurement or an expectation at a level; rates in bytes per second."""

    level: Value
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """Points of one series, and their expectations."""

    name: str
    direction: str
    """"read" or "write"."""
    marker: int
    points: list[Point]
    expected: list[Point] = field(default_factory=list)
    own_colour: str | None = None
    """Colour of the style sheet if it is not that of the direction; see `colours`."""

    @property
    def colour(self) -> str:
        return self.own_colour or self.direction


@dataclass(frozen=True)
class Rule:
    """A reference line through levels, such as the synchronous rate times NBIN."""

    name: str
    direction: str
    points: Sequence[tuple[Value, float]]
    style: str = "dotted"
    """"dotted", "dash-dotted" or "solid"."""


@dataclass(frozen=True)
class Mark:
    """A place on the horizontal axis, with an interval around it."""

    at: float
    low: float | None
    high: float | None
    direction: str
    label: str


@dataclass(frozen=True)
class Frame:
    """The size of a drawing, and what it shares with adjacent drawings."""

    width: float = FULL_WIDTH
    height: float = HEIGHT
    top: float | None = None
    """Largest value of the vertical axis; None: that of the drawn values."""
    has_labels: bool = False
    """Whether the name of each series stands at its last point."""
    heading: str | None = None
    is_logarithmic: bool = False
    """Whether the vertical axis is logarithmic: powers are then straight lines. No value is 0."""

    @property
    def right(self) -> float:
        return self.width - (LABEL_WIDTH if self.has_labels else RIGHT)

    @property
    def base(self) -> float:
        return self.height - BOTTOM


def colours(count: int) -> list[str | None]:
    """Returns a colour for each of so many series of one direction; None is the direction's own."""
    return [None, *OTHER_COLOURS][:count]


WHOLE = Frame()


class Axis:
    """Places levels on an axis: numbers by value or logarithm, other levels side by side."""

    def __init__(self, name: str, levels: Sequence[Value], width: float) -> None:
        """``width`` reaches to the right end of the axis."""
        self.name = name
        self.levels = list(levels)
        start, end = LEFT + 14, width - 14
        numbers = [level for level in levels if _is_number(level)]
        self.numeric = len(numbers) == len(self.levels) and len(self.levels) > 1
        self.logarithmic = False
        self._scale: LinearScale | LogScale
        if self.numeric:
            low, high = float(min(numbers)), float(max(numbers))
            self.logarithmic = low > 0 and high / low >= LOG_FROM_RATIO and len(numbers) > 2
            kind = LogScale if self.logarithmic else LinearScale
            self._scale = kind(low, high, start, end)
        else:
            count = len(self.levels)
            margin = (end - start) / (2 * count)
            self._scale = LinearScale(0, max(1, count - 1), start + margin, end - margin)

    def __call__(self, level: Value | float) -> float:
        if self.numeric:
            return self._scale(float(level))
        return self._scale(self.levels.index(level))

    def labels(self) -> list[tuple[float, str]]:
        """Returns the labelled levels and their places; of many only those that do not overlap."""
        wanted = [(self(level), level_text(self.name, level)) for level in self.levels]
        chosen: list[tuple[float, str]] = []
        for x, label in sorted(wanted):
            room = 3.4 * (len(label) + (len(chosen[-1][1]) if chosen else 0)) + 8
            if not chosen or x - chosen[-1][0] >= room:
                chosen.append((x, label))
        last = max(wanted)
        if chosen[-1] != last:
            while len(chosen) > 1 and last[0] - chosen[-1][0] < 7 * len(last[1]) + 8:
                chosen.pop()
            chosen.append(last)
        return chosen


def _is_number(level: Value) -> bool:
    return isinstance(level, int | float) and not isinstance(level, bool)


def line_chart(
    factor: str,
    title: str,
    series: Sequence[Series],
    *,
    rules: Sequence[Rule] = (),
    marks: Sequence[Mark] = (),
    description: str,
    units: Sequence[Unit] = RATE_UNITS,
    frame: Frame = WHOLE,
) -> Markup:
    """Returns the drawing; ``title`` labels the horizontal axis, the fitting unit the other."""
    levels = _levels(series)
    axis = Axis(factor, levels, frame.right)
    top = frame.top or largest(series, rules)
    unit = fitting_unit(units, top)
    base = frame.base
    scale: LinearScale | LogScale
    if frame.is_logarithmic:
        scale, ticks = _decades(series, base, units)
    else:
        scale = LinearScale(0, top * 1.06, base, TOP)
        ticks = scale.ticks_in(unit, 6 if frame.height == HEIGHT else 4)
    parts: list[Markup] = []
    for value, label in ticks:
        y = scale(value)
        parts.append(line(LEFT, y, frame.right, y, "grid"))
        parts.append(text(LEFT - 8, y + 4, label, class_="tick", anchor="end"))
    name = "log" if frame.is_logarithmic else unit.name
    parts.append(text(LEFT - 8, 11, name, class_="tick", anchor="end"))
    if frame.heading is not None:
        parts.append(text(LEFT, 12, frame.heading, class_="label strong"))
    for x, label in axis.labels():
        parts.append(line(x, base, x, base + 4, "axis"))
        parts.append(text(x, base + 17, label, class_="tick", anchor="middle"))
    parts.append(line(LEFT, base, frame.right, base, "axis"))
    how = ", logarithmic" if axis.logarithmic else ""
    parts.append(text(frame.right, base + 36, title + how, class_="tick", anchor="end"))
    parts += [_mark(mark, axis, base, place) for place, mark in enumerate(marks)]
    # Series with equal expectations share one band.
    parts += dict.fromkeys(_band(one, axis, scale) for one in series)
    shifts = _shifts(axis, len(series), frame.right)
    parts += [_expected(one, axis, scale, dx) for one, dx in zip(series, shifts, strict=True)]
    parts += [_rule(rule, axis, scale) for rule in rules]
    parts += [
        _measured(one, axis, scale, dx, factor, units)
        for one, dx in zip(series, shifts, strict=True)
    ]
    if frame.has_labels:
        parts += _labels(series, axis, scale, frame)
    return drawing(frame.width, frame.height, description, parts)


def _decades(
    series: Sequence[Series], base: float, units: Sequence[Unit]
) -> tuple[LogScale, list[tuple[float, str]]]:
    """Returns a logarithmic axis over whole powers, and its ticks.

    They are powers of ten, or of sixteen for rates, whose units are powers of 1024.
    """
    factor = 16.0 if units is RATE_UNITS else 10.0
    points = [point for one in series for point in [*one.points, *one.expected]]
    values = [end for point in points for end in (point.low, point.value, point.high)]
    first = math.floor(math.log(min(values), factor) + 1e-9)
    last = max(math.ceil(math.log(max(values), factor) - 1e-9), first + 1)
    powers = [factor**power for power in range(first, last + 1)]
    ticks = [(power, _tick_text(power, units)) for power in powers]
    return LogScale(powers[0], powers[-1], base, TOP), ticks


def _tick_text(value: float, units: Sequence[Unit]) -> str:
    unit = fitting_unit(units, value)
    return f"{value / unit.size:g} {unit.name}" if units is RATE_UNITS else unit.text(value)


def _labels(
    series: Sequence[Series], axis: Axis, scale: LinearScale | LogScale, frame: Frame
) -> list[Markup]:
    """Draws the name of each series beside its last point, moved if names would overlap."""
    ends = sorted((scale(_ordered(one.points, axis)[-1].value), one.name, one) for one in series)
    places: list[float] = []
    for wanted, _, _ in ends:
        places.append(max(wanted, places[-1] + LABEL_HEIGHT) if places else max(wanted, TOP))
    excess = places[-1] - frame.base if places else 0.0
    if excess > 0:
        places = [place - excess for place in places]
    x = frame.right + 6
    parts = []
    for place, (wanted, name, one) in zip(places, ends, strict=True):
        parts.append(line(frame.right - 8, wanted, x - 1, place, f"leader {one.colour}-line"))
        parts.append(text(x, place + 4, name, class_="label"))
    return parts


def _levels(series: Sequence[Series]) -> list[Value]:
    found: list[Value] = []
    for level in (point.level for one in series for point in [*one.points, *one.expected]):
        if level not in found:
            found.append(level)
    if all(_is_number(level) for level in found):
        return sorted(found, key=float)
    return found


def largest(series: Sequence[Series], rules: Sequence[Rule]) -> float:
    """Returns the largest value that must be visible; an expectation's upper end may be cut off."""
    seen = [point.high for one in series for point in one.points]
    seen += [point.value for one in series for point in one.expected]
    seen += [value for rule in rules for _, value in rule.points]
    return max([value for value in seen if math.isfinite(value)], default=1.0) or 1.0


def _path(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in places)


def _ordered(points: Sequence[Point], axis: Axis) -> list[Point]:
    return sorted(points, key=lambda point: axis(point.level))


def _band(one: Series, axis: Axis, scale: LinearScale | LogScale) -> Markup:
    """Draws the expectation's interval, cut off at the top of the drawing."""
    points = _ordered(one.expected, axis)
    if len(points) < 2 or not axis.numeric:
        return join()

    def y(value: float) -> float:
        return max(TOP, scale(value))

    upper = [(axis(point.level), y(point.high)) for point in points]
    lower = [(axis(point.level), y(point.low)) for point in reversed(points)]
    return element("path", d=_path([*upper, *lower]) + "Z", class_=f"{one.colour} expectation")


def _shifts(axis: Axis, count: int, right: float) -> list[float]:
    """Returns each series' distance from its level: side by side if levels are not numbers."""
    if axis.numeric:
        return [0.0] * count
    step = min(36.0, (right - LEFT) / (len(axis.levels) * (count + 1)))
    return [(place - (count - 1) / 2) * step for place in range(count)]


def _expected(one: Series, axis: Axis, scale: LinearScale | LogScale, dx: float) -> Markup:
    points = _ordered(one.expected, axis)
    places = [(axis(point.level) + dx, scale(point.value)) for point in points]
    if axis.numeric and len(places) > 1:
        return element("path", d=_path(places), class_=f"expected-line {one.colour}-line")
    return join(*(line(x - 12, y, x + 12, y, "target") for x, y in places))


def _rule(rule: Rule, axis: Axis, scale: LinearScale | LogScale) -> Markup:
    places = sorted((axis(level), scale(value)) for level, value in rule.points)
    if len(places) == 1:
        places = [(places[0][0] - 20, places[0][1]), (places[0][0] + 20, places[0][1])]
    return element("path", d=_path(places), class_=f"rule {rule.style} {rule.direction}-line")


def _mark(mark: Mark, axis: Axis, base: float, place: int) -> Markup:
    x = axis(mark.at)
    height = TOP - 8 + 15 * place  # Labels of neighbours are below each other.
    anchor = "end" if x > FULL_WIDTH / 2 else "start"
    parts: list[Markup] = []
    if mark.low is not None and mark.high is not None and mark.high > mark.low:
        left, right = axis(mark.low), axis(mark.high)
        parts.append(
            element(
                "rect",
                x=left,
                y=TOP,
                width=right - left,
                height=base - TOP,
                class_=f"{mark.direction} expectation",
            )
        )
    parts.append(
        element("path", d=_path([(x, TOP), (x, base)]), class_=f"rule {mark.direction}-line")
    )
    parts.append(
        text(
            x - 5 if anchor == "end" else x + 5,
            height,
            mark.label,
            class_="tick halo",
            anchor=anchor,
        )
    )
    return join(*parts)


def _measured(
    one: Series,
    axis: Axis,
    scale: LinearScale | LogScale,
    dx: float,
    factor: str,
    units: Sequence[Unit],
) -> Markup:
    points = _ordered(one.points, axis)
    places = [(axis(point.level) + dx, scale(point.value)) for point in points]
    parts: list[Markup] = []
    if axis.numeric and len(places) > 1:
        parts.append(element("path", d=_path(places), class_=f"measured {one.colour}-line"))
    for point, (x, y) in zip(points, places, strict=True):
        parts.append(line(x, scale(point.low), x, scale(point.high), "whisker"))
        ends = (scale(point.low), scale(point.high))
        parts += [line(x - 3, end, x + 3, end, "whisker") for end in ends]
        shown = fitting_unit(units, point.value).text(point.value)
        tip = f"{one.name}, {level_text(factor, point.level)}: {shown}"
        parts.append(marker(x, y, one.marker, one.colour, tip=tip, value=point.value))
    return join(*parts)


def marker(
    x: float, y: float, kind: int, direction: str, *, tip: str | None = None, value: float = 0.0
) -> Markup:
    """Draws one of four shapes, every other one hollow: series differ also without colour."""
    shape = MARKERS[kind % len(MARKERS)]
    outlines = {
        "disc": f"M{x - 4.5:.2f} {y:.2f}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z",
        "square": f"M{x - 4:.2f} {y - 4:.2f}h8v8h-8Z",
        "triangle": f"M{x:.2f} {y - 4.6:.2f}l4.6 8h-9.2Z",
        "diamond": f"M{x:.2f} {y - 5:.2f}l5 5l-5 5l-5 -5Z",
    }
    return element(
        "path",
        d=outlines[shape],
        class_=f"point {direction}" if kind % 2 == 0 else f"point hollow {direction}-line",
        data_tip=tip,
        data_value=repr(float(value)) if tip else None,
    )


def legend(series: Sequence[Series], rules: Sequence[Rule], *, names_series: bool = True) -> Markup:
    """Returns each series with its line and marker, then the meanings of the other marks."""
    entries = [
        (
            join(
                line(1, 6, 29, 6, f"measured {one.colour}-line"),
                marker(15, 6, one.marker, one.colour),
            ),
            one.name,
        )
        for one in series
        if names_series
    ]
    several = len({one.direction for one in series}) > 1
    for direction in dict.fromkeys(one.direction for one in series if one.expected):
        expected = join(
            element(
                "rect", x=1.0, y=1.0, width=28.0, height=10.0, class_=f"{direction} expectation"
            ),
            line(1, 6, 29, 6, f"expected-line {direction}-line"),
        )
        entries.append((expected, f"expected, {direction}" if several else "expected"))
    entries += [
        (line(1, 6, 29, 6, f"rule {rule.style} {rule.direction}-line"), rule.name) for rule in rules
    ]
    items = [
        element(
            "li",
            element("svg", sample, width=30.0, height=12.0, aria_hidden="true"),
            " ",
            name,
        )
        for sample, name in entries
    ]
    return element("ul", *items, class_="legend")
