"""Costs of the workload array: share of the peak, load of aggregators, bytes moved, times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from weir.report.chart import (
    FULL_WIDTH,
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
from weir.report.quantities import (
    NO_VALUE,
    Unit,
    percent_text,
    plural,
    rate,
    seconds,
    significant,
    size,
    time_unit,
)
from weir.report.sources import Source, directions, headline_rate, measured
from weir.report.wording import DIRECTION_NOUN
from weir.results.expectations import Direction
from weir.results.record import Spread
from weir.results.schema import ArrayCosts, Phase, Run

LEFT, RIGHT, TOP = 58.0, 20.0, 6.0
ROW = 30.0
PEAK = "contiguous"
"""Label of the run with which the others are compared."""
UNEVEN = 1.1
"""The busiest rank's load counts as uneven from this multiple of the mean on."""

KINDS = (
    ("planning", "blocked"),
    ("gathering", "remap"),
    ("storage", "read"),
    ("waiting", "compute"),
    ("the rest", "sync"),
)
"""Kinds of a rank's time, in the order of the bar, with the mark of each."""


@dataclass(frozen=True)
class Cost:
    """Costs of one direction; medians over the measured repetitions."""

    direction: Direction
    share_of_peak: float | None
    peak_bytes_per_second: float | None
    moved_per_byte: float | None
    moved_bytes: float | None
    movers: int | None
    aggregators: int | None
    balance: float | None
    transfer_seconds: float  # Mean over ranks.
    kind_seconds: tuple[float, ...]  # Planning, gathering, storage, waiting; or empty.
    slowest_seconds: tuple[float, ...]

    @property
    def parts(self) -> list[float]:
        """Seconds of each of ``KINDS``; the last is the rest of the transfer."""
        return [*self.kind_seconds, max(0.0, self.transfer_seconds - sum(self.kind_seconds))]


def costs_of(run: Run) -> list[Cost]:
    """Returns the costs; none for other workloads and without a measured repetition."""
    found = []
    for direction in directions(run):
        phases = [
            phase
            for repetition in measured(run)
            for phase in repetition.phases
            if phase.direction == direction and phase.array is not None
        ]
        if phases:
            found.append(_cost(run, direction, phases))
    return found


def _cost(run: Run, direction: Direction, phases: Sequence[Phase]) -> Cost:
    costs = [phase.array for phase in phases if phase.array is not None]
    peaks = [] if run.label == PEAK else run.peaks
    peak = next((share for share in peaks if share.direction == direction), None)
    spreads = [kinds for cost in costs if (kinds := _spreads(cost))]
    last = costs[-1]
    moved = [
        float(cost.bytes_written + cost.bytes_read)
        for cost in costs
        if cost.bytes_written is not None and cost.bytes_read is not None
    ]
    return Cost(
        direction=direction,
        share_of_peak=None if peak is None else peak.fraction,
        peak_bytes_per_second=None if peak is None else peak.peak_bytes_per_second,
        moved_per_byte=_median([c.moved_per_byte for c in costs if c.moved_per_byte is not None]),
        moved_bytes=_median(moved),
        movers=last.movers,
        aggregators=last.aggregators,
        balance=_median([c.balance for c in costs if c.balance is not None]),
        transfer_seconds=median([phase.io_seconds.mean for phase in phases]),
        kind_seconds=tuple(median([s.mean for s in kind]) for kind in zip(*spreads, strict=True)),
        slowest_seconds=tuple(median([s.max for s in kind]) for kind in zip(*spreads, strict=True)),
    )


def _spreads(cost: ArrayCosts) -> list[Spread]:
    """Returns planning, gathering, storage and waiting; none if the interface lacks them."""
    found = [
        cost.planning_seconds,
        cost.gathering_seconds,
        cost.storage_seconds,
        cost.waiting_seconds,
    ]
    known = [spread for spread in found if spread is not None]
    return known if len(known) == len(found) else []


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def render(source: Source) -> Markup | None:
    """Renders the costs, only for runs of the workload array with measured repetitions."""
    costs = costs_of(source.run)
    if not costs:
        return None
    timed = [cost for cost in costs if cost.kind_seconds]
    return join(
        [element("p", _sentence(cost)) for cost in costs],
        _table(source.run, costs),
        _times(timed) if timed else None,
    )


def _sentence(cost: Cost) -> str:
    noun = DIRECTION_NOUN[cost.direction]
    said = []
    if cost.share_of_peak is not None:
        said.append(f"reached {percent_text(cost.share_of_peak)} of the peak")
    if cost.moved_per_byte is not None:
        said.append(f"moved {_ratio(cost.moved_per_byte)} bytes for each requested byte")
    if not said:
        return f"{noun}: the kernel did not report the bytes that were moved."
    sentence = f"{noun} {' and '.join(said)}."
    if cost.balance is None or cost.movers is None:
        return sentence
    who = "aggregators" if _has_aggregators(cost) else "ranks that moved data"
    number = max(cost.movers, cost.aggregators or 0)
    if number == 1:
        return f"{sentence} One rank moved everything."
    load = f"{_ratio(cost.balance)} times the mean of {number} {who}"
    judged = "unevenly" if cost.balance >= UNEVEN else "evenly"
    return f"{sentence} The load was spread {judged}: the busiest had {load}."


