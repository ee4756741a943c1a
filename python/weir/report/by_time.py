"""The index of runs of several jobs: when, where and how each was made, and what it came to."""

from __future__ import annotations

from weir.report.chart import table
from weir.report.markup import Child, Markup, element, join
from weir.report.quantities import rate
from weir.report.sources import Source, headline_rate
from weir.report.wording import badge, overall_word
from weir.results.expectations import Direction
from weir.results.machine import machine_of

HEAD = ["Run", "Started", "Program", "Machine", "Verdict", "Write", "Read"]
DASH, SPACE = "\u2011", "\u00a0"
"""Characters at which a line is not broken."""
DIRECTIONS: tuple[Direction, ...] = ("write", "read")


def render(sources: list[Source]) -> Markup | None:
    """Returns a row for each run, the newest first; None if one job made all of them."""
    if len({source.run.started_utc for source in sources}) < 2:
        return None
    newest = sorted(sources, key=lambda one: (one.run.started_utc, one.place), reverse=True)
    rows = [_row(source) for source in newest]
    caption = "All runs by the time of their start"
    return join(
        element("h2", "All runs, the newest first"),
        element(
            "div",
            table(HEAD, rows, caption=caption, numeric_from=5),
            class_="scroll",
            tabindex="0",
            role="group",
            aria_label=caption,
        ),
    )


def _row(source: Source) -> list[Child]:
    run = source.run
    target = f"#{source.anchor}" if source.is_within else source.page
    name = element("bdi", run.label)
    rates = [headline_rate(run, direction) for direction in DIRECTIONS]
    return [
        name if target is None else element("a", name, href=target),
        _short_moment(run.started_utc),
        f"Weir, {run.workload}" if run.imported is None else f"{run.workload}, imported",
        element("bdi", machine_of(run)),
        badge(overall_word(run)),
        *(None if one is None else rate(one.median) for one in rates),
    ]


def _short_moment(utc: str) -> Markup:
    """Returns the date and the minute, which a narrow column does not break."""
    day, _, time = utc[:16].partition("T")
    return element("time", f"{day.replace('-', DASH)}{SPACE}{time}", datetime=utc, title=utc)
