"""Names of things for people, and the sentences that describe how a run went."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

from weir.report.markup import Markup, element, join
from weir.report.quantities import grouped, percent_text, rate, rate_range_text
from weir.report.sources import Source, directions, headline_rate
from weir.results.expectations import (
    Direction,
    ExpectedRate,
    RateVerdict,
)
from weir.results.schema import CacheVerdict, Run
from weir.results.series import Unit
from weir.results.served_by import served_by

DIRECTION_NOUN: dict[Direction, str] = {"write": "Writing", "read": "Reading"}

METRIC_TEXT: dict[str, str] = {
    "span": "bytes over the time from the first rank\u2019s start to the last rank\u2019s end, "
    "operation by operation",
    "slowest_rank": "bytes over the I/O time of the slowest rank",
    "sum_of_ranks": "sum of each rank\u2019s own rate",
    "foreground": "bytes over the time the slowest rank was blocked in I/O, the effective "
    "aggregate asynchronous rate (EAAR)",
    "total": "bytes over the time from the first rank\u2019s opening to the last rank\u2019s "
    "closing",
    "barrier": "operations over the longest time of a rank from one barrier to the next",
}
METRIC_NAME: dict[str, str] = {
    "span": "aggregate rate, first start to last end",
    "slowest_rank": "aggregate rate by slowest rank",
    "sum_of_ranks": "sum of the ranks\u2019 own rates",
    "foreground": "effective rate (EAAR)",
    "total": "aggregate rate with opening and closing",
    "barrier": "aggregate rate from barrier to barrier",
}
TIME_TEXT = "time from the first rank\u2019s start to the last rank\u2019s end"
MOST_NAMED = 24
"""Up to this many runs are named; of more their number is given."""
FUNCTION_TEXT = {
    "S": "builds and writes the signal matrices",
    "D": "inverts the data matrix",
    "W": "reads, multiplies and writes back each matrix",
    "C": "reads each result once",
    "write": "writes every transfer of the pattern",
    "read": "reads every transfer of the pattern",
    "checkpoint": "writes checkpoints of the whole mesh",
    "plot": "writes plot files of a few variables",
}
VERDICT_ICON = {
    "as expected": "\u2713",
    "as calibrated": "\u2248",
    "not decided": "?",
    "below": "\u25bc",
    "above": "\u25b2",
    "no expectation": "\u25cb",
    "not judged": "\u25cb",
    "failed": "\u2715",
    "interrupted": "\u2715",
    "running": "\u2026",
}
CACHE_TEXT: dict[CacheVerdict, str] = {
    "storage": "reached storage",
    "memory": "came from memory",
    "mixed": "partly storage, partly memory",
    "unknown": "storage or memory: not known",
}


def metric_name(metric: str, unit: Unit) -> str:
    """Returns a few words for how figures of this unit are formed."""
    return "time, first start to last end" if unit == "s" else METRIC_NAME[metric]


def metric_text(metric: str, unit: Unit) -> str:
    """Says how figures of this unit are formed."""
    said = TIME_TEXT if unit == "s" else METRIC_TEXT[metric]
    return said.replace("bytes over", "operations over") if unit == "1/s" else said


def sentence_case(text: str) -> str:
    """Capitalizes the first letter and leaves the others unchanged."""
    return text[:1].upper() + text[1:]


def moment(utc: str) -> Markup:
    """Formats a point in time for people; text that is not an ISO 8601 time is unchanged."""
    try:
        parsed = datetime.fromisoformat(utc).astimezone(UTC)
    except ValueError:
        return element("time", utc)
    shown = f"{parsed.day} {parsed:%B %Y, %H:%M} UTC"
    return element("time", shown, datetime=utc, title=utc)


def badge(word: str, *, sign_only: bool = False, number: int | None = None) -> Markup:
    """Returns a verdict as a word with its sign; the colour only repeats it.

    ``number`` is that of the runs that have it.
    """
    icon = element("span", VERDICT_ICON.get(word, "\u25cb"), aria_hidden="true")
    said = element("span", word, class_="visually-hidden") if sign_only else word
    many = None if number is None else f"{grouped(number)} "
    title = word if sign_only and number is not None else None
    return element("span", icon, " ", many, said, class_="badge", data_verdict=word, title=title)


def overall_word(run: Run) -> str:
    """Returns one word for a run: its state if it did not finish, else its verdict."""
    if run.status != "complete":
        return run.status
    if run.verdict is not None:
        return run.verdict.overall
    return "no expectation" if run.expectation is None else "not judged"


def expected_rate(run: Run, direction: Direction) -> ExpectedRate | None:
    """Returns the expectation of the headline rate in this direction."""
    return _of_headline(run, direction, run.expectation.rates if run.expectation else [])


def rate_verdict(run: Run, direction: Direction) -> RateVerdict | None:
    return _of_headline(run, direction, run.verdict.rates if run.verdict else [])


OfRate = TypeVar("OfRate", ExpectedRate, RateVerdict)


def _of_headline(run: Run, direction: Direction, records: Sequence[OfRate]) -> OfRate | None:
    found = [one for one in records if one.direction == direction]
    headline = headline_rate(run, direction)
    same = [one for one in found if headline is not None and one.metric == headline.metric]
    return next(iter(same or found), None)


def verdict_word(run: Run, direction: Direction) -> str:
    """Returns the verdict in one direction, or why there is none."""
    judged = rate_verdict(run, direction)
    if judged is not None:
        return judged.verdict
    return "no expectation" if expected_rate(run, direction) is None else "not judged"


def outcome_sentence(run: Run, direction: Direction) -> Markup:
    """Returns one sentence: Writing reached 1.42 GiB/s, 94 % of the 1.51 GiB/s expected: below."""
    noun = DIRECTION_NOUN[direction]
    headline = headline_rate(run, direction)
    expected = expected_rate(run, direction)
    if headline is None:
        if expected is None:
            return join(f"{noun}: no rate was measured and none was expected.")
        promised = rate(expected.value)
        return join(f"{noun}: no rate was measured; ", promised, " was expected.")
    shown = element("strong", rate(headline.median))
    verb = "reached an effective" if headline.metric == "foreground" else "reached"
    start = join(f"{noun} {verb} ", shown)
    if expected is None:
        return join(start, ". Nothing was expected beforehand.")
    share = headline.median / expected.value
    against = rate(expected.value)
    compared = f"{percent_text(share)} of the " if share < 10 else f"{share:.0f} times the "
    word = verdict_word(run, direction)
    if word == "not judged":
        return join(start, ", ", compared, against, " expected; there is no verdict.")
    return join(start, ", ", compared, against, " expected: ", element("strong", word), ".")


def cache_sentence(run: Run, direction: Direction) -> str | None:
    """Returns what a reader must know about a rate, or None if storage served all of it."""
    verdict = served_by(run, direction)
    where = "went to" if direction == "write" else "came from"
    if verdict == "memory":
        return f"These bytes {where} memory: the figure says nothing about the storage."
    if verdict == "mixed":
        return f"These bytes {where} storage only in part: memory served the rest."
    if verdict == "unknown":
        return f"Whether these bytes {where} storage or memory is not known."
    return None


def memory_remark(runs: Sequence[Run], direction: Direction) -> str | None:
    """Returns which rates of several runs are not those of the storage; None if all are."""
    verdicts = {place: served_by(run, direction) for place, run in enumerate(runs)}
    known = {place: verdict for place, verdict in verdicts.items() if verdict is not None}
    found = [place for place, verdict in known.items() if verdict in ("memory", "mixed")]
    if not found:
        return None
    named = {runs[place].label for place in found}
    which = f"{len(found)} of {len(known)} runs"
    if len(found) == len(known):
        which = "all runs"
    elif len(named) == len(found) <= MOST_NAMED:
        which = ", ".join(runs[place].label for place in found)
    verb = "went to" if direction == "write" else "came from"
    partly = ", in part or all" if "mixed" in known.values() else ""
    return (
        f"{DIRECTION_NOUN[direction]}: in {which} the bytes {verb} memory{partly}. "
        "Such a rate is no rate of the storage."
    )


def spread_text(source: Source, direction: Direction) -> str:
    """Describes how the headline figure was formed from the repetitions."""
    headline = headline_rate(source.run, direction)
    if headline is None:
        return ""
    number = len(headline.values)
    if number < 2:
        return "One repetition: no interval."
    interval = rate_range_text(headline.low, headline.high)
    shaky = "" if headline.converged else " Did not settle within the asked width."
    return (
        f"Median of {number} repetitions; {headline.confidence * 100:.0f} % interval "
        f"{interval}.{shaky}"
    )


def measured_directions(run: Run) -> list[Direction]:
    return [direction for direction in directions(run) if headline_rate(run, direction)]