def _has_aggregators(cost: Cost) -> bool:
    return cost.aggregators is not None and cost.aggregators >= (cost.movers or 0)


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10 else significant(value)


def _table(run: Run, costs: list[Cost]) -> Markup:
    def cell(value: float | None) -> str:
        return NO_VALUE if value is None else _ratio(value)

    def peak(cost: Cost) -> Markup:
        return rate(cost.peak_bytes_per_second)

    def reached(cost: Cost) -> Markup:
        headline = headline_rate(run, cost.direction)
        return rate(None if headline is None else headline.median)

    def share(cost: Cost) -> str:
        return NO_VALUE if cost.share_of_peak is None else percent_text(cost.share_of_peak)

    def who(cost: Cost) -> str:
        if cost.movers is None:
            return NO_VALUE
        if _has_aggregators(cost):
            return f"{cost.movers} of {plural(cost.aggregators or 0, 'aggregator')}"
        return plural(cost.movers, "rank")

    def moved(cost: Cost) -> Markup | str:
        return NO_VALUE if cost.moved_bytes is None else size(round(cost.moved_bytes))

    head = [
        "",
        "rate",
        "peak",
        "share of the peak",
        "moved data",
        "busiest over mean",
        "bytes moved",
        "per requested byte",
    ]
    rows = [
        [
            cost.direction,
            reached(cost),
            peak(cost),
            share(cost),
            who(cost),
            cell(cost.balance),
            moved(cost),
            cell(cost.moved_per_byte),
        ]
        for cost in costs
    ]
    return element(
        "div",
        table(head, rows, caption="What the array cost"),
        element(
            "p",
            "Medians of the measured repetitions. The peak is that of as many bytes in one piece "
            "per rank, measured in turn; the share of it is taken round by round. Bytes are what "
            "read and write calls moved, from opening to closing, as the kernel counts them.",
            class_="note",
        ),
    )


def _times(costs: list[Cost]) -> Markup:
    longest = max(sum(cost.parts) for cost in costs) or 1.0
    unit = time_unit(longest)
    scale = LinearScale(0, longest * 1.02, LEFT, FULL_WIDTH - RIGHT)
    parts: list[Markup] = []
    for place, cost in enumerate(costs):
        y = TOP + place * ROW
        parts.append(text(LEFT - 8, y + 19, cost.direction, class_="label", anchor="end"))
        parts += _bars(cost, y, scale, unit)
    bottom = TOP + len(costs) * ROW + 2
    described = "; ".join(
        f"{cost.direction}: "
        + ", ".join(
            f"{name} {unit.text(value)}" for (name, _), value in zip(KINDS, cost.parts, strict=True)
        )
        for cost in costs
    )
    image = drawing(
        FULL_WIDTH,
        bottom + 38,
        f"Time of a rank by kind. {described}",
        bottom_axis(
            scale, bottom, scale.ticks_in(unit, 4), f"{unit.name} per rank and repetition", top=TOP
        ),
        parts,
    )
    caption = join(
        element("strong", "Where a rank\u2019s time went"),
        " \u2013 mean over ranks, median of the repetitions. Storage is time in calls that read "
        "and write files, waiting is for other ranks, and the rest is making data durable and "
        "what is not timed by itself.",
    )
    return figure(
        "array-times",
        caption,
        image,
        legend=Legend([(mark, name) for name, mark in KINDS]),
        width=FULL_WIDTH,
        table=_times_table(costs),
    )


def _bars(cost: Cost, y: float, scale: LinearScale, unit: Unit) -> list[Markup]:
    bars = []
    begin = 0.0
    for (name, mark), value in zip(KINDS, cost.parts, strict=True):
        end = begin + value
        tip = f"{cost.direction}, {name}: {unit.text(value)}"
        width = scale(end) - scale(begin)
        bars.append(bar(scale(begin), y + 5, width, ROW - 10, mark, tip=tip, value=value))
        begin = end
    return bars


def _times_table(costs: list[Cost]) -> Markup:
    rows = []
    for cost in costs:
        slowest = [*cost.slowest_seconds, None]
        for (name, _), value, most in zip(KINDS, cost.parts, slowest, strict=True):
            shown = NO_VALUE if most is None else seconds(most)
            rows.append([f"{cost.direction}, {name}", seconds(value), shown])
    return table(
        ["Kind", "mean over ranks", "longest of a rank"], rows, caption="Times of a rank by kind"
    )
