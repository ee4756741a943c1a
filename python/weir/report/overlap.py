"""What an asynchronous run hid: foreground against transfer time, and EAAR in its bounds.

EAAR (effective aggregate asynchronous rate; Borrill et al., section 5) is the data moved over the
foreground I/O time. With enough computation all but the first read and the last write of a
function can be hidden, so the ceiling is the synchronous rate times the number of bins (NBIN).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import median

from weir.report.chart import (
    HALF_WIDTH,
    Legend,
    LinearScale,
    bar,
    bottom_axis,
    drawing,
    figure,
    table,
    text,
)
from weir.report.markup import Markup, element, join
from weir.report.quantities import percent_text, rate, rate_text, rate_unit, seconds, time_unit
from weir.report.sources import Source, directions, is_asynchronous, measured
from weir.results.schema import Direction, Metric, Run

LEFT, RIGHT, TOP = 76.0, 96.0, 6.0
ROW = 26.0


@dataclass(frozen=True)
class Hidden:
    """Seconds of one phase, mean over ranks, median over measured repetitions."""

    function: str
    direction: Direction
    transfer_seconds: float
    foreground_seconds: float

    @property
    def hidden_seconds(self) -> float:
        return max(0.0, self.transfer_seconds - self.foreground_seconds)

    @property
    def hidden_fraction(self) -> float:
        return self.hidden_seconds / self.transfer_seconds if self.transfer_seconds > 0 else 0.0


@dataclass(frozen=True)
class Bounds:
    """Rates of one direction, bytes per second; what is not known is ``None``."""

    direction: Direction
    effective: float
    synchronous: float | None
    ceiling: float | None


def number_of_bins(run: Run) -> int | None:
    """NBIN, by whichever spelling the parameter has (no_bin, NO_BIN, bins)."""
    for name, setting in run.parameters.items():
        if re.sub(r"[^a-z]", "", name.lower()) in {"nobin", "nbin", "bins"}:
            return int(setting.value)
    return None


def median_rate(run: Run, direction: Direction, metric: Metric) -> float | None:
    for candidate in run.rates:
        if (candidate.direction, candidate.metric) == (direction, metric):
            return candidate.median_bytes_per_second
    return None


def hidden_phases(run: Run) -> list[Hidden]:
    collected: dict[tuple[str, Direction], list[tuple[float, float]]] = {}
    for repetition in measured(run):
        for phase in repetition.phases:
            times = (phase.io_seconds.mean, phase.foreground_seconds.mean)
            collected.setdefault((phase.function, phase.direction), []).append(times)
    return [
        Hidden(
            function,
            direction,
            median([transfer for transfer, _ in times]),
            median([foreground for _, foreground in times]),
        )
        for (function, direction), times in collected.items()
    ]


def bounds_of(source: Source) -> list[Bounds]:
    """EAAR beside the synchronous sibling's rate and its NBIN multiple."""
    bins = number_of_bins(source.run)
    found = []
    for direction in directions(source.run):
        effective = median_rate(source.run, direction, "foreground")
        if effective is None:
            continue
        sibling = source.synchronous_sibling
        synchronous = None
        if sibling is not None:
            synchronous = median_rate(sibling, direction, "foreground")
        ceiling = synchronous * bins if synchronous is not None and bins is not None else None
        found.append(Bounds(direction, effective, synchronous, ceiling))
    return found


def render(source: Source) -> Markup | None:
    """Only for asynchronous runs with measured repetitions."""
    phases = hidden_phases(source.run)
    if not is_asynchronous(source.run) or not phases:
        return None
    bounds = bounds_of(source)
    return join(
        element("p", _summary(phases)),
        element("div", _times(phases), _rates(source, bounds) if bounds else None, class_="pair"),
    )


def _summary(phases: list[Hidden]) -> str:
    transfer = sum(phase.transfer_seconds for phase in phases)
    hidden = sum(phase.hidden_seconds for phase in phases)
    share = percent_text(hidden / transfer) if transfer > 0 else "none"
    return f"{share} of the transfer time of a rank ran behind its computation."


