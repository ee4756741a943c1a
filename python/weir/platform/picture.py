"""Draws a platform description as one picture: the path from the ranks to the targets.

The page is self-contained: SVG without scripts or fonts of its own. The places of a byte's path go
from left to right. Each stage is a bar, on one logarithmic scale for all, with the rate of all
units, a mark for each unit that differs, and its interval. Below are the limits, the costs of
single operations, and the topology.
"""

from __future__ import annotations

import math
import textwrap
from pathlib import Path

from weir.platform.drawing import interval_text
from weir.platform.summary import Row, device_texts, fit_of, limits, rows
from weir.platform.topology import Branch, topology_tree
from weir.platform.wiring import io_group_texts, sources, wiring_tree
from weir.report.markup import Markup, element, join
from weir.report.picture_file import INK, SOFT, draw, text_at, write_picture_file
from weir.results.metadata_rates import MetadataRates
from weir.results.platform import Platform
from weir.results.quantities import rate_text, seconds_text, significant, size_text

WIDTH = 1080
MARGIN = 36
NAME_WIDTH = 250
BAR_LEFT = MARGIN + NAME_WIDTH
BAR_RIGHT = WIDTH - MARGIN - 250
ROW = 30
UNIT_ROW = 22
LINE = 20
MOST_CHARACTERS = 140
"""Characters per line of text in the picture at most."""
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
MARKS = [float(10**decade * 1024**power) for power in range(len(UNITS)) for decade in range(3)]
"""Rates at which the axis has marks, in the units of the labels."""
GRID = "#dfe5ea"
COLOURS = {
    "rank": "#2a6f97",
    "node": "#2a6f97",
    "node link": "#8e5aa8",
    "I/O node": "#8e5aa8",
    "fabric": "#8e5aa8",
    "server": "#b5651d",
    "device link": "#b5651d",
    "target": "#c98a1b",
    "device cache": "#7a8f2a",
}
PLACES = {
    "rank": "In a rank",
    "node": "In a host's memory",
    "node link": "Between hosts",
    "I/O node": "Through I/O nodes",
    "fabric": "In the network of all",
    "server": "In a server",
    "device link": "On the way to the device",
    "target": "On the targets",
    "device cache": "In the device's cache",
}


def write_picture(path: Path, platform: Platform) -> Path:
    """Writes the picture: as SVG, or as HTML containing it, according to the file's suffix."""
    return write_picture_file(path, f"Platform {platform.name}", draw_picture(platform))


def draw_picture(platform: Platform) -> Markup:
    """Returns the whole picture as one ``svg`` element."""
    parts: list[Markup] = [_heading(platform)]
    y = 108.0
    all_rows = [row for row in rows(platform) if row.total > 0]
    if all_rows:
        chart, y = _chart(platform, all_rows, y)
        parts.append(chart)
    for title, lines in _texts(platform):
        y += 16
        parts.append(text_at(MARGIN, y, title, size=15, weight="600"))
        for text in (part for line in lines for part in _wrapped(line)):
            y += LINE
            parts.append(text_at(MARGIN, y, text, size=13, fill=SOFT))
        y += 14
    return draw(parts, width=WIDTH, height=y + 16, label=f"The path of a byte on {platform.name}")


def _heading(platform: Platform) -> Markup:
    hosts = "host" if platform.hosts == 1 else "hosts"
    facts = [f"{platform.hosts} {hosts} with {platform.ranks_per_host} ranks each"]
    facts.append(f"measured {platform.measured_utc}" if platform.measured_utc else "not measured")
    quiet = platform.conditions.get("quiet")
    second = [quiet] if isinstance(quiet, str) else []
    return join(
        text_at(MARGIN, 46, f"The path of a byte on {platform.name}", size=24, weight="600"),
        text_at(MARGIN, 70, ", ".join(facts), size=13, fill=SOFT),
        *(text_at(MARGIN, 88, text, size=13, fill=SOFT) for text in second),
    )


def _chart(platform: Platform, all_rows: list[Row], top: float) -> tuple[Markup, float]:
    fastest = max(row.total for row in all_rows)
    # An infinite upper end of an interval would leave no room for the bars.
    widest = max(min(row.rate.high * row.units, 10 * fastest) for row in all_rows)
    slowest = min(row.total for row in all_rows)
    low = max((mark for mark in MARKS[:-1] if mark <= slowest), default=MARKS[0])
    above = (mark for mark in MARKS if mark >= max(widest, fastest) and mark > low)
    high = min(above, default=MARKS[-1])

    def x_of(rate: float) -> float:
        share = math.log(max(rate, low) / low) / math.log(high / low)
        return BAR_LEFT + (BAR_RIGHT - BAR_LEFT) * min(1.0, share)

    parts: list[Markup] = []
    y = top + 24
    kind = None
    for row in all_rows:
        if row.kind != kind:
            kind = row.kind
            y += 12
            parts.append(
                text_at(MARGIN, y + 12, PLACES[row.kind], size=12, weight="600", fill=SOFT)
            )
            y += 22
        fit = fit_of(platform, row)
        doubt = ", does not fit" if fit is not None and not fit.fits else ""
        parts.append(_unit(row, y, x_of) if row.is_unit else _stage(row, y, x_of, doubt))
        y += UNIT_ROW if row.is_unit else ROW
    grid = _grid(low, high, top + 18, y, x_of)
    return join(grid, *parts), y + 8


