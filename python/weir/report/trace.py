"""Draws the trace by rank and time, one row per rank, as in figure 3 of Borrill et al."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weir.report import activity
from weir.report.chart import (
    FULL_WIDTH,
    Legend,
    LinearScale,
    drawing,
    figure,
    line,
    plot,
    table,
    text,
    time_axis,
)
from weir.report.event_store import Events
from weir.report.markup import Markup, coordinate, element, join
from weir.report.quantities import (
    plural,
    rate_text,
    seconds,
    seconds_text,
    size_text,
)
from weir.report.sources import Source, hosts_by_rank, is_asynchronous
from weir.report.trace_layout import (
    BARRIER_WAIT,
    BLOCKED,
    EXACT_LIMIT,
    KINDS,
    ROWS_LIMIT,
    TOKEN_WAIT,
    TRANSFER_CODES,
    Choice,
    Intervals,
    choose_ranks,
    choose_repetitions,
    in_columns,
    intervals_of,
    io_seconds_by_rank,
    untimed_share,
)
from weir.results.events import FUNCTION_NAMES

LEFT, RIGHT, TOP = 72.0, 66.0, 26.0
TIP_LIMIT = 1500
ROW_SIZES = ((8, 22.0, 5.0), (16, 15.0, 4.0), (32, 11.0, 2.0), (ROWS_LIMIT, 7.0, 1.5))
LABEL_HEIGHT = 12.0
ACTIVITY_FROM_RANKS = 17
CSS = ("read", "write", "sync", "compute", "remap", "wait", "wait", "blocked")
LEGEND_NAMES = {
    "read": "read",
    "write": "write",
    "sync": "durable sync",
    "compute": "compute",
    "remap": "remap",
    "wait": "wait for other ranks",
    "blocked": "blocked in I/O",
}
MATRIX_FUNCTIONS = ("S", "D", "W", "C")
TABLE_ROWS = 64
UNTIMED_SAID = 0.02


@dataclass(frozen=True)
class Rows:
    """Position of each drawn rank: its row, and in asynchronous runs the two lanes of a row."""

    ranks: list[int]
    height: float
    gap: float
    asynchronous: bool

    @property
    def bottom(self) -> float:
        return TOP + len(self.ranks) * (self.height + self.gap)

    def top_of(self, rank: int) -> float:
        return TOP + self.ranks.index(rank) * (self.height + self.gap) + self.gap / 2

    def lane(self, kind: int) -> tuple[float, float]:
        """Returns offset in the row and height of a mark; transfers are below the computation."""
        if not self.asynchronous:
            return 0.0, self.height
        half = self.height / 2
        return (half, half) if kind in TRANSFER_CODES else (0.0, half)


def rows_for(ranks: list[int], asynchronous: bool) -> Rows:
    height, gap = next((h, g) for most, h, g in ROW_SIZES if len(ranks) <= most)
    return Rows(ranks, height, gap, asynchronous)


def render_traces(source: Source) -> list[Markup]:
    """Returns the figures of the typical and, if clearly slower, of the slowest repetition."""
    if source.events is None:
        return [element("p", "No events are recorded in this run folder: no trace.", class_="none")]
    drawn: list[Markup] = []
    choices = choose_repetitions(source.run, source.events.repetitions())
    for place, choice in enumerate(choices):
        events = source.events.load(choice.repetition)
        drawn.append(_trace(source, choice, events))
        if place == 0 and len(np.unique(events.rank)) >= ACTIVITY_FROM_RANKS:
            drawn.append(activity.render(events, intervals_of(events), choice.repetition))
    return drawn


def _trace(source: Source, choice: Choice, events: Events) -> Markup:
    ranks, io_seconds = io_seconds_by_rank(events)
    shown = choose_ranks(ranks, io_seconds)
    asynchronous = is_asynchronous(source.run)
    everything = intervals_of(events, asynchronous)
    intervals = everything.of(np.isin(everything.rank, shown))
    exact = len(intervals) <= EXACT_LIMIT
    if not exact:
        transfers = set(TRANSFER_CODES)
        others = set(range(len(KINDS))) - transfers
        lanes = [others, transfers] if asynchronous else [others | transfers]
        intervals = in_columns(intervals, lanes)
    slowest = int(ranks[int(io_seconds.argmax())])
    rows = rows_for(shown, asynchronous)
    origin = int(everything.start_ns.min())
    duration = float(everything.end_ns.max() - origin) * 1e-9
    scale = LinearScale(0.0, duration, LEFT, FULL_WIDTH - RIGHT)
    marks = _marks(intervals, events, rows, scale, origin, exact)
    host = hosts_by_rank(source.run).get(slowest, "unknown host")
    took = float(io_seconds.max())
    description = (
        f"Trace of {plural(len(ranks), 'rank')} over {seconds_text(duration)}, {choice.reason}. "
        f"Rank {slowest} on {host} spent most time in I/O: {seconds_text(took)}."
    )
    height = rows.bottom + 40
    image = drawing(
        FULL_WIDTH,
        height,
        description,
        plot(scale, 0.0, rows.bottom + 2, _function_bands(events, rows, scale, origin), marks),
        _function_names(events, scale, origin),
        time_axis(
            scale,
            rows.bottom + 2,
            "time since the repetition began",
            f"repetition-{choice.repetition}",
        ),
        _row_labels(rows, slowest),
    )
    used = {CSS[int(kind)] for kind in np.unique(intervals.kind)}
    legend = Legend([(css, name) for css, name in LEGEND_NAMES.items() if css in used])
    caption = join(
        element("strong", "What each rank did when"),
        f" \u2013 {choice.reason}. Rank {slowest} on ",
        element("bdi", host),
        f" spent the most time in I/O, {seconds_text(took)}. ",
        _how_drawn(rows, len(ranks), exact, untimed_share(everything, asynchronous)),
    )
    return figure(
        f"trace-{choice.repetition}",
        caption,
        image,
        legend=legend,
        table=_table(everything, shown, slowest),
    )


def _how_drawn(rows: Rows, ranks: int, exact: bool, untimed: float) -> str:
    parts = []
    if rows.asynchronous:
        parts.append("In each row the rank itself is above, its transfers are below.")
    if len(rows.ranks) < ranks:
        parts.append(
            f"{len(rows.ranks)} of {plural(ranks, 'rank')} are drawn: the slowest, the fastest, "
            "and others at even distances."
        )
    if untimed > UNTIMED_SAID:
        parts.append("Blank: not timed, such as making and checking the payload.")
    if not exact:
        parts.append(
            "There are too many operations to draw each: every column shows what filled most of it."
        )
    return " ".join(parts)


def _function_bands(events: Events, rows: Rows, scale: LinearScale, origin: int) -> Markup:
    bands: list[Markup] = []
    for _, begin, end in _functions(events, origin):
        bands.append(line(scale(begin), 8, scale(begin), rows.bottom, "band"))
        bands.append(line(scale(begin), TOP - 6, scale(end), TOP - 6, "axis"))
    return join(bands)


def _function_names(events: Events, scale: LinearScale, origin: int) -> Markup:
    """Writes each function's name over the middle of its time, of which a script shows a part."""
    return join(
        element(
            "text",
            name,
            x=scale((begin + end) / 2),
            y=TOP - 11,
            class_="label strong at",
            text_anchor="middle",
            data_from=repr(begin),
            data_to=repr(end),
        )
        for name, begin, end in _functions(events, origin)
    )


