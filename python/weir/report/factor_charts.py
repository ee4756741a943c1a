"""Rates over each factor's levels, with intervals and the expectation drawn in."""

from __future__ import annotations

from collections.abc import Sequence

from weir.report.chart import FULL_WIDTH, figure, table
from weir.report.line_chart import MARKERS, Point, Rule, Series, legend, level_text, line_chart
from weir.report.markup import Markup, element, join
from weir.report.quantities import NO_VALUE, rate, rate_range_text
from weir.report.wording import METRIC_NAME, sentence_case
from weir.results.campaign import Campaign, CampaignFactor, Curve, Value
from weir.results.campaign_summary import Cell
from weir.results.schema import Direction, Metric

TOO_UNLIKE = 4.0
"""Directions whose rates differ by more than this factor stand in a drawing each."""


def render_factor(
    campaign: Campaign,
    factor: CampaignFactor,
    cells: Sequence[Cell],
    curves: Sequence[Curve] = (),
) -> Markup:
    """The figures of one factor: one per kind of rate, and per direction where these are unlike."""
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
            for first in range(0, len(series), 2 * len(MARKERS)):
                part = series[first : first + 2 * len(MARKERS)]
                figures.append(_figure(factor, metric, directions, part, first, fitted))
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
    for cell in cells:
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
    return sorted(found, key=lambda one: (one.marker // len(MARKERS), one.name))


def others_text(campaign: Campaign, factor: CampaignFactor, cell: Cell, labels: set[str]) -> str:
    """What tells a cell from those of other series: the other factors and the configuration.

    ``labels`` are those of the cell's own combination: a label may name the level itself, which
    tells no series apart.
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
    """The factor's name for people; linked ones name all."""
    return " and ".join(name.replace("-", " ") for name in factor.names)


def _figure(
    factor: CampaignFactor,
    metric: Metric,
    directions: list[Direction],
    series: list[Series],
    first: int,
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
    image = line_chart(name, title, series, rules=rules, description=f"Rate over {title}. {said}")
    which = f", {directions[0]}" if len(directions) == 1 else ""
    more = ", continued" if first else ""
    caption = join(
        element("strong", f"{sentence_case(METRIC_NAME[metric])} over {title}{which}{more}"),
        " \u2013 medians with their intervals; dashed, what was expected beforehand.",
        *(f" Fitted to {curve.direction}, {curve.text}." for curve in curves),
    )
    return figure(
        f"factor-{'-'.join(factor.names)}-{metric}-{'-'.join(directions)}",
        caption,
        image,
        legend=legend(series, rules),
        table=_table(name, series),
        width=FULL_WIDTH,
    )


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
