"""Explains the expectation: the stages of the path, and the stage that limits it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weir.analysis.listing import names_by_text
from weir.analysis.yardstick import a_priori_text, extrapolation_text
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
from weir.report.keyed import key_value_table
from weir.report.markup import Child, Markup, element, join
from weir.report.quantities import (
    NO_VALUE,
    figure_range_text,
    percent_text,
    rate,
    rate_range_text,
    rate_text,
    rate_unit,
    seconds,
    shown,
)
from weir.report.sources import Source, headline_rate
from weir.report.wording import METRIC_NAME, badge, moment
from weir.results.expectations import ActionVerdict, ExpectedAction, ExpectedRate
from weir.results.schema import Rate, Run
from weir.results.series import Expected, Limit

EXPLANATION = (
    "Operations per second of all ranks, expected from rates that were probed with one client and "
    "with all. Software: of the time of one operation, what is left when the device has done one "
    "of its own of 4 KiB for it."
)
LEFT, RIGHT, TOP, ROW = 138.0, 84.0, 6.0, 26.0
NAME_LENGTH = 22


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
    panels = [_panel(source, expected) for expected in ordered]
    marks = " Upright line: expected; \u25b2: measured." if panels else None
    made = ["Made before the run, ", moment(expectation.made_utc), ".", marks]
    return join(
        element("p", *made, class_="note"),
        element("div", *panels, class_="pair") if panels else None,
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


def _panel(source: Source, expected: ExpectedRate) -> Markup:
    headline = headline_rate(source.run, expected.direction)
    measured = headline if headline and headline.metric == expected.metric else None
    name = f"{expected.direction}, {METRIC_NAME[expected.metric]}"
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
        element("strong", expected.direction.capitalize()),
        " \u2013 ",
        rate(expected.value),
        " expected, limited by ",
        element("strong", element("bdi", expected.limiting_stage)),
        f"{extrapolation_text(expected)}.",
        f" Components: {a_priori_text(expected.a_priori)}." if expected.a_priori else None,
    )
    return figure(
        f"expectation-{expected.direction}-{expected.metric}",
        caption,
        _drawing(expected, measured, name) if expected.stages else None,
        _how(expected.how),
        table=table(
            ["Stage", "rate", "interval", "transfer", "fixed", "how"],
            rows,
            caption=f"Stages of {name}",
        ),
        width=HALF_WIDTH,
    )


def _limits(stage: Limit, expected: Expected) -> bool:
    """Returns whether the stage is the limit, which may be named by its unit or fixed cost."""
    return stage.limiting or stage.name == expected.limiting_stage


def _seconds(value: float | None) -> Markup | str:
    return "" if value is None else seconds(value)


def _how(how: str) -> Markup:
    """Returns how the figure was obtained, clause by clause."""
    clauses = [clause for clause in how.split("; ") if clause]
    return element("ul", *(element("li", clause) for clause in clauses), class_="how")


def _drawing(expected: ExpectedRate, measured: Rate | None, name: str) -> Markup:
    ends = [stage.high for stage in expected.stages]
    ends.append(expected.value)
    if measured is not None:
        ends.append(measured.median)
    unit = rate_unit(max(ends))
    scale = LinearScale(0, max(ends) * 1.02 or 1.0, LEFT, HALF_WIDTH - RIGHT)
    parts: list[Markup] = []
    for place, stage in enumerate(expected.stages):
        y = TOP + place * ROW
        limit = _limits(stage, expected)
        value = stage.rate
        short = stage.name
        if len(short) > NAME_LENGTH:
            short = short[: NAME_LENGTH - 1] + "\u2026"
        interval = rate_range_text(stage.low, stage.high)
        middle = y + ROW / 2
        parts += [
            text(
                LEFT - 8,
                middle + 4,
                short,
                class_="label strong" if limit else "label",
                anchor="end",
            ),
            bar(
                LEFT,
                y + 5,
                scale(value) - LEFT,
                ROW - 10,
                expected.direction if limit else "stage",
                tip=f"{stage.name}: {rate_text(value)}, {interval}",
                value=value,
            ),
            line(
                scale(stage.low),
                middle,
                scale(stage.high),
                middle,
                "whisker",
            ),
            text(
                HALF_WIDTH - RIGHT + 8,
                middle + 4,
                unit.text(value),
                class_="label strong" if limit else "label",
            ),
        ]
    bottom = TOP + len(expected.stages) * ROW + 2
    x = scale(expected.value)
    parts.append(line(x, TOP - 4, x, bottom, "target"))
    if measured is not None:
        x = scale(measured.median)
        parts.append(element("path", d=f"M{x:.2f} {bottom:.2f}l-5 8h10z", class_="pointer"))
    labels = scale.ticks_in(unit, 4)
    said = "; ".join(f"{s.name} {rate_text(s.rate)}" for s in expected.stages)
    return drawing(
        HALF_WIDTH,
        bottom + 44,
        f"Stages of the path, {name}: {said}",
        bottom_axis(scale, bottom + 8, labels, unit.name),
        parts,
    )


def _source(record: dict[str, Any], name: str) -> Markup | None:
    if not record:
        return None
    summary = element("summary", f"{name} it was made from")
    return element("details", summary, key_value_table(record, name), class_="data")
