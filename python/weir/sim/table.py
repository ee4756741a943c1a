"""Shows simulations at the terminal: one with its parts, or a table of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from weir.bench.tables import plain_table
from weir.platform.drawing import bar
from weir.results.campaign import Value
from weir.results.platform import Platform
from weir.results.quantities import (
    percent_text,
    rate_text,
    seconds_text,
    size_text,
)
from weir.sim.job import Asked, level_text
from weir.sim.program import Outcome, PartLoad

ENOUGH = 0.95
"""Share of the best rate from which on more of the swept units is not worth much."""
HALF = 0.5
"""If the busiest part is busy for less than this share of the time, no part is the limit."""
EMPTY, FULL = 0.01, 1.0
LEVEL_TEXT = {"plan": "simulated", "library": "library simulated"}
BAR_CELLS = 16
FAR_ENDS = "not simulated: links of nodes that are not clients, which messages pass as well"
NOT_SIMULATED = {
    "array": "not simulated: copies in memory; opening, closing and removing files; caches; MPI-IO",
    "sink": "not simulated: copies in memory, and so the capacities of source and receivers; the "
    "check of every byte; MPI-IO; stagers of a node",
}


@dataclass(frozen=True)
class Simulated:
    """One simulation with the levels of the swept fields that it has."""

    levels: dict[str, Value]
    asked: Asked
    outcome: Outcome
    without_slow: Outcome | None = None
    """The outcome of the simulation without its slow units; None: it has no slow units."""
    plan: Outcome | None = None
    """Of a workload of weir-bench: the outcome of its plan."""

    @property
    def cost_seconds(self) -> float:
        """Returns how much longer it takes because of its slow units."""
        return self.outcome.seconds - (self.without_slow or self.outcome).seconds

    @property
    def limit(self) -> str:
        return limit_text(self.outcome)


def limit_text(outcome: Outcome) -> str:
    """Returns the name of the limit, or why there is none."""
    if outcome.limit.busy_share < HALF:
        return f"none: one waits for the other ({outcome.limit.name} is the busiest)"
    return outcome.limit.name


def show_one(console: Console, platform: Platform, one: Simulated) -> None:
    """Prints one simulation: rate, counts, parts with bars, times of a client."""
    asked, outcome = one.asked, one.outcome
    console.print(
        f"{LEVEL_TEXT[asked.level]} on {platform.name}: {asked.ranks} ranks, {asked.strategy}, "
        f"{'read' if asked.read else 'write'} of {size_text(outcome.bytes)}",
        highlight=False,
        markup=False,
    )
    if outcome.why:
        console.print(outcome.why, highlight=False, markup=False)
    console.print(
        f"[bold]{rate_text(outcome.bytes_per_second)}[/bold] in {seconds_text(outcome.seconds)}; "
        f"limit: [bold]{escape(one.limit)}[/bold], busy "
        f"{percent_text(outcome.limit.busy_share)} of the time",
        highlight=False,
    )
    if one.without_slow is not None:
        console.print(slow_text(one), highlight=False, markup=False)
    console.print(_counts(outcome), highlight=False, markup=False)
    if outcome.messages and not outcome.links_of_senders:
        console.print(FAR_ENDS, highlight=False, markup=False)
    console.print()
    console.print(_parts(outcome))
    for line in slow_units(outcome):
        console.print(line, highlight=False, markup=False)
    times = outcome.client_seconds
    console.print(
        f"a client waits {seconds_text(times.messages)} for messages and "
        f"{seconds_text(times.turn)} for its turn, and its operations take "
        f"{seconds_text(times.operations)}",
        highlight=False,
        markup=False,
    )


def show_several(console: Console, several: Sequence[Simulated]) -> None:
    """Prints a row for each simulation, and from which level on little is gained."""
    names = list(several[0].levels)
    slow = any(one.without_slow is not None for one in several)
    columns = ("limit", ">busy", *((">slow costs", ">of the time") if slow else ()))
    table = plain_table(*(f">{name}" for name in names), ">rate", ">time", *columns)
    for one in several:
        table.add_row(
            *(level_text(name, value) for name, value in one.levels.items()),
            rate_text(one.outcome.bytes_per_second),
            seconds_text(one.outcome.seconds),
            escape(one.limit),
            percent_text(one.outcome.limit.busy_share),
            *(
                (
                    seconds_text(one.cost_seconds),
                    percent_text(one.cost_seconds / one.outcome.seconds),
                )
                if slow
                else ()
            ),
        )
    console.print(table)
    told = enough_text(several)
    if told:
        console.print(told, highlight=False, markup=False)


def show_bench(console: Console, platform: Platform, several: Sequence[Simulated]) -> None:
    """Prints what a workload of weir-bench reaches as simulated ranks, beside its plan."""
    first = several[0].asked
    is_sink = first.workload == "sink"
    what = (
        f"messages of each in a row: {first.steps}"
        if is_sink
        else f"{'read' if first.read else 'write'} of {first.shape} {first.type}, repetitions: "
        f"{first.steps}"
    )
    console.print(
        f"weir-bench {first.workload} simulated on {platform.name}: {first.ranks} ranks, {what}",
        highlight=False,
        markup=False,
    )
    names = list(several[0].levels)
    routes = [] if "strategy" in names else ["route"]
    table = plain_table(
        *routes, *(f">{name}" for name in names),
        ">weir-bench", f">a {'message' if is_sink else 'repetition'}",
        ">plan", ">difference", "limit", ">busy", "bytes",
    )  # fmt: skip
    for one in several:
        plan = one.plan or one.outcome
        table.add_row(
            *([one.asked.strategy] if routes else []),
            *(level_text(name, value) for name, value in one.levels.items()),
            rate_text(one.outcome.bytes_per_second),
            seconds_text(one.outcome.seconds / one.asked.steps),
            rate_text(plan.bytes_per_second),
            f"{100 * (one.outcome.bytes_per_second / plan.bytes_per_second - 1):+.1f} %",
            escape(one.limit),
            percent_text(one.outcome.limit.busy_share),
            checked_text(one.outcome),
        )
    console.print(table)
    console.print(NOT_SIMULATED[first.workload], highlight=False, markup=False)


def checked_text(outcome: Outcome) -> str:
    """Returns how the workload has checked the bytes that it moved."""
    if outcome.bytes_compared is not None:
        is_all = outcome.bytes_compared == outcome.bytes
        return "all compared" if is_all else f"{size_text(outcome.bytes_compared)} compared"
    return "all counted" if outcome.accounted else "not counted"


def slow_text(one: Simulated) -> str:
    """Returns what slow units cost."""
    without = one.without_slow or one.outcome
    names = ", ".join(slow.text for slow in one.asked.slow)
    factor = one.outcome.seconds / without.seconds if without.seconds else 1.0
    return (
        f"{names} costs {seconds_text(one.cost_seconds)}: {factor:.2f} times as long as without "
        f"({rate_text(without.bytes_per_second)} in {seconds_text(without.seconds)})"
    )


def slow_units(outcome: Outcome) -> list[str]:
    """Returns what each slow unit of each part did."""
    return [
        f"{part.name}, unit {unit.name} at {percent_text(unit.speed)} of its speed: "
        f"{size_text(unit.bytes)}, busy {percent_text(unit.busy_seconds / outcome.seconds)} of the "
        "time"
        for part in outcome.parts
        for unit in part.units
        if unit.speed < 1
    ]


def enough_text(several: Sequence[Simulated]) -> str:
    """Returns from which level of the only swept number on more of it brings little; or ""."""
    names = list(several[0].levels)
    if len(names) != 1 or not all(isinstance(one.levels[names[0]], int) for one in several):
        return ""
    ordered = sorted(several, key=lambda one: int(one.levels[names[0]]))
    best = max(one.outcome.bytes_per_second for one in ordered)
    first = next(one for one in ordered if one.outcome.bytes_per_second >= ENOUGH * best)
    level = level_text(names[0], first.levels[names[0]])
    if first is ordered[-1] and len(ordered) > 1:
        before = ordered[-2]
        more = first.outcome.bytes_per_second / before.outcome.bytes_per_second - 1
        return (
            f"{names[0]} {level}, the last level, brings {percent_text(more)} more than "
            f"{level_text(names[0], before.levels[names[0]])}: try more; limit: {first.limit}"
        )
    share = percent_text(first.outcome.bytes_per_second / best)
    return (
        f"{names[0]} {level} is the first level with {share} of the best rate; limit: {first.limit}"
    )


def _counts(outcome: Outcome) -> str:
    holes = outcome.bytes_moved - outcome.bytes
    return (
        f"{outcome.clients} clients, {outcome.operations:.0f} "
        f"operations of {size_text(outcome.bytes_moved / max(1.0, outcome.operations))} "
        f"{f'({size_text(holes)} between rows) ' if holes else ''}in "
        f"{outcome.calls:.0f} calls; {outcome.messages:.0f} messages, "
        f"{size_text(outcome.message_bytes)}"
    )


def _part_name(part: PartLoad) -> str:
    """Returns a part's name; of links between switches also that of the busiest."""
    return part.name if part.busiest.isdecimal() else f"{part.name}: {part.busiest}"


def _parts(outcome: Outcome) -> Table:
    table = plain_table("part", ">units used", ">bytes", ">busiest unit", ">busy", "")
    for part in outcome.parts:
        if not part.units_used:
            continue
        table.add_row(
            escape(_part_name(part)),
            str(part.units_used),
            size_text(part.bytes) if part.bytes else "",
            size_text(part.most_bytes_of_a_unit) if part.most_bytes_of_a_unit else "",
            percent_text(part.busy_share),
            bar(part.busy_share, EMPTY, FULL, BAR_CELLS),
        )
    return table