def _times(phases: list[Hidden]) -> Markup:
    longest = max(phase.transfer_seconds for phase in phases) or 1.0
    unit = time_unit(longest)
    scale = LinearScale(0, longest * 1.02, LEFT, HALF_WIDTH - RIGHT)
    parts: list[Markup] = []
    for place, phase in enumerate(phases):
        y = TOP + place * ROW
        name = f"{phase.function} {phase.direction}"
        blocked, hidden = phase.foreground_seconds, phase.hidden_seconds
        parts += [
            text(LEFT - 8, y + 17, name, class_="label", anchor="end"),
            bar(
                LEFT,
                y + 4,
                scale(blocked) - LEFT,
                ROW - 8,
                "blocked",
                tip=f"{name}: blocked for {unit.text(blocked)}",
                value=blocked,
            ),
            bar(
                scale(blocked),
                y + 4,
                scale(blocked + hidden) - scale(blocked),
                ROW - 8,
                f"{phase.direction} soft",
                tip=f"{name}: hidden {unit.text(hidden)}",
                value=hidden,
            ),
            text(
                HALF_WIDTH - RIGHT + 8,
                y + 17,
                f"{percent_text(phase.hidden_fraction)} hidden",
                class_="label",
            ),
        ]
    bottom = TOP + len(phases) * ROW + 2
    labels = scale.ticks_in(unit, 4)
    image = drawing(
        HALF_WIDTH,
        bottom + 38,
        "Hidden share of transfer time: "
        + ", ".join(
            f"{p.function} {p.direction} {percent_text(p.hidden_fraction)}" for p in phases
        ),
        bottom_axis(scale, bottom, labels, f"{unit.name} per rank and repetition", top=TOP),
        parts,
    )
    body = [
        [
            f"{p.function} {p.direction}",
            seconds(p.transfer_seconds),
            seconds(p.foreground_seconds),
            percent_text(p.hidden_fraction),
        ]
        for p in phases
    ]
    head = ["Phase", "transfer time", "foreground time", "hidden"]
    caption = join(
        element("strong", "Transfer time, hidden and not"),
        " \u2013 mean over ranks, median of the repetitions.",
    )
    kinds: list[tuple[str, str]] = [("blocked", "blocked in I/O (foreground)")]
    present = dict.fromkeys(phase.direction for phase in phases)
    kinds += [(f"{direction} soft", f"{direction}, hidden") for direction in present]
    return figure(
        "overlap",
        caption,
        image,
        legend=Legend(kinds),
        width=HALF_WIDTH,
        table=table(head, body, caption="Transfer and foreground time by phase"),
    )


def _rates(source: Source, bounds: list[Bounds]) -> Markup:
    bins = number_of_bins(source.run)
    sibling = source.synchronous_sibling
    rows: list[tuple[str, Direction, float, str]] = []
    for bound in bounds:
        rows.append((f"{bound.direction}: EAAR", bound.direction, bound.effective, ""))
        if bound.synchronous is not None:
            rows.append(("synchronous", bound.direction, bound.synchronous, " soft"))
        if bound.ceiling is not None:
            rows.append((f"\u00d7 {bins} (NBIN)", bound.direction, bound.ceiling, " outline"))
    largest = max(value for _, _, value, _ in rows)
    unit = rate_unit(largest)
    left = LEFT + 12
    scale = LinearScale(0, largest * 1.02, left, HALF_WIDTH - RIGHT)
    parts: list[Markup] = []
    for place, (name, direction, value, style) in enumerate(rows):
        y = TOP + place * ROW
        parts += [
            text(left - 8, y + 17, name, class_="label", anchor="end"),
            bar(
                left,
                y + 4,
                scale(value) - left,
                ROW - 8,
                f"{direction}{style}",
                tip=f"{direction}, {name}: {rate_text(value)}",
                value=value,
            ),
            text(HALF_WIDTH - RIGHT + 8, y + 17, unit.text(value), class_="label"),
        ]
    bottom = TOP + len(rows) * ROW + 2
    labels = scale.ticks_in(unit, 4)
    image = drawing(
        HALF_WIDTH,
        bottom + 38,
        "; ".join(f"{direction} {name}: {rate_text(value)}" for name, direction, value, _ in rows),
        bottom_axis(scale, bottom, labels, unit.name, top=TOP),
        parts,
    )
    if sibling is None:
        beside = "No synchronous run with the same parameters lies beside this one to compare with."
    else:
        beside = join(
            "beside the synchronous run ",
            element("bdi", sibling.label),
            " and its NBIN multiple, the most that hiding can give.",
        )
    caption = join(element("strong", "Effective rate (EAAR)"), " \u2013 ", beside)
    body = [[f"{direction} {name}", rate(value)] for name, direction, value, _ in rows]
    return figure(
        "eaar",
        caption,
        image,
        width=HALF_WIDTH,
        table=table(["", "rate"], body, caption="EAAR and its bounds"),
    )
