"""Explains the expectation: the stages of the path, and the stage that limits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weir.analysis.listing import names_by_text
from weir.analysis.yardstick import a_priori_text, extrapolation_text
from weir.report.chart import FULL_WIDTH, drawing, figure, line, shortened, table, text
from weir.report.keyed import key_value_table
from weir.report.markup import Child, Markup, element, join
from weir.report.path_chart import PLACES, Columns, PathChart, StageBar, path_chart, within
from weir.report.quantities import (
    NO_VALUE,
    figure_range_text,
    percent_text,
    rate,
    rate_range_text,
    rate_text,
    seconds,
    seconds_text,
    shown,
)
from weir.report.sources import Source
from weir.report.wording import METRIC_NAME, badge, moment
from weir.results.expectations import (
    ActionVerdict,
    Direction,
    ExpectedAction,
    ExpectedRate,
    Stage,
)
from weir.results.platform import StageKind
from weir.results.record import Quantity
from weir.results.schema import Rate, Run
from weir.results.series import Expected, Limit

EXPLANATION = (
    "Operations per second of all ranks, expected from rates that were probed with one client and "
    "with all. Software: of the time of one operation, what is left when the device has done one "
    "of its own of 4 KiB for it."
)
MARKS = (
    " Bars: what each stage allows, with its interval, on a logarithmic scale. Upright line: "
    "expected; \u25b2: measured. Share in use: the measured rate over what the stage allows."
)
COLUMNS = Columns(16.0, 214.0, 560.0)
NAME_LENGTH = 26
OBSERVED = "as the program observes it"
GAUGE_LEFT, GAUGE = 756.0, 76.0


def render(source: Source) -> Markup:
    expectation = source.run.expectation
    if expectation is None:
        return element(
            "p",
            "No expectation was made before this run, so there is no verdict. ",
            "Start it with ",
            element("code", "weir bench"),
            _how_to_expect(source),
            class_="none",
        )
    ordered = sorted(expectation.rates, key=lambda expected: expected.direction != "write")
    kinds = _kinds(expectation.platform)
    panels = [_panel(source, expected, kinds) for expected in ordered]
    marks = MARKS if panels else None
    made = ["Made before the run, ", moment(expectation.made_utc), ".", marks]
    return join(
        element("p", *made, class_="note"),
        panels,
        _actions(source.run, expectation.metadata) if expectation.metadata else None,
        _source(expectation.calibration, "Calibration"),
        None if expectation.calibration else _source(expectation.platform, "Platform"),
    )


def _actions(run: Run, expected: Sequence[ExpectedAction]) -> Markup:
    """Returns one row per action, how each figure came about, and what limits it."""
    judged = {one.action: one for one in run.verdict.metadata} if run.verdict is not None else {}
    head = ["Action", "measured", "expected", "interval", "ratio", "verdict", "limited by"]
    rows = [_row(one, judged.get(one.action)) for one in expected]
    limits: list[list[Child]] = [
        [one.action, *_limit(limit, one)] for one in expected for limit in one.limits
    ]
    known = [one for one in judged.values() if one.expected is not None]
    return join(
        element("p", EXPLANATION, class_="note"),
        table([*head, "software"], rows, caption="Actions against what was expected"),
        _said("How these were expected", [(one.how, one.action) for one in expected]),
        _said("Software\u2019s share", [(one.software, one.action) for one in known]),
        element(
            "details",
            element("summary", "What limits each action"),
            table(
                ["Action", "limit", "per second", "interval", "how"],
                limits,
                caption="Limits of each action",
            ),
            class_="data",
        )
        if limits
        else None,
    )


def _row(expected: ExpectedAction, judged: ActionVerdict | None) -> list[Child]:
    made = expected.quantity
    share = judged.software_fraction if judged is not None else None
    return [
        expected.action,
        shown(judged.measured, "1/s") if judged is not None else NO_VALUE,
        shown(made.value, "1/s") if made is not None else NO_VALUE,
        figure_range_text(made.low, made.high, "1/s") if made is not None else NO_VALUE,
        percent_text(judged.ratio) if judged and judged.ratio is not None else NO_VALUE,
        badge(judged.verdict if judged is not None else "not judged"),
        element("span", expected.limiting_stage or NO_VALUE, class_="prose"),
        percent_text(share) if share is not None else NO_VALUE,
    ]


def _limit(limit: Limit, expected: Expected, *times: Child) -> list[Child]:
    """Returns the cells of a limit: name, rate, interval, times, how."""
    return [
        element("strong", limit.name, " (limit)") if _limits(limit, expected) else limit.name,
        shown(limit.rate, expected.unit),
        figure_range_text(limit.low, limit.high, expected.unit),
        *times,
        element("span", limit.how, class_="prose"),
    ]


def _said(title: str, told: Sequence[tuple[str, str]]) -> Markup | None:
    """Returns a line for each text, with the actions to which it applies."""
    lines = [
        element("li", element("strong", ", ".join(actions)), f": {said}.")
        for said, actions in names_by_text(told).items()
    ]
    heading = element("p", f"{title}:", class_="note")
    return join(heading, element("ul", *lines, class_="how")) if lines else None


def _how_to_expect(source: Source) -> str:
    if source.run.plan.metadata:
        return (
            " and --platform, a description of the machine made by weir platform probe, to have a "
            "rate of each action expected beforehand."
        )
    return " to have the path measured and a rate expected beforehand."


def _panel(source: Source, expected: ExpectedRate, kinds: Mapping[str, StageKind]) -> Markup:
    rates = {(rate.direction, rate.metric): rate for rate in source.run.rates}
    measured = rates.get((expected.direction, expected.metric))
    observed = source.run.outputs is not None and expected.metric == "foreground"
    name = f"{expected.direction}, {OBSERVED if observed else METRIC_NAME[expected.metric]}"
    rows = [
        _limit(
            stage,
            expected,
            _seconds(stage.transfer_seconds),
            _seconds(stage.fixed_seconds),
        )
        for stage in expected.stages
    ]
    caption = join(
        element("strong", f"The path of a {expected.direction}"),
        f", {OBSERVED}" if observed else None,
        " \u2013 ",
        rate(expected.value),
        " expected, limited by ",
        element("strong", element("bdi", expected.limiting_stage)),
        f"{extrapolation_text(expected)}.",
        _verdict_of(source.run, expected) if observed else None,
        f" Components: {a_priori_text(expected.a_priori)}." if expected.a_priori else None,
    )
    return figure(
        f"expectation-{expected.direction}-{expected.metric}",
        caption,
        _drawing(expected, measured, kinds, name) if expected.stages else None,
        _how(expected.how),
        table=table(
            ["Stage", "rate", "interval", "transfer", "fixed", "how"],
            rows,
            caption=f"Stages of {name}",
        ),
    )


def _verdict_of(run: Run, expected: ExpectedRate) -> str | None:
    """Returns the verdict on a rate beside the headline, whose own is at the top of the page."""
    judged = [one for one in run.verdict.rates if one.key == expected.key] if run.verdict else []
    return f" Measured {rate_text(judged[0].measured)}: {judged[0].text}." if judged else None


def _limits(stage: Limit, expected: Expected) -> bool:
    """Returns whether the stage is the limit, which may be named by its unit or fixed cost."""
    return stage.limiting or stage.name == expected.limiting_stage


def _seconds(value: float | None) -> Markup | str:
    return "" if value is None else seconds(value)


def _how(how: str) -> Markup:
    """Returns how the figure was obtained, clause by clause."""
    clauses = [clause for clause in how.split("; ") if clause]
    return element("ul", *(element("li", clause) for clause in clauses), class_="how")


def _drawing(
    expected: ExpectedRate, measured: Rate | None, kinds: Mapping[str, StageKind], name: str
) -> Markup:
    """Draws the path from the program down to storage, with the share of each stage in use."""
    reached = expected.value if measured is None else measured.median
    bars = [_bar(stage, expected, kinds) for stage in expected.stages]
    chart = path_chart(bars, COLUMNS, 8.0, [expected.value, reached])
    parts = [chart.drawn, _way(chart, expected.direction)]
    x = within(chart.scale, expected.value)
    parts.append(line(x, chart.top, x, chart.bottom, "target"))
    if measured is not None:
        x = within(chart.scale, reached)
        parts.append(element("path", d=f"M{x:.2f} {chart.bottom:.2f}l-5 8h10z", class_="pointer"))
    parts.append(text(GAUGE_LEFT, 20, "share in use", class_="tick"))
    for stage, y in zip(expected.stages, chart.middles, strict=True):
        css = expected.direction if _limits(stage, expected) else "stage"
        parts.append(_gauge(reached / stage.rate, y, css, stage.name) if stage.rate else join())
    said = "; ".join(
        f"{s.name} {rate_text(s.rate)}" + (", the limit" if _limits(s, expected) else "")
        for s in expected.stages
    )
    label = f"Stages of the path, {name}: {said}"
    return drawing(FULL_WIDTH, chart.bottom + 12, label, parts)


def _bar(stage: Stage, expected: ExpectedRate, kinds: Mapping[str, StageKind]) -> StageBar:
    is_limit = _limits(stage, expected)
    said = f"{stage.name}: {rate_text(stage.rate)}, {rate_range_text(stage.low, stage.high)}"
    times = {"for the bytes": stage.transfer_seconds, "fixed": stage.fixed_seconds}
    took = [f"{seconds_text(taken)} {what}" for what, taken in times.items() if taken]
    return StageBar(
        name=shortened(stage.name, NAME_LENGTH),
        kind=kinds.get(stage.name),
        total=Quantity(value=stage.rate, low=stage.low, high=stage.high),
        label=rate_text(stage.rate) + (" \u25c2 the limit" if is_limit else ""),
        said=said + (f"; {', '.join(took)} in a repetition" if took else ""),
        css=expected.direction if is_limit else "stage",
        is_strong=is_limit,
    )


def _way(chart: PathChart, direction: Direction) -> Markup:
    """Draws the way of the bytes beside the names: down when writing, up when reading."""
    x, top, bottom = 5.0, chart.middles[0] - 6, chart.middles[-1] + 6
    head = (
        f"M{x:.2f} {bottom + 2:.2f}l-4 -8h8z"
        if direction == "write"
        else (f"M{x:.2f} {top - 2:.2f}l-4 8h8z")
    )
    return join(
        line(x, top, x, bottom, f"way {direction}-line"),
        element("path", d=head, class_=direction),
        [element("circle", cx=x, cy=y, r=2.5, class_=direction) for y in chart.middles],
    )


def _gauge(share: float, y: float, css: str, name: str) -> Markup:
    width = min(1.0, share) * GAUGE
    return join(
        element("rect", x=GAUGE_LEFT, y=y - 4, width=GAUGE, height=8.0, class_="band-fill"),
        element(
            "rect",
            x=GAUGE_LEFT,
            y=y - 4,
            width=width,
            height=8.0,
            class_=css,
            data_share=repr(share),
            data_tip=f"{name}: {percent_text(share)} in use",
        ),
        text(GAUGE_LEFT + GAUGE + 8, y + 4, percent_text(share), class_="tick"),
    )


def _kinds(platform: Mapping[str, Any]) -> dict[str, StageKind]:
    """Returns the place of each stage of the platform that the expectation was made from."""
    stages = platform.get("stages", [])
    return {one["name"]: one["kind"] for one in stages if one.get("kind") in PLACES}


def _source(record: dict[str, Any], name: str) -> Markup | None:
    if not record:
        return None
    summary = element("summary", f"{name} it was made from")
    return element("details", summary, key_value_table(record, name), class_="data")
