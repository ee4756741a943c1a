"""What ranks that poll a file cost the look-ups of other ranks."""

from __future__ import annotations

from collections.abc import Sequence

from weir.analysis.flagfile import PolledLine, polled_lines
from weir.report.chart import table
from weir.report.markup import Child, Markup, element, join
from weir.report.quantities import percent_text, seconds, significant
from weir.report.sources import Source

NOTE = (
    "The same ranks called stat on files of their own in all runs; what differs is how many others "
    "polled one file meanwhile. Medians, operations per second of all ranks of a kind. On one "
    "machine pollers take processor time as well as the file system's."
)


def compare(sources: Sequence[Source]) -> Markup | None:
    """Returns one row per number of pollers; None for other workloads."""
    lines = polled_lines([source.run for source in sources])
    if not lines:
        return None
    head = ["Run", "others' stat per second", "of unpolled", "polls per second", "flag seen after"]
    caption = "What pollers cost the others"
    return join(
        _lead(lines),
        table(head, [_row(line) for line in lines], caption=caption, titled=True),
        element("p", NOTE, class_="note"),
    )


def _lead(lines: Sequence[PolledLine]) -> Markup | None:
    """Returns the result of the run in one sentence."""
    shares = [(line.share, line.label) for line in lines if line.share is not None]
    if len(shares) < 2:
        return None
    share, label = min(shares)
    said = f"With {label} the others' look-ups reach {percent_text(share)} of their rate without."
    return element("p", said, class_="lead")


def _row(line: PolledLine) -> list[Child]:
    return [
        line.label,
        _rate(line.others_rate),
        None if line.share is None else percent_text(line.share),
        None if line.polls_rate is None else _rate(line.polls_rate),
        None if line.notice_seconds is None else seconds(line.notice_seconds),
    ]


def _rate(value: float) -> Markup:
    return element("data", significant(value), value=repr(value), title=f"{value!r} per second")
