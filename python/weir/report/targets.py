"""Draws what targets, servers and links moved over time, with the rates of the job on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from weir.report import completion, heat_map
from weir.report.axes import HEIGHT, LEFT, TOP, Axes
from weir.report.chart import (
    FULL_WIDTH,
    HALF_WIDTH,
    Legend,
    csv,
    drawing,
    figure,
    shortened,
    table,
    text,
)
from weir.report.completion import Completion
from weir.report.event_store import PhaseSpan
from weir.report.heat_map import HeatMap
from weir.report.markup import Child, Markup, coordinate, element, join
from weir.report.quantities import (
    count,
    percent_text,
    plural,
    rate,
    rate_text,
    seconds_text,
    size,
)
from weir.report.sample_store import Floats, Rates, SampleStore
from weir.report.sources import Source, directions, headline_rate
from weir.results.monitor_records import Monitor, MonitoredCounter, named
from weir.results.request_sizes import KIND, sizes_of
from weir.results.schema import Run

COLUMNS = 300
MOST_SMALL = 16
"""Number of counters that have a drawing of their own."""
SMALL_HEIGHT = 96.0
DIRECTIONS = ("read", "write")
MAPPED = ("write", "read")
MOST_TIPS = 128
TABLE_ROWS = 64
NAME_LENGTH = 17
DONE = 0.99
"""A target is done when it has moved this share of its bytes: a journal may go on for long."""
MOVED = "time until the target had moved 99 % of its bytes"


def render(source: Source) -> Markup | None:
    """Returns the drawings and the table of a run beside which a monitor ran."""
    monitor, samples = source.run.monitor, source.samples
    if monitor is None:
        return None
    parts: list[Child] = [element("p", _about(monitor), class_="note")]
    ordered = sorted(
        monitor.counters,
        key=lambda one: (not one.holds_files, -(one.bytes_read + one.bytes_written)),
    )
    if samples is not None and ordered:
        edges = _edges(samples, monitor.interval_seconds)
        moved = list(zip(ordered, samples.rates(ordered, edges), strict=True))
        holding = [(one, rates) for one, rates in moved if one.holds_files]
        if holding:
            spans = source.events.phase_spans() if source.events else []
            parts.append(_sum(holding, spans))
        if len(holding) > 1:
            parts.append(_map(holding, edges))
            done = completions([one for one, _ in holding], [rates for _, rates in holding])
            parts.append(completion.render(done, "target", MOVED))
        parts.append(_servers(monitor, holding, edges))
        parts.append(_each(moved, edges))
    parts.append(_sizes(monitor.counters))
    ordered = [one for one in ordered if one.kind != KIND]
    if ordered:
        parts.append(_table(monitor, ordered))
    return join(*parts)


def _about(monitor: Monitor) -> str:
    clock = monitor.clock
    parts = [clock.how]
    if clock.likely_error_ns is not None:
        parts.append(f"likely right to {seconds_text(clock.likely_error_ns * 1e-9)}")
    if clock.error_bound_ns is not None:
        parts.append(f"wrong by at most {seconds_text(clock.error_bound_ns * 1e-9)}")
    missed = f", {monitor.missed} missed" if monitor.missed else ""
    cost = percent_text(monitor.processor_seconds / max(monitor.seconds, 1e-9))
    return (
        f"{plural(monitor.samples, 'sample')} on {monitor.host}{missed}, {monitor.resolution}. "
        f"Time: {'; '.join(parts)}. The monitor took {cost} of a core."
    )


def _edges(samples: SampleStore, interval_seconds: float) -> Floats:
    """Returns the edges of columns, none of which is narrower than the sampling interval."""
    low, high = samples.span
    most = int((high - low) / interval_seconds) if interval_seconds > 0 else COLUMNS
    return np.linspace(low, high, max(1, min(COLUMNS, most)) + 1)


Watched = tuple[MonitoredCounter, Rates]


def _map(holding: Sequence[Watched], edges: Floats) -> Markup | None:
    """Draws the rate of every target over time; of many targets a row is the slowest of several."""
    ordered = sorted(holding, key=lambda pair: (pair[0].source, pair[0].name))
    first = heat_map.first_of_rows(len(ordered))
    names = [shortened(one.name, NAME_LENGTH) for one, _ in ordered]
    together = -(-len(ordered) // len(first))
    images, data = [], []
    for direction in MAPPED:
        rates = np.stack([getattr(own, direction) for _, own in ordered])
        if not rates.any():
            continue
        slowest = np.fmin.reduceat(np.where(rates > 0, rates, np.nan), first, axis=0)
        heat = HeatMap([names[place] for place in first], edges, slowest)
        images.append(
            heat_map.draw(
                heat,
                direction.capitalize(),
                "time since the run began",
                "run",
                f"Rate of {plural(len(ordered), 'target')} over the run, {direction}; dark is slow",
            )
        )
        data.append(csv(heat_map.csv_of(heat, f"{direction} by target")))
    if not images:
        return None
    rows = "a target"
    if together > 1:
        rows = f"the slowest of up to {together} targets, named by the first,"
    caption = join(
        element("strong", "Each target over time"),
        f" \u2013 each row is {rows} and what it moved in each "
        f"{seconds_text(float(edges[1] - edges[0]))}. Blank: nothing.",
    )
    return figure("targets-over-time", caption, *images, table=join(data))


def _sum(holding: Sequence[Watched], spans: Sequence[PhaseSpan]) -> Markup:
    total = _total([rates for _, rates in holding])
    names = named([one.name for one, _ in holding])
    caption = join(
        element("strong", f"All targets of the files together ({names})"),
        " \u2013 thin lines: what the targets moved; thick lines: the rate of each phase of the "
        "job, its bytes over the time from its first start to its last end. The area under a line "
        "is bytes: what targets write after a phase is the page cache, or others.",
    )
    said = f"the rate of each of {plural(len(spans), 'phase')} of the job"
    return _over_time(total, spans, caption, f"{names} over the run", said, "the run began")


def _over_time(
    total: Rates, spans: Sequence[PhaseSpan], caption: Markup, where: str, said: str, since: str
) -> Markup:
    """Draws the sum over targets with the rates of phases or runs on top."""
    largest = max([total.largest, *(one.rate for one in spans)])
    axes = Axes.of(total.edges, largest, FULL_WIDTH, HEIGHT)
    lines = [
        axes.steps(total.edges, getattr(total, direction), f"monitored {direction}-line")
        for direction in DIRECTIONS
        if getattr(total, direction).any()
    ]
    seen = {one.direction for one in spans}
    image = drawing(
        FULL_WIDTH,
        TOP + HEIGHT + 40,
        f"Bytes per second of {where}, up to {rate_text(total.largest)}, and {said}",
        axes.frame(f"time since {since}", 5, 10, "run"),
        axes.plot(
            lines,
            [_phases(axes, spans, direction) for direction in DIRECTIONS if direction in seen],
        ),
    )
    entries = [(direction, direction) for direction in DIRECTIONS]
    data = csv(_csv({"all targets": total}))
    return figure("targets", caption, image, legend=Legend(entries), table=data)


def _csv(rates: Mapping[str, Rates]) -> str:
    """Returns a line for each column of the drawing, with bytes per second."""
    columns = {
        f"{name}, {direction}, bytes/s": getattr(one, direction)
        for name, one in rates.items()
        for direction in DIRECTIONS
    }
    edges = next(iter(rates.values())).edges
    head = ["from second", *(name.replace('"', "'") for name in columns)]
    lines = [",".join(f'"{name}"' for name in head)]
    values = np.column_stack(list(columns.values())).tolist()
    for second, row in zip(edges[:-1].tolist(), values, strict=True):
        lines.append(",".join([f"{second:.6g}", *(f"{value:.4g}" for value in row)]))
    return "\n".join(lines) + "\n"


def render_jobs(jobs: Sequence[Sequence[tuple[Path, Run]]]) -> Markup | None:
    """Returns the drawing of the targets over all jobs of a campaign, with each run's rates.

    The jobs are on the time of day of the hosts that started them.
    """
    watched = [
        (monitor, samples, runs)
        for runs in jobs
        if (monitor := runs[0][1].monitor) is not None
        and (samples := SampleStore.open(runs[0][0])) is not None
        and any(one.holds_files for one in monitor.counters)
    ]
    if not watched:
        return None
    spans = [
        (one.wall_seconds + one.span[0], one.wall_seconds + one.span[1]) for _, one, _ in watched
    ]
    start, end = min(low for low, _ in spans), max(high for _, high in spans)
    widest = max(monitor.interval_seconds for monitor, _, _ in watched)
    columns = max(1, min(COLUMNS, int((end - start) / max(widest, 1e-9))))
    edges = np.linspace(0.0, end - start, columns + 1)
    parts = []
    rates = []
    for monitor, samples, runs in watched:
        shift = samples.wall_seconds - start
        holding = [one for one in monitor.counters if one.holds_files]
        parts += [
            Rates(edges, own.read, own.write) for own in samples.rates(holding, edges - shift)
        ]
        rates += [span for _, run in runs for span in _rates_of(run, shift)]
    caption = join(
        element("strong", f"All targets of the files over {plural(len(watched), 'job')}"),
        " \u2013 thin lines: what the targets moved; thick lines: the median rate of each run, "
        "from its first repetition to its last.",
    )
    said = f"the rates of {plural(len(rates), 'run')}"
    return _over_time(_total(parts), rates, caption, "the targets", said, "the first job")


def _rates_of(run: Run, shift: float) -> list[PhaseSpan]:
    """Returns the headline rates of a run over its time."""
    if not run.repetitions:
        return []
    start = min(one.started_seconds for one in run.repetitions)
    end = max(one.started_seconds + one.seconds for one in run.repetitions)
    return [
        PhaseSpan(direction, shift + start, shift + end, round(found.median * (end - start)))
        for direction in directions(run)
        if (found := headline_rate(run, direction)) is not None and found.median
    ]


def _total(parts: Sequence[Rates]) -> Rates:
    total = parts[0]
    for one in parts[1:]:
        total = total.plus(one)
    return total


def _phases(axes: Axes, spans: Sequence[PhaseSpan], direction: str) -> Markup:
    """Draws the rate of each phase of one direction, all in one path."""
    path = "".join(
        f"M{coordinate(axes.x(one.start))} {coordinate(axes.y(one.rate))}"
        f"H{coordinate(max(axes.x(one.end), axes.x(one.start) + 1))}"
        for one in spans
        if one.direction == direction
    )
    return element("path", d=path, class_=f"phase-rate {direction}-line")


def _each(watched: Sequence[Watched], edges: Floats) -> Markup:
    """Draws the counters that moved most bytes, those of the job's files first."""
    moved = [(one, rates) for one, rates in watched if one.bytes_read + one.bytes_written]
    drawn = [_small(one, rates, edges) for one, rates in moved[:MOST_SMALL]]
    caption: list[Child] = [element("strong", "Each by itself"), ", on a scale of its own"]
    if len(moved) > MOST_SMALL:
        caption.append(f"; the {MOST_SMALL} of {len(moved)} that moved most")
    grid = element("div", *drawn, class_="small-multiples")
    values = {
        f"{one.kind} {one.name} ({one.source}){f' on {one.host}' if one.host else ''}": own
        for one, own in moved[:MOST_SMALL]
    }
    return figure("each-target", join(*caption), grid, table=csv(_csv(values)) if moved else None)


