"""Draws EAAR beside the synchronous rate and its NBIN multiple.

EAAR (effective aggregate asynchronous rate; Borrill et al., section 5) is the data moved over the
foreground I/O time. With enough computation, all transfers of a function except the first read and
the last write can be hidden, so the ceiling is the synchronous rate times the number of bins
(NBIN). The synchronous rate is formed in the same way, over the time in which the slowest rank was
blocked in I/O.
"""

from __future__ import annotations

import re

from weir.report.chart import HALF_WIDTH, LinearScale, bar, drawing, figure, line, table, text
from weir.report.markup import Markup, element, join
from weir.report.quantities import rate, rate_text
from weir.report.sources import Source, directions, headline_rate
from weir.report.wording import METRIC_NAME
from weir.results.expectations import Direction, Metric
from weir.results.schema import EffectiveRate, Run

LEFT, RIGHT, TOP = 88.0, 88.0, 18.0
ROW, GROUP_GAP = 22.0, 26.0


def number_of_bins(run: Run) -> int | None:
    """Returns the run's NBIN, else the parameter in any spelling (no_bin, NO_BIN, bins)."""
    if run.effective:
        return run.effective[0].bins
    for name, setting in run.parameters.items():
        if re.sub(r"[^a-z]", "", name.lower()) in {"nobin", "nbin", "bins"}:
            return int(setting.value)
    return None


def median_rate(run: Run, direction: Direction, metric: Metric) -> float | None:
    """Returns bytes per second, or None if the run has no such rate."""
    for candidate in run.rates:
        if (candidate.direction, candidate.metric) == (direction, metric):
            return candidate.median
    return None


def bounds_of(source: Source) -> list[EffectiveRate]:
    """Returns EAAR, the synchronous rate and its NBIN multiple, by direction.

    ``run.json`` has them for runs of one job. If it has no synchronous rate, that of the
    synchronous sibling beside the run is used, which may belong to another job.
    """
    stated = {entry.direction: entry for entry in source.run.effective}
    found = []
    for direction in directions(source.run):
        entry = stated.get(direction)
        if entry is None or entry.synchronous_bytes_per_second is None:
            entry = _beside_sibling(source, direction)
        found += [entry] if entry is not None else []
    return found


def _beside_sibling(source: Source, direction: Direction) -> EffectiveRate | None:
    effective = median_rate(source.run, direction, "foreground")
    if effective is None:
        return None
    bins, sibling = number_of_bins(source.run), source.synchronous_sibling
    synchronous = median_rate(sibling, direction, "foreground") if sibling is not None else None
    ceiling = synchronous * bins if synchronous is not None and bins is not None else None
    return EffectiveRate(
        direction=direction,
        eaar_bytes_per_second=effective,
        synchronous_bytes_per_second=synchronous,
        synchronous_run_id=None,
        bins=bins or 0,
        nbin_multiple_bytes_per_second=ceiling,
    )


def _rows(bound: EffectiveRate, bins: int | None) -> list[tuple[str, float, str]]:
    """Returns name, rate and style of each bar of one direction."""
    rows = [("EAAR", bound.eaar_bytes_per_second, "")]
    if bound.synchronous_bytes_per_second is not None:
        rows.append(("synchronous", bound.synchronous_bytes_per_second, " soft"))
    if bound.nbin_multiple_bytes_per_second is not None:
        rows.append((f"\u00d7 {bins} (NBIN)", bound.nbin_multiple_bytes_per_second, " outline"))
    return rows


def render(source: Source) -> Markup | None:
    """Draws each direction on its own scale: rates from memory would dwarf those of storage."""
    bounds = bounds_of(source)
    if not bounds:
        return None
    bins = number_of_bins(source.run)
    parts: list[Markup] = []
    said: list[str] = []
    y = TOP
    for bound in bounds:
        rows = _rows(bound, bins)
        scale = LinearScale(0, max(value for _, value, _ in rows), LEFT, HALF_WIDTH - RIGHT)
        parts.append(text(LEFT, y - 5, bound.direction, class_="tick"))
        for place, (name, value, style) in enumerate(rows):
            top = y + place * ROW
            tip = f"{bound.direction}, {name}: {rate_text(value)}"
            said.append(tip)
            width = scale(value) - LEFT
            css = f"{bound.direction}{style}"
            parts += [
                text(LEFT - 8, top + 15, name, class_="label", anchor="end"),
                bar(LEFT, top + 3, width, ROW - 6, css, tip=tip, value=value),
                text(HALF_WIDTH - RIGHT + 8, top + 15, rate_text(value), class_="label"),
            ]
        bottom = y + len(rows) * ROW
        parts.append(line(LEFT, y, LEFT, bottom, "axis"))
        y = bottom + GROUP_GAP
    image = drawing(HALF_WIDTH, y - GROUP_GAP + 6, "; ".join(said), parts)
    return figure(
        "eaar", _caption(source, bounds), image, table=_table(source, bounds), width=HALF_WIDTH
    )


def _caption(source: Source, bounds: list[EffectiveRate]) -> Markup:
    title = element("strong", "Effective rate (EAAR)")
    if all(bound.synchronous_bytes_per_second is None for bound in bounds):
        return join(
            title,
            " \u2013 no synchronous run with the same parameters lies beside this one to compare "
            "with.",
        )
    sibling = source.synchronous_sibling
    ids = [entry.synchronous_run_id for entry in source.run.effective if entry.synchronous_run_id]
    name = sibling.label if sibling is not None else next(iter(ids), "")
    return join(
        title,
        " \u2013 beside the synchronous run ",
        element("bdi", name),
        " and its NBIN multiple, the most that hiding can give. All over the time the slowest "
        "rank was blocked in I/O.",
    )


def _table(source: Source, bounds: list[EffectiveRate]) -> Markup:
    bins = number_of_bins(source.run)
    body = [
        [f"{bound.direction}: {name}", rate(value)]
        for bound in bounds
        for name, value, _ in _rows(bound, bins)
    ]
    sibling = source.synchronous_sibling
    for bound in bounds:
        headline = headline_rate(sibling, bound.direction) if sibling is not None else None
        if headline is not None:
            name = f"{bound.direction}: synchronous, {METRIC_NAME[headline.metric]}"
            body.append([name, rate(headline.median)])
    return table(["", "rate"], body, caption="EAAR and its bounds")
