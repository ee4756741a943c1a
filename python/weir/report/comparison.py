"""Compares several runs on one page: one line and one verdict each, measured beside expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from weir.analysis.listing import names_by_text
from weir.report.bullet import bullet, bullet_legend, scale_end
from weir.report.markup import Markup, element, join
from weir.report.quantities import NO_VALUE, percent_text, plural, rate, shown
from weir.report.sources import Source, directions, headline_rate
from weir.report.wording import (
    DIRECTION_NOUN,
    METRIC_NAME,
    METRIC_TEXT,
    badge,
    expected_rate,
    memory_remark,
    overall_word,
    sentence_case,
)
from weir.results.expectations import Direction
from weir.results.series import Series
from weir.results.served_by import served_by

BULLET_WIDTH = 190.0
ONE_BY_ONE = (
    "The name of a run leads to its own page, with traces and latencies; weir report FOLDER writes "
    "the page of one that has none."
)
ORDER = (
    "as expected",
    "as calibrated",
    "not decided",
    "below",
    "above",
    "no expectation",
    "not judged",
    "failed",
    "interrupted",
    "running",
)


def render(sources: list[Source]) -> Markup:
    """Renders the count of verdicts, then one table per kind of headline rate."""
    if not any(_has_rate_or_verdict(source) for source in sources):
        # The measurements of such runs are in tables of their own kind.
        return element("div", *_remarks(sources), class_="lead")
    return join(
        _summary(sources),
        None
        if all(source.is_within for source in sources)
        else element("p", ONE_BY_ONE, class_="note"),
        tables(sources),
    )


def tables(sources: list[Source]) -> Markup | None:
    """Returns one table per kind of headline rate; None if no run has a rate or a verdict."""
    if not any(_has_rate_or_verdict(source) for source in sources):
        return None
    groups = grouped_by_metric(sources)
    return join(
        *(_group(metric, members, len(groups) > 1) for metric, members in groups),
        bullet_legend() if any(source.run.rates for source in sources) else None,
    )


def _has_rate_or_verdict(source: Source) -> bool:
    return bool(source.run.rates) or overall_word(source.run) != "no expectation"


def grouped_by_metric(sources: list[Source]) -> list[tuple[str | None, list[Source]]]:
    """Groups runs whose headline rates have the same meaning, so that they can share a scale."""
    groups: dict[str | None, list[Source]] = {metric: [] for metric in (*METRIC_NAME, None)}
    for source in sources:
        groups[_headline_metric(source)].append(source)
    return [(metric, members) for metric, members in groups.items() if members]


def _headline_metric(source: Source) -> str | None:
    for direction in directions(source.run):
        headline = headline_rate(source.run, direction)
        if headline is not None:
            return headline.metric
    return None


def _summary(sources: list[Source]) -> Markup:
    words = Counter(overall_word(source.run) for source in sources)
    counted = [f"{words[word]} {word}" for word in ORDER if words[word]]
    number = plural(len(sources), "run")
    sentences = [element("p", f"{number}: ", element("strong", ", ".join(counted)), ".")]
    listed: list[Direction] = ["write", "read"]
    sentences += [
        element("p", said, class_="remark")
        for d in listed
        if (said := memory_remark([source.run for source in sources], d))
    ]
    sentences += _remarks(sources)
    return element("div", *sentences, class_="lead")


def _remarks(sources: list[Source]) -> list[Markup]:
    """Returns why runs did not finish and what else went on: each once, with the runs concerned."""
    told = [(one.run.failure.message, one.run.label) for one in sources if one.run.failure]
    told += [
        (f"{one.run.environment.quiet.text}.", one.run.label)
        for one in sources
        if one.run.environment is not None and not one.run.environment.quiet.quiet
    ]
    return [
        element(
            "p",
            element("strong", "All runs" if len(labels) == len(sources) else ", ".join(labels)),
            f": {text}",
            class_="remark",
        )
        for text, labels in names_by_text(told).items()
    ]


def extremes(noun: str, measured: Sequence[tuple[str, Series]]) -> Markup | None:
    """Returns which of the labelled figures was fastest and which slowest, or None if all agree.

    All are formed in the same way.
    """
    ordered = sorted(measured, key=lambda one: (one[1].median, one[0]))
    if len(ordered) < 2 or ordered[0][1].median == ordered[-1][1].median:
        return None
    apart = ordered[0][1].high < ordered[-1][1].low
    # The longest time is the slowest, and the lowest rate.
    fast, slow = ordered[0], ordered[-1]
    if fast[1].unit != "s":
        fast, slow = slow, fast
    return join(
        f"{noun} was fastest with ",
        element("strong", element("bdi", fast[0])),
        ", ",
        shown(fast[1].median, fast[1].unit),
        ", and slowest with ",
        element("strong", element("bdi", slow[0])),
        ", ",
        shown(slow[1].median, slow[1].unit),
        ". " if apart else "; their intervals overlap, so this may be chance. ",
    )


def _group(metric: str | None, members: list[Source], titled: bool) -> Markup:
    listed: list[Direction] = ["write", "read"]
    shown = [d for d in listed if any(d in directions(source.run) for source in members)]
    ends = {d: scale_end([source.run for source in members], d) for d in shown}
    rows = [_row(source, shown, ends) for source in members]
    head = element(
        "tr",
        element("th", "Run", scope="col"),
        *(element("th", direction, scope="col") for direction in shown),
        element("th", "Verdict", scope="col"),
    )
    name = METRIC_NAME[metric] if metric is not None else "no rate measured"
    table = element(
        "table",
        element("caption", f"Measured and expected: {name}", class_="visually-hidden"),
        element("thead", head),
        element("tbody", *rows),
        class_="comparison",
    )
    title = element("h2", sentence_case(name)) if titled else None
    meaning = f"{sentence_case(METRIC_TEXT[metric])}. " if metric is not None else None
    observed = [
        (source.run.label, rate)
        for source in members
        if source.run.outputs is not None
        for rate in source.run.rates
        if (rate.direction, rate.metric) == ("write", "foreground")
    ]
    said = [
        extremes("For the program, writing", observed),
        *(
            extremes(
                "To storage, writing" if observed else DIRECTION_NOUN[direction],
                [
                    (source.run.label, headline)
                    for source in members
                    if (headline := headline_rate(source.run, direction)) is not None
                ],
            )
            for direction in shown
        ),
    ]
    return join(
        title,
        element("p", meaning, *said, class_="note"),
        element("div", table, class_="scroll", tabindex="0", role="group", aria_label=name),
    )


def _row(source: Source, shown: list[Direction], ends: dict[Direction, float]) -> Markup:
    run = source.run
    name = element("bdi", run.label)
    target = f"#{source.anchor}" if source.is_within else source.page
    link = name if target is None else element("a", name, href=target)
    where = None if source.is_within else element("span", source.place, class_="note place")
    return element(
        "tr",
        element("th", link, where, scope="row"),
        *(_cell(source, direction, ends[direction]) for direction in shown),
        element("td", badge(overall_word(run)), data_label="Verdict"),
        data_run=source.anchor,
    )


def _cell(source: Source, direction: Direction, end: float) -> Markup:
    run = source.run
    headline, expected = headline_rate(run, direction), expected_rate(run, direction)
    if headline is None:
        shown = element("span", NO_VALUE, title="not measured", class_="none")
        compared = join(" of ", rate(expected.value)) if expected else None
    else:
        shown = element("strong", rate(headline.median))
        if expected is None:
            compared = Markup(", no expectation")
        else:
            share = headline.median / expected.value
            compared = join(f" {percent_text(share)} of ", rate(expected.value))
    memory = served_by(run, direction)
    remark = None
    if memory in ("memory", "mixed"):
        remark = element("span", memory, class_="tag", title="what served these bytes")
    return element(
        "td",
        element("div", shown, element("span", compared, class_="note"), class_="figures"),
        element("div", bullet(run, direction, end, BULLET_WIDTH) if end else None, remark),
        data_direction=direction,
        data_label=direction,
    )