def _servers(monitor: Monitor, holding: Sequence[Watched], edges: Floats) -> Markup | None:
    """Draws what the targets of each server moved together, all on one scale."""
    by_host: dict[str, list[Rates]] = {}
    for one, rates in holding:
        by_host.setdefault(one.host or monitor.host, []).append(rates)
    if len(by_host) < 2:
        return None
    sums = {host: _total(by_host[host]) for host in sorted(by_host)}
    most = sorted(sums, key=lambda host: -float((sums[host].read + sums[host].write).sum()))
    shown = sorted(most[:MOST_SMALL])
    largest = max(one.largest for one in sums.values())
    drawn = [
        _steps(f"{host}: {plural(len(by_host[host]), 'target')}", sums[host], edges, largest)
        for host in shown
    ]
    caption: list[Child] = [
        element("strong", "Each server"),
        " \u2013 what its targets of the job's files moved together, all on one scale. The area "
        "under a line is the bytes that the server had to deliver.",
    ]
    if len(sums) > MOST_SMALL:
        caption.append(f" The {MOST_SMALL} of {len(sums)} that moved most.")
    grid = element("div", *drawn, class_="small-multiples")
    return figure("each-server", join(*caption), grid, table=csv(_csv(sums)))


def _small(counter: MonitoredCounter, rates: Rates, edges: Floats) -> Markup:
    on = f" on {counter.host}" if counter.host else ""
    title = f"{counter.kind} {counter.name}{on} ({counter.source})"
    return _steps(title, rates, edges, rates.largest)


