"""Shows how much an asynchronous run hid: foreground time against transfer time."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from weir.report import eaar
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
from weir.report.quantities import percent_text, seconds, time_unit
from weir.report.sources import Source, is_asynchronous, measured
from weir.results.expectations import Direction
from weir.results.schema import Run

LEFT, RIGHT, TOP = 76.0, 96.0, 6.0
ROW = 26.0


@dataclass(frozen=True)
class Hidden:
    """Seconds of one phase: means over ranks, medians over measured repetitions."""

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


def render(source: Source) -> Markup | None:
    """Renders asynchronous runs with measured repetitions only."""
    phases = hidden_phases(source.run)
    if not is_asynchronous(source.run) or not phases:
        return None
    return join(
        element("p", _summary(phases)),
        element("div", _times(phases), eaar.render(source), class_="pair"),
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
