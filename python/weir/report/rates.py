"""Draws rates per function and direction: a point per repetition, with median and interval."""

from __future__ import annotations

from dataclasses import dataclass

from weir.report.chart import (
    HALF_WIDTH,
    LinearScale,
    bar,
    bottom_axis,
    drawing,
    figure,
    line,
    table,
    text,
)
from weir.report.markup import Markup, element, join
from weir.report.quantities import Unit, rate, rate_range_text, rate_text, rate_unit, seconds
from weir.report.sources import Source, directions, headline_rate, measured
from weir.report.wording import FUNCTION_TEXT, METRIC_TEXT, expected_rate
from weir.results.expectations import Direction, ExpectedRate
from weir.results.figures import parts_of, values_of
from weir.results.schema import Rate, Run
from weir.results.series import Series

LEFT, RIGHT, TOP, ROW = 44.0, 84.0, 8.0, 40.0
CLOSE = 0.6
JITTER = (-6.0, 0.0, 6.0)


@dataclass(frozen=True)
class Point:
    """The rate of one repetition in bytes per second."""

    repetition: int
    value: float
    outlier: bool


@dataclass(frozen=True)
class Row:
    """One line of the figure: ``all`` functions together, or one function."""

    name: str
    points: list[Point]
    interval: Series


def rows_of(run: Run, direction: Direction, headline: Rate) -> list[Row]:
    """Returns all functions together as in ``run.json``, then each function separately."""
    repetitions = measured(run)
    numbered = repetitions if len(headline.values) == len(repetitions) else []
    together = [
        Point(numbered[place].index, value, numbered[place].outlier)
        if numbered
        else Point(place, value, False)
        for place, value in enumerate(headline.values)
    ]
    rows = [Row("all", together, headline)]
    parts = [one for one in parts_of(run) if one.place[1:] == (direction, headline.metric)]
    for part in parts:
        if part.function == direction and len(parts) == 1:
            continue  # The row of all functions is the same.
        points = [
            Point(repetition.index, value, repetition.outlier)
            for repetition in repetitions
            for place, _, value in values_of(repetition)
            if place == part.place
        ]
        rows.append(Row(part.function, points, part.series))
    return rows


def render(source: Source) -> Markup | None:
    """Draws one panel per measured direction."""
    panels = []
    for direction in directions(source.run):
        headline = headline_rate(source.run, direction)
        if headline is not None:
            rows = rows_of(source.run, direction, headline)
            expected = expected_rate(source.run, direction)
            panels.append(_panel(source.run, direction, headline, rows, expected))
    if not panels:
        return None
    return element("div", *panels, class_="pair")


def _panel(
    run: Run, direction: Direction, headline: Rate, rows: list[Row], expected: ExpectedRate | None
) -> Markup:
    ends = [point.value for row in rows for point in row.points]
    ends += [row.interval.high for row in rows]
    ends += [row.interval.low for row in rows]
    if expected is not None:
        ends += [expected.low, expected.high]
    unit = rate_unit(max(ends))
    low, high = axis_range(ends)
    scale = LinearScale(low, high, LEFT, HALF_WIDTH - RIGHT)
    bottom = TOP + len(rows) * ROW
    labels = scale.ticks_in(unit, 4)
    parts: list[Markup] = []
    if expected is not None:
        parts.append(_expected_band(scale, expected))
    parts += [
        _row(row, TOP + place * ROW + ROW / 2, scale, direction, unit)
        for place, row in enumerate(rows)
    ]
    number = len(rows[0].points)
    image = drawing(
        HALF_WIDTH,
        bottom + 38,
        f"{direction} rates of {number} repetitions; "
        + "; ".join(f"{row.name}: median {rate_text(row.interval.median)}" for row in rows),
        bottom_axis(scale, bottom, labels, unit.name, top=TOP),
        parts,
    )
    caption = join(
        element("strong", direction.capitalize()),
        f" \u2013 {METRIC_TEXT[headline.metric]}. ",
        "; ".join(
            f"{row.name} {FUNCTION_TEXT[row.name]}" for row in rows[1:] if row.name in FUNCTION_TEXT
        )
        + (". " if any(row.name in FUNCTION_TEXT for row in rows[1:]) else ""),
        "The axis does not begin at zero. " if low > 0 else None,
        "\u25c7: an outlier, kept. " if any(point.outlier for point in rows[0].points) else None,
    )
    return figure(
        f"rates-{direction}",
        caption,
        image,
        table=_table(run, direction, headline, rows),
        width=HALF_WIDTH,
    )