def _functions(events: Events, origin: int) -> list[tuple[str, float, float]]:
    """Returns each function with its first start and last end in seconds, in order of time."""
    found = []
    for code in sorted(set(events.function.tolist()), key=lambda c: _first(events, c)):
        own = events.function == code
        begin = float(events.start_ns[own].min() - origin) * 1e-9
        end = float(events.end_ns[own].max() - origin) * 1e-9
        found.append((FUNCTION_NAMES[code], begin, end))
    return found


def _first(events: Events, function: int) -> int:
    return int(events.start_ns[events.function == function].min())


def _row_labels(rows: Rows, slowest: int) -> Markup:
    step = max(1, int(np.ceil(LABEL_HEIGHT / (rows.height + rows.gap))))
    labels: list[Markup] = []
    for place, rank in enumerate(rows.ranks):
        middle = rows.top_of(rank) + rows.height / 2 + 4
        if place % step == 0:
            labels.append(text(LEFT - 8, middle, f"rank {rank}", class_="tick", anchor="end"))
        if rank == slowest:
            labels.append(
                text(FULL_WIDTH - RIGHT + 6, middle, "\u25c2 slowest", class_="tick strong")
            )
    return join(labels)


def _marks(
    intervals: Intervals, events: Events, rows: Rows, scale: LinearScale, origin: int, exact: bool
) -> Markup:
    top = {rank: rows.top_of(rank) for rank in rows.ranks}
    with_tips = exact and len(intervals) <= TIP_LIMIT
    paths: dict[str, list[str]] = {}
    single: list[Markup] = []
    order = np.lexsort((intervals.start_ns, intervals.rank))
    for i in order:
        kind = int(intervals.kind[i])
        begin = scale(float(intervals.start_ns[i] - origin) * 1e-9)
        width = max(0.4, scale(float(intervals.end_ns[i] - origin) * 1e-9) - begin)
        shift, height = rows.lane(kind)
        y = top[int(intervals.rank[i])] + shift
        if with_tips:
            tip = _tip(events, int(intervals.event[i]), kind)
            single.append(
                element(
                    "rect", x=begin, y=y, width=width, height=height, class_=CSS[kind], data_tip=tip
                )
            )
        else:
            w = coordinate(width)
            paths.setdefault(CSS[kind], []).append(
                f"M{coordinate(begin)} {coordinate(y)}h{w}v{coordinate(height)}h-{w}z"
            )
    combined = [element("path", d="".join(parts), class_=css) for css, parts in paths.items()]
    return element("g", single, combined, data_intervals=str(len(intervals)))


