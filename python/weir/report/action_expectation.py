"""Rates of metadata operations beside their expectation and the rate of the device."""

from __future__ import annotations

from collections import Counter

from weir.report.chart import table
from weir.report.keyed import key_value_table
from weir.report.markup import Child, Markup, element, join
from weir.report.quantities import NO_VALUE, percent_text, plural, significant
from weir.report.wording import badge, moment
from weir.results.action_expectations import ActionVerdict, ExpectedAction
from weir.results.schema import Run

EXPLANATION = (
    "Operations per second of all ranks, expected from rates that were probed with one client and "
    "with all. Software: of the time of one operation, what is left when the device has done one "
    "of its own of 4 KiB for it."
)


def lead(run: Run) -> Markup | None:
    """Returns how many actions are as expected, which are not, and the share of software."""
    judged = _judged(run)
    if not judged:
        return None
    number = Counter(one.verdict for one in judged)
    sentences = [f"{number['as expected']} of {plural(len(judged), 'action')} as expected."]
    for word in ("not decided", "below", "above"):
        names = [
            f"{one.action} ({percent_text(one.ratio)})"
            for one in judged
            if one.verdict == word and one.ratio is not None
        ]
        if names:
            sentences.append(f"{word.capitalize()}: {', '.join(names)} of the expected rate.")
    shares = [
        f"{one.action} {percent_text(one.software_fraction)}"
        for one in judged
        if one.software_fraction is not None
    ]
    if shares:
        sentences.append(f"Of an operation's time, software takes: {', '.join(shares)}.")
    return element("p", " ".join(sentences))


def _judged(run: Run) -> list[ActionVerdict]:
    """Returns the verdicts of actions with an expectation."""
    actions = run.verdict.metadata if run.verdict is not None else []
    return [one for one in actions if one.expected_per_second is not None]


def render(run: Run) -> Markup | None:
    """Returns one row per action; None without expectations."""
    if run.expectation is None or not run.expectation.metadata:
        return None
    judged = {one.action: one for one in run.verdict.metadata} if run.verdict is not None else {}
    head = [
        "Action",
        "measured",
        "expected",
        "interval",
        "ratio",
        "verdict",
        "limited by",
        "software",
    ]
    rows = [_row(one, judged.get(one.action)) for one in run.expectation.metadata]
    summary = element("summary", "Platform it was made from")
    return join(
        element("p", "Made before the run, ", moment(run.expectation.made_utc), ".", class_="note"),
        element("p", EXPLANATION, class_="note"),
        table(head, rows, caption="Actions against what was expected"),
        _said(
            "How these were expected", [(one.action, one.how) for one in run.expectation.metadata]
        ),
        _said("Software's share", [(one.action, one.software) for one in _judged(run)]),
        _limits(run.expectation.metadata),
        element(
            "details",
            summary,
            key_value_table(run.expectation.platform, "Platform"),
            class_="data",
        ),
    )


def _row(expected: ExpectedAction, verdict: ActionVerdict | None) -> list[Child]:
    share = verdict.software_fraction if verdict is not None else None
    return [
        expected.action,
        _number(verdict.measured_per_second if verdict is not None else None),
        _number(expected.expected_per_second),
        _interval(expected.low_per_second, expected.high_per_second),
        percent_text(verdict.ratio) if verdict and verdict.ratio is not None else NO_VALUE,
        badge(verdict.verdict if verdict is not None else "not judged"),
        element("span", expected.limiting_stage or NO_VALUE, class_="prose"),
        percent_text(share) if share is not None else NO_VALUE,
    ]


def _said(title: str, texts: list[tuple[str, str]]) -> Markup | None:
    """Returns a line for each text, with the actions to which it applies."""
    grouped: dict[str, list[str]] = {}
    for action, text in texts:
        grouped.setdefault(text, []).append(action)
    if not grouped:
        return None
    lines = [
        element("li", element("strong", ", ".join(actions)), f": {text}.")
        for text, actions in grouped.items()
    ]
    return join(element("p", f"{title}:", class_="note"), element("ul", *lines, class_="how"))


def _limits(actions: list[ExpectedAction]) -> Markup | None:
    """Returns the limits of each action on which its expectation is based."""
    rows: list[list[Child]] = [
        [
            one.action,
            element("strong", limit.name, " (limit)") if limit.limiting else limit.name,
            significant(limit.per_second),
            _interval(limit.low_per_second, limit.high_per_second),
            element("span", limit.how, class_="prose"),
        ]
        for one in actions
        for limit in one.limits
    ]
    if not rows:
        return None
    head = ["Action", "limit", "per second", "interval", "how"]
    return element(
        "details",
        element("summary", "What limits each action"),
        table(head, rows, caption="Limits of each action"),
        class_="data",
    )


def _number(value: float | None) -> Child:
    return NO_VALUE if value is None else significant(value)


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return NO_VALUE
    return f"{significant(low)} to {significant(high)}"
