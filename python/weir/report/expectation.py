"""Explains the expectation: the stages of the path, and the stage that limits it."""

from __future__ import annotations

from typing import Any

from weir.report import action_expectation
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
from weir.report.markup import Markup, element, join
from weir.report.quantities import rate, rate_range_text, rate_text, rate_unit, seconds
from weir.report.sources import Source, headline_rate
from weir.report.wording import METRIC_NAME, moment
from weir.results.schema import ExpectedRate, Rate, Stage

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
    if expectation.metadata:
        return action_expectation.render(source.run) or Markup()
    ordered = sorted(expectation.rates, key=lambda expected: expected.direction != "write")
    return join(
        element(
            "p",
            "Made before the run, ",
            moment(expectation.made_utc),
            ". Upright line: expected; \u25b2: measured.",
            class_="note",
        ),
        element("div", *(_panel(source, expected) for expected in ordered), class_="pair"),
        _source(expectation.calibration, "Calibration"),
        None if expectation.calibration else _source(expectation.platform, "Platform"),
    )


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
        [
            element("strong", stage.name, " (limit)") if _limits(stage, expected) else stage.name,
            rate(stage.rate_bytes_per_second),
            rate_range_text(stage.low_bytes_per_second, stage.high_bytes_per_second),
            _seconds(stage.transfer_seconds),
            _seconds(stage.fixed_seconds),
            element("span", stage.how, class_="prose"),
        ]
        for stage in expected.stages
    ]
    caption = join(
        element("strong", expected.direction.capitalize()),
        " \u2013 ",
        rate(expected.expected_bytes_per_second),
        " expected, limited by ",
        element("strong", element("bdi", expected.limiting_stage)),
        ".",
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


def _limits(stage: Stage, expected: ExpectedRate) -> bool:
    """Returns whether the stage is the limit, which may be named by its unit or fixed cost."""
    return stage.limiting or stage.name == expected.limiting_stage


def _seconds(value: float | None) -> Markup | str:
    return "" if value is None else seconds(value)


def _how(how: str) -> Markup:
    """Returns how the figure was obtained, clause by clause."""
    clauses = [clause for clause in how.split("; ") if clause]
    return element("ul", *(element("li", clause) for clause in clauses), class_="how")


def _drawing(expected: ExpectedRate, measured: Rate | None, name: str) -> Markup:
    ends = [stage.high_bytes_per_second for stage in expected.stages]
    ends.append(expected.expected_bytes_per_second)
    if measured is not None:
        ends.append(measured.median_bytes_per_second)
    unit = rate_unit(max(ends))
    scale = LinearScale(0, max(ends) * 1.02 or 1.0, LEFT, HALF_WIDTH - RIGHT)
    parts: list[Markup] = []
    for place, stage in enumerate(expected.stages):
        y = TOP + place * ROW
        limit = _limits(stage, expected)
        value = stage.rate_bytes_per_second
        short = stage.name
        if len(short) > NAME_LENGTH:
            short = short[: NAME_LENGTH - 1] + "\u2026"
        interval = rate_range_text(stage.low_bytes_per_second, stage.high_bytes_per_second)
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
                scale(stage.low_bytes_per_second),
                middle,
                scale(stage.high_bytes_per_second),
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
    x = scale(expected.expected_bytes_per_second)
    parts.append(line(x, TOP - 4, x, bottom, "target"))
    if measured is not None:
        x = scale(measured.median_bytes_per_second)
        parts.append(element("path", d=f"M{x:.2f} {bottom:.2f}l-5 8h10z", class_="pointer"))
    labels = scale.ticks_in(unit, 4)
    said = "; ".join(f"{s.name} {rate_text(s.rate_bytes_per_second)}" for s in expected.stages)
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