def _tip(events: Events, event: int, kind: int) -> str:
    rank, bin_number = int(events.rank[event]), int(events.bin[event])
    function = FUNCTION_NAMES[int(events.function[event])]
    of = "matrix" if function in MATRIX_FUNCTIONS else "transfer"
    if kind == BLOCKED:
        blocked = seconds_text(float(events.foreground_ns[event]) * 1e-9)
        return f"rank {rank}: blocked in I/O in {function}, {of} {bin_number}: {blocked}"
    if kind in (BARRIER_WAIT, TOKEN_WAIT):
        waits = events.barrier_wait_ns if kind == BARRIER_WAIT else events.token_wait_ns
        took = float(waits[event]) * 1e-9
        what = "at a barrier" if kind == BARRIER_WAIT else "for its turn"
        return f"rank {rank}: waits {what} in {function}, {of} {bin_number}: {seconds_text(took)}"
    took = float(events.end_ns[event] - events.start_ns[event]) * 1e-9
    moved = int(events.bytes[event])
    said = f"rank {rank}: {KINDS[kind]} in {function}, {of} {bin_number}: {seconds_text(took)}"
    if moved and took > 0:
        said += f", {size_text(moved)} at {rate_text(moved / took)}"
    return said


def _table(intervals: Intervals, shown: list[int], slowest: int) -> Markup:
    ranks = shown if len(shown) <= TABLE_ROWS else shown[:TABLE_ROWS]
    used = [kind for kind in range(len(KINDS)) if bool((intervals.kind == kind).any())]
    took = (intervals.end_ns - intervals.start_ns).astype(np.float64) * 1e-9
    body = []
    for rank in ranks:
        own = intervals.rank == rank
        sums = [float(took[own & (intervals.kind == kind)].sum()) for kind in used]
        name = f"rank {rank}" + (" (slowest)" if rank == slowest else "")
        body.append([name, *(seconds(value) for value in sums)])
    head = ["Rank", *(KINDS[kind] for kind in used)]
    return table(head, body, caption="Time of each rank by kind in this repetition")