def _grid(low: float, high: float, top: float, bottom: float, x_of: object) -> Markup:
    assert callable(x_of)
    lines: list[Markup] = []
    for mark in (mark for mark in MARKS if low <= mark <= high):
        x = x_of(mark)
        lines.append(element("line", x1=x, x2=x, y1=top, y2=bottom, stroke=GRID))
        lines.append(text_at(x, top - 6, _mark_text(mark), size=11, fill=SOFT, anchor="middle"))
    return join(*lines)


def _mark_text(mark: float) -> str:
    power = int(math.log2(mark) // 10)
    return f"{mark / 1024**power:.0f} {UNITS[power]}/s"


def _stage(row: Row, y: float, x_of: object, doubt: str) -> Markup:
    assert callable(x_of)
    colour = COLOURS[row.kind]
    end = x_of(row.total)
    low, high = x_of(row.rate.low * row.units), x_of(row.rate.high * row.units)
    middle = y + 10
    label = rate_text(row.total)
    if row.units > 1:
        label += f" ({row.units} x {rate_text(row.rate.value)})"
    if row.fixed.value:
        label += f", {seconds_text(row.fixed.value)} each"
    label += doubt
    whisker = join(
        element("line", x1=low, x2=high, y1=middle, y2=middle, stroke=INK, stroke_width=1.5),
        *(
            element("line", x1=x, x2=x, y1=middle - 4, y2=middle + 4, stroke=INK, stroke_width=1.5)
            for x in (low, high)
        ),
    )
    return join(
        text_at(MARGIN + 12, y + 14, row.name, size=14),
        element(
            "rect", x=BAR_LEFT, y=y, width=max(1.0, end - BAR_LEFT), height=20, rx=3, fill=colour
        ),
        whisker if high > low else None,
        text_at(max(end, high) + 8, y + 14, label, size=13),
        element("title", f"{row.name}: {label} {interval_text(row.rate)}"),
    )


def _unit(row: Row, y: float, x_of: object) -> Markup:
    assert callable(x_of)
    end = x_of(row.total)
    return join(
        text_at(MARGIN + 28, y + 11, row.name, size=12, fill=SOFT),
        element(
            "rect", x=BAR_LEFT, y=y + 2, width=max(1.0, end - BAR_LEFT), height=10, rx=2,
            fill=COLOURS[row.kind], opacity="0.55",
        ),
        text_at(end + 8, y + 11, rate_text(row.rate.value), size=12, fill=SOFT),
    )  # fmt: skip


def _texts(platform: Platform) -> list[tuple[str, list[str]]]:
    made: list[tuple[str, list[str]]] = []
    found = [
        f"{limit.what} in operations of {size_text(limit.operation_bytes)}: {limit.stage}, about "
        f"{rate_text(limit.bytes_per_second)}"
        for limit in limits(platform)
    ]
    if found:
        made.append(("What limits all ranks together", found))
    costs = [
        f"{name} {seconds_text(quantity.value)}"
        for name, quantity in platform.latencies_seconds.items()
    ]
    if costs:
        made.append(("What one operation costs", [", ".join(costs)]))
    made += [("Operations on names, per second", _metadata(target)) for target in platform.metadata]
    wiring = wiring_tree(platform)
    if wiring is not None:
        lines = _flat(wiring, 0) + io_group_texts(platform) + sources(platform)
        made.append((wiring.text.capitalize(), lines))
    made.append(("What is where", _flat(topology_tree(platform), 0)))
    return made


def _metadata(target: MetadataRates) -> list[str]:
    """Returns one line for each number of clients, and one for the device."""
    ways = {
        "one client": "one_client",
        f"{target.clients} clients": "all_clients",
        f"{target.clients} clients in one directory": "one_directory",
    }
    lines = [f"{target.directory}:"] if target.directory else []
    for way, field in ways.items():
        rates = {name: getattr(one, field) for name, one in target.operations.items()}
        told = [f"{name} {significant(rate.value)}" for name, rate in rates.items() if rate]
        if told:
            lines.append(f"{way}: {', '.join(told)}")
    return lines + device_texts(target)


def _wrapped(line: str) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(line, MOST_CHARACTERS, subsequent_indent=indent, drop_whitespace=True)


def _flat(branch: Branch, depth: int) -> list[str]:
    lines = [] if depth == 0 else ["\u2003" * (depth - 1) + branch.text]
    for child in branch.children:
        lines += _flat(child, depth + 1)
    return lines
