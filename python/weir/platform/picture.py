"""Draws a platform description as one picture: the path from the ranks to the targets.

The page is self-contained: SVG without scripts or fonts of its own. The places of a byte's path go
from top to bottom (``weir.report.path_chart``, as in a run's report). Each stage is a bar with the
rate of all units, a mark for each unit that differs, and its interval. Below are the limits, the
costs of single operations, and the topology.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from weir.platform.drawing import interval_text
from weir.platform.summary import Row, device_texts, fit_of, limits, rows
from weir.platform.topology import Branch, topology_tree
from weir.platform.wiring import io_group_texts, sources, wiring_tree
from weir.report.markup import Markup, join
from weir.report.path_chart import Columns, StageBar, path_chart
from weir.report.picture_file import SOFT, draw, text_at, write_picture_file
from weir.results.metadata_rates import MetadataRates
from weir.results.platform import Platform
from weir.results.quantities import rate_text, seconds_text, significant, size_text
from weir.results.record import Quantity

WIDTH = 1080
MARGIN = 36
COLUMNS = Columns(MARGIN, MARGIN + 250, WIDTH - MARGIN - 250)
LINE = 20
MOST_CHARACTERS = 140
"""Characters per line of text in the picture at most."""


def write_picture(path: Path, platform: Platform) -> Path:
    """Writes the picture: as SVG, or as HTML containing it, according to the file's suffix."""
    return write_picture_file(path, f"Platform {platform.name}", draw_picture(platform))


def draw_picture(platform: Platform) -> Markup:
    """Returns the whole picture as one ``svg`` element."""
    parts: list[Markup] = [_heading(platform)]
    y = 108.0
    all_rows = [row for row in rows(platform) if row.total > 0]
    if all_rows:
        chart = path_chart([_bar(platform, row) for row in all_rows], COLUMNS, y)
        parts.append(chart.drawn)
        y = chart.bottom + 8
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


def _bar(platform: Platform, row: Row) -> StageBar:
    """Returns a stage with the rate of all its units, or a unit by itself."""
    label = rate_text(row.total)
    if not row.is_unit:
        if row.units > 1:
            label += f" ({row.units} x {rate_text(row.rate.value)})"
        if row.fixed.value:
            label += f", {seconds_text(row.fixed.value)} each"
        fit = fit_of(platform, row)
        label += ", does not fit" if fit is not None and not fit.fits else ""
    return StageBar(
        name=row.name,
        kind=row.kind,
        total=Quantity(
            value=row.total, low=row.rate.low * row.units, high=row.rate.high * row.units
        ),
        label=label,
        said=f"{row.name}: {label} {interval_text(row.rate)}",
        is_unit=row.is_unit,
    )


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
