"""Charts of rates over each factor's levels, with intervals and expectations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from weir.analysis.campaign_summary import (
    RANKS,
    Cell,
    Line,
    growth_over_ranks,
    level_text,
    lines_over,
)
from weir.analysis.saturation import Saturation
from weir.report.chart import FULL_WIDTH, figure, table
from weir.report.line_chart import (
    MOST_SERIES,
    Frame,
    Point,
    Rule,
    Series,
    colours,
    largest,
    legend,
    line_chart,
)
from weir.report.markup import Markup, element, join
from weir.report.quantities import NO_VALUE, SCALES, figure_range_text, shown
from weir.report.wording import metric_name, sentence_case
from weir.results.campaign import Campaign, CampaignFactor, Curve, Value
from weir.results.expectations import Direction
from weir.results.series import Unit

COLOUR: Direction = "write"
"""The colour of figures that have no direction."""
POINTS_PER_CURVE = 60
SMALL_WIDTH, SMALL_HEIGHT = FULL_WIDTH / 2 - 10, 210.0
TOO_UNLIKE = 4.0
"""Directions whose rates differ by more than this factor have separate drawings."""


@dataclass(frozen=True)
class Panel:
    """What one figure of the report draws: some lines of one kind over one factor."""

    factor: CampaignFactor
    metric: str
    unit: Unit
    names: list[str]
    lines: list[Line]
    curves: Sequence[Curve] = ()


def render_factor(
    campaign: Campaign,
    factor: CampaignFactor,
    cells: Sequence[Cell],
    curves: Sequence[Curve] = (),
) -> Markup:
    """Returns a factor's figures, per kind of figure, and per name if these differ much."""
    figures = []
    for metric, unit in dict.fromkeys((cell.metric, cell.unit) for cell in cells):
        mine = [cell for cell in cells if (cell.metric, cell.unit) == (metric, unit)]
        for names in _panels(mine):
            shown = [cell for cell in mine if cell.shown_name in names]
            lines = lines_over(campaign, factor, shown)
            fitted = [
                curve
                for curve in curves
                if metric != "foreground" and curve.factor == factor.names[0]
            ]
            # Many lines need the colours, so they are not available for the directions.
            parts = [[name] for name in names] if len(lines) > MOST_SERIES else [names]
            for part in parts:
                of_part = [line for line in lines if line.name in part]
                fits = [curve for curve in fitted if curve.direction in part]
                figures.append(_figure(Panel(factor, metric, unit, part, of_part, fits)))
    return join(*figures)


def _panels(cells: Sequence[Cell]) -> list[list[str]]:
    """Returns the names that share a drawing: both directions, if they do not differ much."""
    largest: dict[str, float] = {}
    for cell in cells:
        largest[cell.shown_name] = max(largest.get(cell.shown_name, 0.0), cell.high)
    if cells[0].direction is None:
        return [[name] for name in largest]
    ordered: list[str] = [d for d in ("write", "read") if d in largest]
    if len(ordered) == 2:
        small, large = sorted(largest.values())
        if small > 0 and large / small > TOO_UNLIKE:
            return [[direction] for direction in ordered]
    return [ordered]


def _series(panel: Panel) -> list[Series]:
    kinds = list(dict.fromkeys(line.others for line in panel.lines))
    found = []
    for one in panel.lines:
        pairs = list(zip(one.levels, one.cells, strict=True))
        points = [Point(level, cell.median, cell.low, cell.high) for level, cell in pairs]
        expected = [
            Point(level, made.value, made.low, made.high)
            for level, cell in pairs
            if (made := cell.expected) is not None
        ]
        colour, kind = one.direction or COLOUR, kinds.index(one.others)
        found.append(Series(one.full_name, colour, kind, points, expected))
    if len(panel.names) == 1 and len(found) <= MOST_SERIES:
        found = [
            replace(one, marker=place, own_colour=colour)
            for place, (one, colour) in enumerate(zip(found, colours(len(found)), strict=True))
        ]
    return found


