"""A small drawing of measured against expected: bar, interval, and the mark to be reached."""

from __future__ import annotations

from weir.report.chart import LinearScale, bar, drawing, line, whisker
from weir.report.markup import Markup, element, join
from weir.report.quantities import rate_range_text, rate_text
from weir.report.sources import headline_rate
from weir.report.wording import DIRECTION_NOUN, expected_rate
from weir.results.expectations import Direction
from weir.results.schema import Run

HEIGHT = 26.0


def scale_end(runs: list[Run], direction: Direction) -> float:
    """Returns the end of a common scale, in bytes per second.

    Medians and expected intervals fit into the scale. A measured interval may be cut off at 1.5
    times these, because otherwise one lucky repetition would make all bars very short.
    """
    fitting, reaching = [0.0], [0.0]
    for run in runs:
        headline, expected = headline_rate(run, direction), expected_rate(run, direction)
        if headline is not None:
            fitting.append(headline.median)
            reaching.append(headline.high)
        if expected is not None:
            fitting += [expected.high, expected.value]
    return max(*fitting, min(max(reaching), 1.5 * max(fitting)))


def bullet(run: Run, direction: Direction, end: float, width: float) -> Markup:
    """Draws the measured median as a bar with its interval; the expectation is behind it."""
    scale = LinearScale(0.0, end or 1.0, 0.0, width - 2)
    headline, expected = headline_rate(run, direction), expected_rate(run, direction)
    middle = HEIGHT / 2
    parts: list[Markup] = [line(0, middle, width, middle, "grid")]
    said = [DIRECTION_NOUN[direction]]
    if expected is not None:
        low, high = expected.low, expected.high
        value = expected.value
        tip = f"expected {rate_text(value)}, between {rate_range_text(low, high)}"
        band_width = max(2.0, scale(high) - scale(low))
        parts.append(bar(scale(low), 2, band_width, HEIGHT - 4, "band-fill", tip=tip, value=value))
        said.append(tip)
    if headline is not None:
        median = headline.median
        tip = f"measured {rate_text(median)}"
        if len(headline.values) > 1:
            interval = rate_range_text(headline.low, headline.high)
            tip += f", {headline.confidence * 100:.0f} % interval {interval}"
        parts.append(bar(0, middle - 5, scale(median), 10, direction, tip=tip, value=median))
        low, high = scale(headline.low), scale(headline.high)
        parts += whisker(low, high, scale.end, middle)
        said.append(tip)
    if expected is not None:
        x = scale(expected.value)
        parts.append(line(x, 0, x, HEIGHT, "target"))
    return drawing(width, HEIGHT, "; ".join(said), join(parts))


def bullet_legend() -> Markup:
    """Explains how to read the bars, once per page part that uses them."""
    return element(
        "p",
        "Bar: measured median, thin line its interval. Grey band: expected interval, "
        "upright mark the expected rate.",
        class_="note",
    )