def _steps(title: str, rates: Rates, edges: Floats, largest: float) -> Markup:
    axes = Axes.of(edges, largest, HALF_WIDTH, SMALL_HEIGHT)
    return drawing(
        HALF_WIDTH,
        TOP + SMALL_HEIGHT + 36,
        f"Bytes per second of {title}, up to {rate_text(rates.largest)}",
        text(LEFT, 12, title, class_="label strong"),
        axes.frame("time", 3, 5, "run"),
        axes.plot(
            axes.steps(edges, getattr(rates, direction), f"monitored {direction}-line")
            for direction in DIRECTIONS
            if getattr(rates, direction).any()
        ),
    )


def completions(counters: Sequence[MonitoredCounter], rates: Sequence[Rates]) -> list[Completion]:
    """Returns the completion of every target that moved bytes; times are since the first moved."""
    found = []
    begun = []
    for counter, one in zip(counters, rates, strict=True):
        moved = (one.read + one.write) * np.diff(one.edges)
        total = float(moved.sum())
        if total <= 0:
            continue
        begun.append(float(one.edges[int(np.argmax(moved > 0))]))
        end = float(one.edges[int(np.argmax(np.cumsum(moved) >= DONE * total)) + 1])
        found.append((counter.name, end, total))
    start = min(begun, default=0.0)
    return [Completion(name, end - start, total / (end - start)) for name, end, total in found]


