"""Charts of rates over each factor's levels, with intervals and expectations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weir.analysis.campaign_summary import Cell
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
    level_text,
    line_chart,
)
from weir.report.markup import Markup, element, join
from weir.report.quantities import NO_VALUE, rate, rate_range_text
from weir.report.wording import METRIC_NAME, sentence_case
from weir.results.campaign import Campaign, CampaignFactor, Curve, Value
from weir.results.expectations import Direction, Metric

SMALL_WIDTH, SMALL_HEIGHT = FULL_WIDTH / 2 - 10, 210.0
TOO_UNLIKE = 4.0
"""Directions whose rates differ by more than this factor have separate drawings."""


def render_factor(
    campaign: Campaign,
    factor: CampaignFactor,
    cells: Sequence[Cell],
    curves: Sequence[Curve] = (),
) -> Markup:
    """Returns a factor's figures, per kind of rate, and per direction if these differ much."""
    figures = []
    for metric in dict.fromkeys(cell.metric for cell in cells):
        mine = [cell for cell in cells if cell.metric == metric]
        for directions in _panels(mine):
            shown = [cell for cell in mine if cell.direction in directions]
            series = _series(campaign, factor, shown)
            fitted = [
                curve
                for curve in curves
                if metric != "foreground"
                and curve.factor == factor.names[0]
                and curve.direction in directions
            ]
            if len(series) > MOST_SERIES and len(directions) > 1:
                # Series need the colours, so they are not available for the directions.
                parts = [[direction] for direction in directions]
            else:
                parts = [directions]
            for part in parts:
                mine_alone = [one for one in series if one.direction in part]
                fits = [curve for curve in fitted if curve.direction in part]
                figures.append(_figure(factor, metric, part, mine_alone, fits))
    return join(*figures)


def _panels(cells: Sequence[Cell]) -> list[list[Direction]]:
    largest: dict[Direction, float] = {}
    for cell in cells:
        largest[cell.direction] = max(largest.get(cell.direction, 0.0), cell.high)
    ordered: list[Direction] = [d for d in ("write", "read") if d in largest]
    if len(ordered) == 2:
        small, large = sorted(largest.values())
        if small > 0 and large / small > TOO_UNLIKE:
            return [[direction] for direction in ordered]
    return [ordered]


def _series(campaign: Campaign, factor: CampaignFactor, cells: Sequence[Cell]) -> list[Series]:
    labels: dict[int, set[str]] = {}
    for cell in cells:
        labels.setdefault(cell.combination, set()).add(cell.label)
    groups: dict[tuple[str, Direction], list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: _place(campaign, factor, cell)):
        groups.setdefault(
            (others_text(campaign, factor, cell, labels[cell.combination]), cell.direction), []
        ).append(cell)
    kinds = list(dict.fromkeys(name for name, _ in groups))
    name = factor.names[0]
    found = []
    for (others, direction), members in groups.items():
        levels = [campaign.combinations[cell.combination][name] for cell in members]
        points = [
            Point(level, cell.median, cell.low, cell.high)
            for level, cell in zip(levels, members, strict=True)
        ]
        expected = [
            Point(level, cell.expected.rate, cell.expected.low, cell.expected.high)
            for level, cell in zip(levels, members, strict=True)
            if cell.expected is not None
        ]
        shown = f"{direction}, {others}" if others else direction
        found.append(Series(shown, direction, kinds.index(others), points, expected))
    return found


def _place(campaign: Campaign, factor: CampaignFactor, cell: Cell) -> list[int]:
    """Returns the positions of the cell's levels of the other factors in the design."""
    combination = campaign.combinations[cell.combination]
    return [
        other.levels.index([combination[name] for name in other.names])
        for other in campaign.factors
        if other != factor
    ]


def others_text(campaign: Campaign, factor: CampaignFactor, cell: Cell, labels: set[str]) -> str:
    """Returns what distinguishes a cell from other series: other factors and the configuration.

    ``labels`` are those of the cell's own combination: a label may name the level itself, which
    does not distinguish series.
    """
    combination = campaign.combinations[cell.combination]
    parts = [_short(name, value) for name, value in combination.items() if name not in factor.names]
    constant = set.intersection(*(set(label.split()) for label in labels)) if labels else set()
    parts += [word for word in cell.label.split() if word not in constant and word not in parts]
    return ", ".join(parts)


def _short(name: str, value: Value) -> str:
    if isinstance(value, str):
        return value
    return f"{name} {level_text(name, value)}"


def factor_title(factor: CampaignFactor) -> str:
    """Returns the factor's name for people; linked factors have all their names."""
    return " and ".join(name.replace("-", " ") for name in factor.names)


def _figure(
    factor: CampaignFactor,
    metric: Metric,
    directions: list[Direction],
    series: list[Series],
    curves: Sequence[Curve],
) -> Markup:
    title = factor_title(factor)
    name = factor.names[0]
    said = "; ".join(
        f"{one.name}: "
        + ", ".join(
            f"{level_text(name, p.level)} {rate_range_text(p.low, p.high)}" for p in one.points
        )
        for one in series
    )
    rules = [Rule(f"{c.name}, {c.direction}", c.direction, c.points, "solid") for c in curves]
    labelled = len(series) > 1
    if len(series) > MOST_SERIES:
        image = _small_multiples(name, title, series)
        rules = []
    else:
        if len(directions) == 1:
            colour_of = colours(len(series))
            series = [
                replace(one, marker=place, own_colour=colour)
                for place, (one, colour) in enumerate(zip(series, colour_of, strict=True))
            ]
        frame = Frame(has_labels=labelled)
        words = f"Rate over {title}. {said}"
        image = line_chart(name, title, series, rules=rules, description=words, frame=frame)
    which = f", {directions[0]}" if len(directions) == 1 else ""
    caption = join(
        element("strong", f"{sentence_case(METRIC_NAME[metric])} over {title}{which}"),
        " \u2013 medians with their intervals; dashed, what was expected beforehand.",
        *(f" Fitted to {curve.direction}, {curve.text}." for curve in curves),
    )
    return figure(
        f"factor-{'-'.join(factor.names)}-{metric}-{'-'.join(directions)}",
        caption,
        image,
        legend=legend(series, rules, names_series=not labelled),
        table=_table(name, series),
        width=FULL_WIDTH,
    )


def _small_multiples(name: str, title: str, series: Sequence[Series]) -> Markup:
    """Returns small drawings on one scale, one per series: many lines are indistinguishable."""
    top = largest(series, [])
    drawings = [
        line_chart(
            name,
            title,
            [replace(one, marker=0)],
            description=f"Rate over {title}, {one.name}",
            frame=Frame(SMALL_WIDTH, SMALL_HEIGHT, top, heading=one.name),
        )
        for one in series
    ]
    return element("div", *drawings, class_="small-multiples")


def _table(name: str, series: Sequence[Series]) -> Markup:
    rows = []
    for one in series:
        expected = {point.level: point for point in one.expected}
        for point in one.points:
            before = expected.get(point.level)
            rows.append(
                [
                    level_text(name, point.level),
                    one.name,
                    rate(point.value),
                    rate_range_text(point.low, point.high),
                    rate(before.value) if before else NO_VALUE,
                    rate_range_text(before.low, before.high) if before else NO_VALUE,
                ]
            )
    head = [name, "series", "median", "interval", "expected", "expected interval"]
    return table(head, rows, caption=f"Rates over {name}", numeric_from=2)
