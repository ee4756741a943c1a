"""Draws latency distributions from the merged histograms: logarithmic axis, named percentiles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from weir.report.chart import (
    HALF_WIDTH,
    LogScale,
    bar,
    bottom_axis,
    drawing,
    figure,
    line,
    table,
    text,
)
from weir.report.markup import Markup, element, join
from weir.report.quantities import (
    count,
    nanoseconds,
    nanoseconds_text,
    percent_text,
    plural,
    time_unit,
)
from weir.report.sources import Source
from weir.results.expectations import Direction
from weir.results.quantities import phase_name
from weir.results.record import Latencies
from weir.results.schema import Run

LEFT, RIGHT, PLOT = 40.0, 22.0, 92.0
LABEL_ROW = 14.0
BINS_ACROSS = 36
MOST_PER_DECADE = 128
GLYPH = 6.3
"""Mean width of a label's glyph in pixels, used only to keep labels apart."""


LOOKS = ("stat", "open", "close", "read", "getxattr")
"""Prefixes or suffixes of the names of actions that change nothing."""


@dataclass(frozen=True)
class Distribution:
    """One panel: the latencies of a phase or an action."""

    name: str
    anchor: str
    colour: Direction
    latencies: Latencies


@dataclass(frozen=True)
class Bin:
    """Number of operations that took from ``low_ns`` to below ``high_ns``."""

    low_ns: float
    high_ns: float
    count: int


def percentiles(histogram: Latencies) -> list[tuple[str, int]]:
    """Returns names and latencies in ns, ascending."""
    return [
        ("p50", histogram.p50_ns),
        ("p90", histogram.p90_ns),
        ("p99", histogram.p99_ns),
        ("p99.9", histogram.p999_ns),
        ("p99.99", histogram.p9999_ns),
        ("max", histogram.max_ns),
    ]


def bins_per_decade(histograms: list[Latencies]) -> int:
    """Returns a power of two that gives about ``BINS_ACROSS`` bins over all histograms.

    Bins are not narrower than buckets, because they would show gaps that do not exist.
    """
    lows = [bucket[0] for histogram in histograms for bucket in histogram.buckets]
    highs = [bucket[1] for histogram in histograms for bucket in histogram.buckets]
    across = max(0.05, math.log10(max(highs) / max(1, min(lows))))
    widths = [
        math.log10(high / max(1, low)) for low, high in zip(lows, highs, strict=True) if high > low
    ]
    wanted = min(BINS_ACROSS / across, 1 / max(median(widths), 1e-6), MOST_PER_DECADE)
    return int(2 ** max(0, math.floor(math.log2(max(1.0, wanted)))))


def equal_bins(histogram: Latencies, per_decade: int) -> list[Bin]:
    """Collects the buckets into bins of equal width on a logarithmic axis; counts are kept.

    A whole bucket goes into the bin that contains its geometric mean.
    """
    gathered: dict[int, int] = {}
    for low, high, number in histogram.buckets:
        middle = math.sqrt(max(1, low) * max(1, high))
        index = math.floor(math.log10(middle) * per_decade)
        gathered[index] = gathered.get(index, 0) + number
    return [
        Bin(10 ** (index / per_decade), 10 ** ((index + 1) / per_decade), number)
        for index, number in sorted(gathered.items())
    ]


def render(source: Source) -> Markup | None:
    """Draws one panel per phase or action, on a common axis."""
    found = distributions(source.run)
    if not found:
        return None
    histograms = [distribution.latencies for distribution in found]
    per_decade = bins_per_decade(histograms)
    bins = [bin_ for histogram in histograms for bin_ in equal_bins(histogram, per_decade)]
    low = max(1.0, min([bin_.low_ns for bin_ in bins] + [h.min_ns for h in histograms]))
    high = max([bin_.high_ns for bin_ in bins] + [h.max_ns for h in histograms] + [low * 2])
    panels = [_panel(d, equal_bins(d.latencies, per_decade), low, high) for d in found]
    return element("div", *panels, class_="pair")


def distributions(run: Run) -> list[Distribution]:
    """Returns those of phases, then of actions of the workload metadata, without empty ones."""
    phases = [
        Distribution(
            phase_name(one.function, one.direction),
            f"{one.function}-{one.direction}",
            one.direction,
            one,
        )
        for one in run.histograms
    ]
    actions = [
        Distribution(
            one.action,
            one.action.replace("/", "-"),
            "read" if one.action.startswith("read") or one.action.endswith(LOOKS) else "write",
            one.latencies,
        )
        for one in run.metadata
    ]
    return [one for one in phases + actions if one.latencies.count > 0 and one.latencies.buckets]


