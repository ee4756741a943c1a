"""Times and file system operations of creating and opening a file."""

from __future__ import annotations

from collections.abc import Sequence

from weir.analysis.opening import opening_listing
from weir.report import listing
from weir.report.chart import LinearScale, bar, drawing, figure, shortened, table, text, whisker
from weir.report.comparison import extremes
from weir.report.line_chart import Frame, Point, Series, legend, line_chart
from weir.report.markup import Child, Markup, element, join
from weir.report.quantities import (
    Unit,
    count,
    grouped,
    plural,
    seconds,
    seconds_text,
)
from weir.report.sources import Source
from weir.results.opening_records import CountedOperations, ExpectedOperations, StepOperations
from weir.results.schema import Run

COLOURS = {
    "create": ("write", 0),
    "close-written": ("write", 1),
    "open": ("read", 2),
    "close-read": ("read", 3),
}
"""The steps that are drawn, with their colours and shapes."""
COMPARED = ("create", "close-written", "open", "close-read")

PANEL = 428.0
NAMES = 128.0
"""The part of a panel's width that is left of its bars, in pixels."""
FIGURES = 62.0
"""The part that is right of them."""
LINE = 22.0

TIMES = (
    "Times are from the first rank that began a step to the last that was done with it: medians, "
    "with their 95 % interval. write and read move each rank's piece collectively; what an "
    "interface opens no sooner than at the first access is in their times and counts."
)
COUNTS = (
    "Operations were counted in a pass of its own, which was not timed: calls of libc's functions "
    "on the job's files and their folder, without reads and writes. Data come on top of them."
)


def render(source: Source) -> Markup | None:
    """Returns one row per step, and how the operations grow; None for other workloads."""
    run = source.run
    if not run.opening:
        return None
    counted = any(step.operations for step in run.opening)
    return join(
        element("p", TIMES, " ", COUNTS if counted else None, class_="note"),
        listing.render(opening_listing([run]), skipped=1),
        _calls(run),
        _growth(run),
    )


def _calls(run: Run) -> Markup | None:
    """Returns the names of the operations, a line for each step with operations."""
    lines = [
        element("li", f"{step.step}: ", _called(step.operations))
        for step in run.opening
        if step.operations is not None and step.operations.total
    ]
    if not lines:
        return None
    summary = element("summary", "Which calls these were")
    return element("details", summary, element("ul", *lines), class_="data")


def _called(operations: StepOperations) -> str:
    return ", ".join(f"{grouped(number)} {name}" for name, number in operations.calls.items())


def _growth(run: Run) -> Markup | None:
    series = [
        Series(step.step, *COLOURS[step.step], counted, _beyond(step.operations))
        for step in run.opening
        if step.operations is not None
        and step.step in COLOURS
        and (counted := [_point(one) for one in step.operations.counts if one.operations > 0])
    ]
    if not series:
        return None
    caption = "Metadata operations of all ranks, counted and expected"
    frame, units = Frame(is_logarithmic=True), (Unit("", 1),)
    drawn = line_chart("ranks", "ranks", series, description=caption, units=units, frame=frame)
    return figure("opening-operations", caption, drawn, legend=legend(series, []))


def _beyond(operations: StepOperations) -> list[Point]:
    """Returns what is expected on more ranks than there were, from the last point on."""
    last = operations.counts[-1]
    more = [one for one in operations.expected if one.ranks > last.ranks and one.operations > 0]
    return [_point(last), *(_point(one) for one in more)] if more and last.operations else []


def _point(counted: CountedOperations | ExpectedOperations) -> Point:
    number = float(counted.operations)
    return Point(counted.ranks, number, number, number)


def compare(sources: Sequence[Source]) -> Markup | None:
    """Returns times and operations of every interface, one row each; None for other workloads."""
    runs = [source.run for source in sources if source.run.opening]
    if not runs:
        return None
    head = ["", *(name for step in COMPARED for name in (step, "operations"))]
    rows = [[element("bdi", run.label), *_compared(run)] for run in runs]
    ranks = sorted({run.plan.ranks for run in runs})
    said = f"On {plural(ranks[0], 'rank')}. " if len(ranks) == 1 else ""
    told = [
        extremes(
            name, [(run.label, s.times) for run in runs for s in run.opening if s.step == name]
        )
        for name in ("create", "open")
    ]
    return join(
        element("p", *told) if any(told) else None,
        element("p", said, TIMES, class_="note"),
        _bars(runs),
        table(head, rows, caption="What each interface took, and asked the file system for"),
    )


def _bars(runs: Sequence[Run]) -> Markup | None:
    """Draws the times of each step as bars of its own scale, one for each interface."""
    drawn = [panel for name in COMPARED if (panel := _panel(name, runs)) is not None]
    if len(runs) < 2 or not drawn:
        return None
    grid = element("div", *drawn, class_="small-multiples")
    caption = "Time of each step: medians as bars, their intervals as thin lines"
    return figure("opening-times", caption, grid)


def _panel(name: str, runs: Sequence[Run]) -> Markup | None:
    timed = [(run.label, step.times) for run in runs for step in run.opening if step.step == name]
    longest = max((times.median for _, times in timed), default=0.0)
    if longest <= 0:
        return None
    reach = min(max(times.high for _, times in timed), 1.5 * longest)
    scale = LinearScale(0.0, reach, NAMES, PANEL - FIGURES)
    parts = [text(0, 14, name, class_="label strong")]
    for place, (label, times) in enumerate(timed):
        middle = 24 + (place + 0.5) * LINE
        tip = f"{label}: {seconds_text(times.median)}"
        width = scale(times.median) - NAMES
        filled = bar(NAMES, middle - 6, width, 12, COLOURS[name][0], tip=tip, value=times.median)
        parts += [text(0, middle + 4, shortened(label, 20)), filled]
        parts += whisker(scale(times.low), scale(times.high), scale.end, middle)
        parts.append(text(PANEL, middle + 4, seconds_text(times.median), anchor="end"))
    said = "; ".join(f"{label} {seconds_text(times.median)}" for label, times in timed)
    return drawing(PANEL, 28 + len(timed) * LINE, f"{name}: {said}", *parts)


def _compared(run: Run) -> list[Child]:
    by_name = {step.step: step for step in run.opening}
    cells: list[Child] = []
    for name in COMPARED:
        step = by_name.get(name)
        cells.append(None if step is None else seconds(step.times.median))
        counted = None if step is None else step.operations
        cells.append(None if counted is None else count(counted.total))
    return cells