def _of_many(number: int) -> str:
    return f"; {TABLE_ROWS} of {number}" if number > TABLE_ROWS else ""


def _sizes(counters: Sequence[MonitoredCounter]) -> Markup | None:
    """Tells the sizes of the requests, of all targets together."""
    counted = [(one.source, one.name, one.operations) for one in counters if one.kind == KIND]
    rows: list[list[Child]] = [
        [one.what, one.source, plural(len(one.targets), "target"), count(one.total), one.text]
        for one in sizes_of(counted)
    ]
    if not rows:
        return None
    head = ["Requests", "Source", "Of", "Number", "Share of each size, at most so large"]
    return table(head, rows, caption="Sizes of requests", numeric_from=3)


def _table(monitor: Monitor, ordered: Sequence[MonitoredCounter]) -> Markup:
    rows: list[list[Child]] = [
        [
            element("bdi", f"{one.name} on {one.host}" if one.host else one.name),
            f"{one.kind}, holds the files" if one.holds_files else one.kind,
            one.source,
            size(one.bytes_read),
            size(one.bytes_written),
            rate(one.largest_bytes_per_second),
            count(one.operations),
            percent_text(one.busy_seconds / monitor.seconds)
            if one.busy_seconds and monitor.seconds
            else "",
        ]
        for one in ordered[:TABLE_ROWS]
    ]
    head = ["Name", "Kind", "Source", "Read", "Written", "Most", "Operations", "Busy"]
    caption = "What moved while the monitor ran"

    def listed(some: list[list[Child]], said: str) -> Markup:
        return table(head, some, caption=f"{caption}{said}", numeric_from=3, titled=True)

    if len(rows) <= MOST_SMALL:
        return listed(rows, "")
    summary = element("summary", f"{len(rows)} of {len(ordered)}")
    more = element("details", summary, listed(rows, ""), class_="data")
    return join(listed(rows[:MOST_SMALL], f"; {MOST_SMALL} of {len(ordered)}"), more)