def merged_labels(histogram: Latencies) -> list[tuple[str, int]]:
    """Returns percentiles for the drawing; those with the same text share one label."""
    merged: list[tuple[str, int]] = []
    for name, value in percentiles(histogram):
        if merged and nanoseconds_text(merged[-1][1]) == nanoseconds_text(value):
            first = merged[-1][0].split("\u2013")[0]
            merged[-1] = (f"{first}\u2013{name}", value)
        else:
            merged.append((name, value))
    return merged


def _panel(shown: Distribution, bins: list[Bin], low: float, high: float) -> Markup:
    histogram = shown.latencies
    scale = LogScale(low, high, LEFT, HALF_WIDTH - RIGHT)
    labels = merged_labels(histogram)
    marks, label_rows = _percentile_marks(labels, scale)
    top = LABEL_ROW * label_rows + 8
    base = top + PLOT
    highest = max(bin_.count for bin_ in bins)
    bars = [
        bar(
            scale(max(b.low_ns, low)) + 0.5,
            base - PLOT * b.count / highest,
            scale(min(b.high_ns, high)) - scale(max(b.low_ns, low)) - 1,
            PLOT * b.count / highest,
            shown.colour,
            tip=f"{nanoseconds_text(round(b.low_ns))} to {nanoseconds_text(round(b.high_ns))}: "
            f"{plural(b.count, 'operation')}, {percent_text(b.count / histogram.count)}",
            value=b.count,
        )
        for b in bins
    ]
    lines = [line(scale(value), y, scale(value), base, "percentile") for value, y in marks.values()]
    texts = [_label_text(name, value, y, scale) for name, (value, y) in marks.items()]
    ticks = [(value, tick_text(value)) for value in scale.ticks()]
    name = shown.name
    said = ", ".join(f"{key} {nanoseconds_text(value)}" for key, value in percentiles(histogram))
    share = percent_text(highest / histogram.count)
    image = drawing(
        HALF_WIDTH,
        base + 38,
        f"Latency of {name}, {plural(histogram.count, 'operation')}: {said}",
        text(LEFT - 6, top + 8, share, class_="tick", anchor="end"),
        line(LEFT - 3, top, LEFT, top, "axis"),
        bottom_axis(scale, base, ticks, "latency of one operation"),
        lines,
        bars,
        texts,
    )
    caption = join(
        element("strong", name),
        f" \u2013 {plural(histogram.count, 'operation')}; height: share of them",
    )
    body = [[key, nanoseconds(value)] for key, value in percentiles(histogram)]
    body = [["minimum", nanoseconds(histogram.min_ns)], *body]
    body.append(["operations", count(histogram.count)])
    data = table(["", "latency"], body, caption=f"Latency of {name}")
    return figure(
        f"latency-{shown.anchor}",
        caption,
        image,
        table=data,
        width=HALF_WIDTH,
    )


def tick_text(nanoseconds: float) -> str:
    """Formats a round latency without trailing zeros."""
    unit = time_unit(nanoseconds * 1e-9)
    return f"{nanoseconds * 1e-9 / unit.size:.10g} {unit.name}"


def _label(name: str, value: int) -> str:
    return f"{name} {nanoseconds_text(value)}"


def _label_extent(name: str, value: int, scale: LogScale) -> tuple[float, float]:
    """Returns the ends of a label: right of its line, or left of it near the right edge."""
    width = GLYPH * len(_label(name, value))
    x = scale(value)
    if x + 3 + width > HALF_WIDTH:
        return x - 3 - width, x - 3
    return x + 3, x + 3 + width


def _label_text(name: str, value: int, y: float, scale: LogScale) -> Markup:
    begin, end = _label_extent(name, value, scale)
    if end < scale(value):
        return text(end, y, _label(name, value), class_="tick halo", anchor="end")
    return text(begin, y, _label(name, value), class_="tick halo")


def _percentile_marks(
    labels: list[tuple[str, int]], scale: LogScale
) -> tuple[dict[str, tuple[int, float]], int]:
    """Returns each label's latency and baseline, in as few rows as keep labels apart."""
    taken: list[list[tuple[float, float]]] = []
    placed: dict[str, tuple[int, int]] = {}
    for name, value in labels:
        begin, end = _label_extent(name, value, scale)
        row = next(
            (
                i
                for i, others in enumerate(taken)
                if all(
                    end + 6 < other_begin or other_end + 6 < begin
                    for other_begin, other_end in others
                )
            ),
            len(taken),
        )
        if row == len(taken):
            taken.append([])
        taken[row].append((begin, end))
        placed[name] = (value, row)
    marks = {name: (value, LABEL_ROW * (row + 1)) for name, (value, row) in placed.items()}
    return marks, len(taken)
