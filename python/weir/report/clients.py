"""Draws rates of metadata operations over the number of ranks: where more clients stop helping."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from weir.analysis.saturation import Saturation, fit_saturation
from weir.report.chart import figure, table
from weir.report.line_chart import (
    MOST_SERIES,
    Point,
    Rule,
    Series,
    colours,
    legend,
    level_text,
    line_chart,
)
from weir.report.markup import Child, Markup, element, join
from weir.report.metadata import headline_of
from weir.report.quantities import NO_VALUE, Unit, count, percent_text, significant
from weir.results.campaign import Campaign
from weir.results.expectations import Direction
from weir.results.schema import Run

Runs = Mapping[int, Sequence[tuple[Path, Run]]]
PER_SECOND = (Unit("1/s", 1), Unit("1000/s", 1e3), Unit("million/s", 1e6))
COLOUR: Direction = "write"
POINTS_PER_CURVE = 60
EXACT = 1e-3


@dataclass(frozen=True)
class Curve:
    """One action in one configuration: its rates by the number of ranks, and the fit to them."""

    action: str
    configuration: str
    points: list[Point]
    fit: Saturation | None
    expected: list[Point]
    """Expectations made before the runs; empty if there were none."""


def curves_of(campaign: Campaign, finished: Runs) -> list[Curve]:
    """Returns curves by action and configuration, if there are several numbers of ranks."""
    combination_of = {planned.number: planned.combination for planned in campaign.runs}
    found: dict[tuple[str, str], dict[int, list[Point]]] = defaultdict(lambda: defaultdict(list))
    promised: dict[tuple[str, str], dict[int, Point]] = defaultdict(dict)
    for number, runs in finished.items():
        values = campaign.combinations[combination_of[number]]
        others = [f"{name} {level_text(name, v)}" for name, v in values.items() if name != "ranks"]
        for folder, run in runs:
            for result in run.metadata:
                rate = headline_of(result)
                if rate is None or rate.median <= 0:
                    continue
                ranks = run.plan.ranks
                point = Point(ranks, rate.median, rate.low, rate.high)
                configuration = ", ".join([folder.name, *others])
                found[result.action, configuration][ranks].append(point)
                before = _expected(run, result.action)
                if before is not None:
                    promised[result.action, configuration][ranks] = before
    curves = []
    for (action, configuration), by_ranks in found.items():
        if len(by_ranks) < 2:
            continue
        points = [_together(by_ranks[ranks]) for ranks in sorted(by_ranks)]
        fit = fit_saturation(sorted(by_ranks), [point.value for point in points])
        by_level = promised[action, configuration]
        expected = [by_level[ranks] for ranks in sorted(by_level)]
        curves.append(Curve(action, configuration, points, fit, expected))
    return curves


def _expected(run: Run, action: str) -> Point | None:
    actions = run.expectation.metadata if run.expectation is not None else []
    for one in actions:
        value, low, high = one.value, one.low, one.high
        if one.action == action and value and low is not None and high is not None:
            return Point(run.plan.ranks, value, low, high)
    return None


def _together(runs: Sequence[Point]) -> Point:
    """Combines several runs of one combination."""
    return Point(
        runs[0].level,
        median(one.value for one in runs),
        min(one.low for one in runs),
        max(one.high for one in runs),
    )


def sentence_of(fit: Saturation) -> str:
    """Describes the fitted curve, and how well it fits."""
    if not fit.holds:
        return f"no curve fits: the best is off by up to {percent_text(fit.largest_error)}"
    off = f"the curve is off by up to {percent_text(fit.largest_error)}"
    if fit.largest_error < EXACT:
        off = "the curve goes through all points, as many as it has figures"
    most = f"{fit.most_clients:g}"
    if fit.has_wall:
        said = (
            f"largest, {significant(fit.plateau)} per second, with {_ranks(fit.peak_clients)}, "
            f"and falls to {percent_text(fit.rate(fit.most_clients) / fit.plateau)} of that "
            f"with {most}: a metadata wall"
        )
    elif math.isinf(fit.plateau):
        said = f"each rank up to {most} adds its own rate"
    else:
        reached = percent_text(fit.rate(fit.most_clients) / fit.plateau)
        said = (
            f"rises towards {significant(fit.plateau)} per second, of which {most} ranks reach "
            f"{reached}; no wall within what was measured"
        )
    return f"{said} ({off})"


def _ranks(number: float) -> str:
    return "one rank" if number <= 1 else f"{significant(number)} ranks"


def text_of(curve: Curve) -> str:
    """Returns one line for a terminal."""
    points = ", ".join(f"{significant(p.value)}/s with {p.level}" for p in curve.points)
    said = f"; {sentence_of(curve.fit)}" if curve.fit is not None else ""
    return f"{curve.action} over ranks, {curve.configuration}: {points}{said}"


def render(campaign: Campaign, finished: Runs) -> Markup | None:
    """Returns a figure for each action; None without a sweep over ranks of this workload."""
    curves = curves_of(campaign, finished)
    if not curves:
        return None
    figures = []
    for action in dict.fromkeys(curve.action for curve in curves):
        mine = [curve for curve in curves if curve.action == action]
        figures += [
            _figure(action, mine[first : first + MOST_SERIES], first)
            for first in range(0, len(mine), MOST_SERIES)
        ]
    note = (
        "Operations per second from the first rank's start to the last one's end. Curves: one "
        "rank's rate, what ranks wait for each other (contention), and what each pair costs "
        "(exchange), fitted to three or more numbers of ranks; they describe these runs and expect "
        "nothing. Bands: "
        "what was expected beforehand of a platform that was probed."
    )
    return join(element("p", note, class_="note"), *figures)


def _figure(action: str, curves: Sequence[Curve], first: int) -> Markup:
    """Draws the figure of an action, or of its curves from ``first`` on if there are many."""
    colour_of = colours(len(curves))
    series = [
        Series(curve.configuration, COLOUR, place, curve.points, curve.expected, colour_of[place])
        for place, curve in enumerate(curves)
    ]
    rules = [
        Rule(
            f"{curve.configuration}, fitted",
            colour_of[place] or COLOUR,
            _drawn(curve.fit, curve.points),
            "solid",
        )
        for place, curve in enumerate(curves)
        if curve.fit is not None and curve.fit.holds
    ]
    said = "; ".join(
        f"{curve.configuration}: "
        + ", ".join(f"{p.level} ranks {significant(p.value)} per second" for p in curve.points)
        for curve in curves
    )
    image = line_chart(
        "ranks",
        "ranks",
        series,
        rules=rules,
        description=f"Rate of {action} over ranks. {said}",
        units=PER_SECOND,
    )
    sentences = [
        f" {curve.configuration}: {sentence_of(curve.fit)}."
        for curve in curves
        if curve.fit is not None
    ]
    more = ", continued" if first else ""
    caption = join(element("strong", f"{action} over ranks{more}"), " \u2013", *sentences)
    return figure(
        f"clients-{action.replace('/', '-')}" + (f"-{first}" if first else ""),
        caption,
        image,
        legend=legend(series, rules),
        table=table(
            ["configuration", "ranks", "per second", "low", "high", "fitted"],
            [row for curve in curves for row in _rows(curve)],
            caption=f"Rate of {action} over ranks",
        ),
    )


def _drawn(fit: Saturation, points: Sequence[Point]) -> list[tuple[float, float]]:
    levels = [float(point.level) for point in points]
    places = np.geomspace(levels[0], levels[-1], POINTS_PER_CURVE).tolist()
    return [(place, fit.rate(place)) for place in places]


def _rows(curve: Curve) -> list[list[Child]]:
    return [
        [
            curve.configuration,
            count(int(point.level)),
            significant(point.value),
            significant(point.low),
            significant(point.high),
            significant(curve.fit.rate(float(point.level)))
            if curve.fit is not None and curve.fit.holds
            else NO_VALUE,
        ]
        for point in curve.points
    ]