def factor_title(factor: CampaignFactor) -> str:
    """Returns the factor's name for people; linked factors have all their names."""
    return " and ".join(name.replace("-", " ") for name in factor.names)


def _figure(panel: Panel) -> Markup:
    title, name = factor_title(panel.factor), panel.factor.names[0]
    series = _series(panel)
    said = "; ".join(
        f"{one.name}: "
        + ", ".join(
            f"{level_text(name, p.level)} {figure_range_text(p.low, p.high, panel.unit)}"
            for p in one.points
        )
        for one in series
    )
    words = f"{'Time' if panel.unit == 's' else 'Rate'} over {title}. {said}"
    rules = [Rule(f"{c.name}, {c.direction}", c.direction, c.points, "solid") for c in panel.curves]
    sentences = [f" Fitted to {curve.direction}, {curve.text}." for curve in panel.curves]
    for one, line in zip(series, panel.lines, strict=True) if name == RANKS else []:
        growth = growth_over_ranks(line)
        if growth is not None:
            sentences.append(f" {one.name}: {growth.text(panel.unit)}.")
            # Lines of transfers carry their expectations, beside which a curve would be too much.
            if growth.holds and panel.unit != "bytes/s":
                drawn = _drawn(growth, one.points)
                rules.append(Rule(f"{one.name}, fitted", one.colour, drawn, "solid"))
    labelled = len(series) > 1
    if len(series) > MOST_SERIES:
        image = _small_multiples(name, title, series, panel.unit)
        rules = []
    else:
        # Over the ranks, times that are powers of their number are straight lines.
        frame = Frame(has_labels=labelled, is_logarithmic=panel.unit == "s" and name == RANKS)
        units = SCALES[panel.unit]
        image = line_chart(
            name, title, series, rules=rules, description=words, units=units, frame=frame
        )
    which = f", {panel.names[0]}" if len(panel.names) == 1 else ""
    about = sentence_case(metric_name(panel.metric, panel.unit))
    caption = join(
        element("strong", f"{about} over {title}{which}"),
        " \u2013 medians with their intervals; dashed, what was expected beforehand.",
        *sentences,
    )
    kind = panel.metric if panel.unit == "bytes/s" else panel.unit.replace("1/s", "operations")
    return figure(
        f"factor-{'-'.join(panel.factor.names)}-{kind}-{'-'.join(panel.names)}".replace("/", "-"),
        caption,
        image,
        legend=legend(series, rules, names_series=not labelled),
        table=_table(name, series, panel.unit),
        width=FULL_WIDTH,
    )


def _drawn(fit: Saturation, points: Sequence[Point]) -> list[tuple[Value, float]]:
    levels = sorted(float(point.level) for point in points)
    places = np.geomspace(levels[0], levels[-1], POINTS_PER_CURVE).tolist()
    return [(place, fit.rate(place)) for place in places]


def _small_multiples(name: str, title: str, series: Sequence[Series], unit: Unit) -> Markup:
    """Returns small drawings on one scale, one per series: many lines are indistinguishable."""
    top = largest(series, [])
    drawings = [
        line_chart(
            name,
            title,
            [replace(one, marker=0)],
            description=f"Rate over {title}, {one.name}",
            units=SCALES[unit],
            frame=Frame(SMALL_WIDTH, SMALL_HEIGHT, top, heading=one.name),
        )
        for one in series
    ]
    return element("div", *drawings, class_="small-multiples")


def _table(name: str, series: Sequence[Series], unit: Unit) -> Markup:
    rows = []
    for one in series:
        expected = {point.level: point for point in one.expected}
        for point in one.points:
            before = expected.get(point.level)
            rows.append(
                [
                    level_text(name, point.level),
                    one.name,
                    shown(point.value, unit),
                    figure_range_text(point.low, point.high, unit),
                    shown(before.value, unit) if before else NO_VALUE,
                    figure_range_text(before.low, before.high, unit) if before else NO_VALUE,
                ]
            )
    head = [name, "series", "median", "interval", "expected", "expected interval"]
    return table(head, rows, caption=f"Figures over {name}", numeric_from=2)
