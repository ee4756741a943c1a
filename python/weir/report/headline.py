"""The top of a run's page: what was measured, what was expected, and how to interpret it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from weir.analysis.purpose import purpose_texts
from weir.analysis.yardstick import share_text, yardstick_text
from weir.report.bullet import bullet, bullet_legend, scale_end
from weir.report.markup import Markup, element, join
from weir.report.quantities import grouped, percent_text, plural, rate, rate_range_text, size
from weir.report.sources import Source, directions, headline_rate, measured
from weir.report.wording import (
    DIRECTION_NOUN,
    METRIC_TEXT,
    badge,
    cache_sentence,
    expected_rate,
    moment,
    outcome_sentence,
    rate_verdict,
    sentence_case,
    spread_text,
    verdict_word,
)
from weir.results.expectations import ActionVerdict, Direction, ExpectedRate, RateVerdict
from weir.results.imported_records import Imported
from weir.results.quantities import MIX_PART
from weir.results.schema import Failure, Run

BULLET_WIDTH = 396.0
SAME_STORAGE = (
    "The expectation was calibrated on the same storage just before the run, so it cannot tell "
    "whether that storage has become slow."
)


def render(source: Source) -> Markup:
    run = source.run
    tiles = [_tile(source, direction) for direction in directions(run)]
    return join(
        lead(source),
        element("div", *tiles, class_="pair"),
        bullet_legend() if run.expectation is not None and run.rates else None,
    )


def lead(source: Source) -> Markup:
    """Returns one sentence per direction, and what a reader must know to interpret it."""
    run = source.run
    sentences = []
    if run.imported is not None:
        sentences.append(element("p", run.imported.note, class_="remark"))
        sentences += [element("p", text, class_="remark") for text in run.imported.remarks]
    sentences += purpose_remarks(run)
    for direction in directions(run):
        caveat = cache_sentence(run, direction)
        sentences.append(
            element(
                "p",
                outcome_sentence(run, direction),
                f" {caveat}" if caveat else None,
                data_headline=direction,
            )
        )
    judged = (
        [one for one in run.verdict.metadata if one.expected is not None] if run.verdict else []
    )
    if judged:
        sentences.append(_actions(judged))
    if run.expectation is None:
        sentences.append(
            element(
                "p",
                "This run was made without an expectation. A number without an expectation is not "
                "a result: there is nothing to compare it with.",
                class_="remark",
            )
        )
    if _judged_by_itself(run):
        sentences.append(element("p", SAME_STORAGE, class_="remark"))
    opinions = (_second_opinion(run, direction) for direction in directions(run))
    sentences += [one for one in opinions if one is not None]
    return element("div", *sentences, class_="lead")


def purpose_remarks(run: Run) -> list[Markup]:
    """Returns a paragraph for each line of why the run was made."""
    return [
        element("p", sentence_case(text), class_="remark", data_purpose=text.partition(":")[0])
        for text in purpose_texts(run)
    ]


def _second_opinion(run: Run, direction: Direction) -> Markup | None:
    """Returns how much of what the components allow was reached, and by which source."""
    headline, expected = headline_rate(run, direction), expected_rate(run, direction)
    bound = expected.a_priori if expected is not None else None
    if headline is None or bound is None or not bound.value:
        return None
    said = f"{DIRECTION_NOUN[direction]}: {share_text(headline.median, bound)}."
    return element("p", said, class_="remark", data_second_opinion=direction)


def _actions(judged: Sequence[ActionVerdict]) -> Markup:
    """Returns how many actions are as expected, which are not, and the share of software."""
    number = Counter(one.verdict for one in judged)
    said = [f"{number['as expected']} of {plural(len(judged), 'action')} as expected."]
    for word in ("not decided", "below", "above"):
        names = [
            f"{one.action} ({percent_text(one.ratio)})"
            for one in judged
            if one.verdict == word and one.ratio is not None
        ]
        if names:
            said.append(f"{word.capitalize()}: {', '.join(names)} of the expected rate.")
    shares = [
        f"{one.action} {percent_text(one.software_fraction)}"
        for one in judged
        if one.software_fraction is not None
    ]
    if shares:
        said.append(f"Of an operation's time, software takes: {', '.join(shares)}.")
    return element("p", " ".join(said))


def _judged_by_itself(run: Run) -> bool:
    """Returns whether a good verdict is based only on a calibration."""
    good = run.verdict is not None and run.verdict.overall == "as expected"
    if not good or run.expectation is None or not run.expectation.calibration:
        return False
    return not any(one.a_priori and one.a_priori.value for one in run.expectation.rates)


def _tile(source: Source, direction: Direction) -> Markup:
    run = source.run
    headline, expected = headline_rate(run, direction), expected_rate(run, direction)
    title = element("p", direction, " ", badge(verdict_word(run, direction)), class_="tile-title")
    if headline is None:
        big = element("p", "not measured", class_="big none")
    else:
        big = element("p", rate(headline.median), class_="big")
    lines: list[Markup | str] = []
    if expected is not None:
        share = None
        if headline is not None:
            ratio = headline.median / expected.value
            share = f"{percent_text(ratio)} of "
        interval = rate_range_text(expected.low, expected.high)
        lines.append(join(share, rate(expected.value), f" expected ({interval})."))
        judged = rate_verdict(run, direction)
        if judged is None or _speaks_for_itself(judged, expected):
            by = f", {yardstick_text(run.expectation)}." if run.expectation else "."
            lines.append(join("Expected limit: ", element("bdi", expected.limiting_stage), by))
        else:
            lines.append(element("span", sentence_case(judged.text), ".", class_="strong"))
    if headline is not None:
        lines.append(spread_text(source, direction))
        lines.append(f"{sentence_case(METRIC_TEXT[headline.metric])}.")
    end = scale_end([run], direction)
    return element(
        "section",
        title,
        big,
        bullet(run, direction, end, BULLET_WIDTH) if end else None,
        *(element("p", content, class_="note") for content in lines),
        class_=f"tile tile-{direction}",
        aria_label=f"Result of {'writing' if direction == 'write' else 'reading'}",
        data_direction=direction,
    )


def _speaks_for_itself(judged: RateVerdict, expected: ExpectedRate) -> bool:
    """Returns whether the verdict is "as expected" and the median is inside, as the drawing shows.

    Runs that were finalized before *not decided* existed may have their median outside.
    """
    low, high = expected.low, expected.high
    return judged.verdict == "as expected" and low <= judged.measured <= high


def shared_facts(sources: list[Source]) -> Markup:
    """Returns a line under the title of several runs: what they share, and when they began."""
    ranks = {source.run.plan.ranks for source in sources}
    nodes = {len(source.run.nodes) for source in sources if source.run.nodes}
    moments = sorted({source.run.started_utc for source in sources})
    parts = [
        element("span", plural(ranks.pop(), "rank")) if len(ranks) == 1 else None,
        element("span", plural(nodes.pop(), "node")) if len(nodes) == 1 else None,
        element("span", moment(moments[0])),
        element("span", "to ", moment(moments[-1])) if len(moments) > 1 else None,
    ]
    return element("p", *parts, class_="facts")


def facts(source: Source) -> Markup:
    """Returns a line under the title: workload, size, repetitions, time."""
    run = source.run
    if run.imported is not None:
        return _imported_facts(run, run.imported)
    warmups = len(run.repetitions) - len(measured(run))
    moved = sum(phase.bytes_total for phase in run.plan.phases)
    operations = sum(
        planned.operations
        for planned in run.plan.metadata
        if not planned.action.startswith(MIX_PART)
    )
    parts = [
        element("span", run.workload),
        element("span", plural(run.plan.ranks, "rank")),
        element("span", plural(len(run.nodes), "node")) if run.nodes else None,
        element("span", plural(run.plan.files, "file")),
        element("span", size(moved), " moved per repetition") if run.plan.phases else None,
        element("span", plural(operations, "operation"), " per repetition")
        if run.plan.metadata
        else None,
        element(
            "span",
            plural(len(measured(run)), "measured repetition"),
            f", {grouped(warmups)} warm-up{'' if warmups == 1 else 's'}",
        ),
        element("span", moment(run.started_utc)),
    ]
    return element("p", *parts, class_="facts")


def _imported_facts(run: Run, imported: Imported) -> Markup:
    parts = [
        element("span", "measured by ", imported.program, f" {imported.version}"),
        element("span", plural(run.plan.ranks, "process", "processes")) if run.plan.ranks else None,
        element("span", plural(imported.repetitions, "repetition")),
        element("span", moment(run.started_utc)),
    ]
    return element("p", *parts, class_="facts")


def failure_banner(source: Source) -> Markup | None:
    """Returns, for a run that did not finish, where and why; it is above everything else."""
    run = source.run
    if run.status == "complete":
        return None
    if run.failure is None:
        words = {
            "interrupted": "This run was interrupted before it was complete.",
            "running": "This run is still in progress, or its program ended without a message.",
            "failed": "This run failed; no cause is recorded.",
        }
        heading, details = words[run.status], None
    else:
        heading = "This run failed." if run.status == "failed" else "This run was interrupted."
        details = _failure_details(run.failure)
    after = (
        "Figures below are from the repetitions that were complete."
        if measured(run)
        else "No measured repetition was complete, so there are no rates."
    )
    return element(
        "div",
        element("p", badge(run.status), " ", element("strong", heading)),
        details,
        element("p", after, class_="note"),
        class_="failure",
        role="alert",
    )


def _failure_details(failure: Failure) -> Markup:
    offset = failure.offset_bytes
    rows: list[tuple[str, Markup | str | None]] = [
        ("Cause", failure.cause),
        ("Operation", failure.operation),
        ("Rank", None if failure.rank is None else str(failure.rank)),
        ("Host", failure.host),
        ("File", failure.file),
        ("Offset", None if offset is None else join(size(offset), f" ({grouped(offset)} bytes)")),
    ]
    entries = [
        join(element("dt", name), element("dd", value, data_failure=name.lower()))
        for name, value in rows
        if value
    ]
    return join(element("p", failure.message), element("dl", *entries, class_="facts-list"))


def warnings(source: Source) -> Markup | None:
    """Returns the warnings of the run itself."""
    if not source.run.warnings:
        return None
    items = [element("li", warning) for warning in source.run.warnings]
    return element(
        "div", element("p", element("strong", "Warnings")), element("ul", *items), class_="warnings"
    )