def axis_range(values: list[float]) -> tuple[float, float]:
    """Returns a range from zero, unless values are so close that their spread would not show."""
    least, most = min(values), max(values)
    if least < CLOSE * most or most <= 0:
        return 0.0, most * 1.02 or 1.0
    margin = max(most - least, 0.02 * most) * 0.15
    return least - margin, most + margin


def _expected_band(scale: LinearScale, expected: ExpectedRate) -> Markup:
    low, high = expected.low, expected.high
    value = expected.value
    tip = f"expected {rate_text(value)}, between {rate_range_text(low, high)}"
    width = max(2.0, scale(high) - scale(low))
    x = scale(value)
    return join(
        bar(scale(low), TOP + 2, width, ROW - 4, "band-fill", tip=tip, value=value),
        line(x, TOP, x, TOP + ROW, "target"),
    )


def _row(row: Row, middle: float, scale: LinearScale, direction: Direction, unit: Unit) -> Markup:
    interval = row.interval
    low, high = scale(interval.low), scale(interval.high)
    tip = f"{row.name}: median {rate_text(interval.median)}"
    if len(row.points) > 1:
        tip += f", {interval.confidence * 100:.0f} % interval "
        tip += rate_range_text(interval.low, interval.high)
    parts = [
        text(LEFT - 10, middle + 4, row.name, class_="label strong", anchor="end"),
        bar(
            low,
            middle - 12,
            max(1.0, high - low),
            24,
            f"interval {direction}",
            tip=tip,
            value=interval.median,
        ),
        line(scale(interval.median), middle - 14, scale(interval.median), middle + 14, "median"),
    ]
    for place, point in enumerate(row.points):
        parts.append(
            _point(point, scale(point.value), middle + JITTER[place % len(JITTER)], direction)
        )
    label = unit.text(interval.median)
    parts.append(text(HALF_WIDTH - RIGHT + 8, middle + 4, label, class_="label"))
    return element("g", *parts, data_row=row.name)


def _point(point: Point, x: float, y: float, direction: Direction) -> Markup:
    tip = f"repetition {point.repetition}: {rate_text(point.value)}"
    if point.outlier:
        return element(
            "path",
            d=f"M{x:.2f} {y - 5:.2f}l5 5l-5 5l-5 -5z",
            class_="point outlier",
            data_value=repr(point.value),
            data_repetition=str(point.repetition),
            data_tip=f"{tip}, an outlier: kept and shown",
        )
    return element(
        "circle",
        cx=x,
        cy=y,
        r=3.2,
        class_=f"point {direction}",
        data_value=repr(point.value),
        data_repetition=str(point.repetition),
        data_tip=tip,
    )


def _table(run: Run, direction: Direction, headline: Rate, rows: list[Row]) -> Markup:
    by_row = [{point.repetition: point.value for point in row.points} for row in rows]
    body: list[list[Markup | str]] = [
        ["median", *(rate(row.interval.median) for row in rows), ""],
        [
            "interval",
            *(rate_range_text(row.interval.low, row.interval.high) for row in rows),
            "",
        ],
        ["mean", *(rate(row.interval.mean) for row in rows), ""],
        ["standard deviation", *(rate(row.interval.deviation) for row in rows), ""],
    ]
    for repetition in run.repetitions:
        name = f"repetition {repetition.index}"
        if repetition.warmup:
            phases = {p.function: p for p in repetition.phases if p.direction == direction}
            cells = [rate(None)] + [
                rate(phases[row.name].rate(headline.metric) if row.name in phases else None)
                for row in rows[1:]
            ]
            name += " (warm-up, not counted)"
        else:
            cells = [rate(values.get(repetition.index)) for values in by_row]
            name += " (outlier)" if repetition.outlier else ""
        body.append([name, *cells, seconds(repetition.seconds)])
    head = ["", *("all functions" if row.name == "all" else row.name for row in rows), "duration"]
    return table(head, body, caption=f"{direction} rate of each repetition")
