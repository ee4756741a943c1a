"""Displays a campaign: the design, the estimate, progress, and the table at the end."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.markup import escape

from weir.bench.progress import State
from weir.bench.tables import plain_table
from weir.campaign.arguments import name_of
from weir.campaign.execution import Step
from weir.campaign.setup import Setup
from weir.results.campaign import Campaign, CampaignFactor
from weir.results.quantities import size_text

MOST_LEVELS_SHOWN = 12


def duration_text(seconds: float) -> str:
    """Formats a time for planning: ``40 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def show_design(console: Console, setup: Setup, moved: Mapping[str, int], done: int) -> None:
    """Prints what is varied, the number of replications, and the bytes moved."""
    campaign = setup.campaign
    count = len(campaign.combinations)
    blocks = len({run.block for run in campaign.runs})
    left_out = f" ({setup.excluded} excluded)" if setup.excluded else ""
    shape = f"{blocks} blocks" if blocks > 1 else "one block"
    if campaign.design == "latin-hypercube":
        every = math.prod(len(factor.levels) for factor in campaign.factors)
        left_out = f" of {every} (a Latin hypercube)"
    console.print(
        f"Campaign {escape(campaign.name)}: {campaign.workload}, {count} combinations{left_out}, "
        f"{_repetition_text(campaign)} each, "
        f"{len(campaign.runs)} runs in {shape}, order by seed {campaign.seed}",
        highlight=False,
    )
    for factor in campaign.factors:
        console.print(f"  {escape(_factor_text(factor))}", highlight=False)
    for number, phase in enumerate(campaign.phases):
        pause = f", {duration_text(phase.pause_seconds)} of quiet before it"
        console.print(
            f"  phase {escape(phase.name)}: "
            f"{sum(run.phase == number for run in campaign.runs)} runs"
            f"{pause if number and phase.pause_seconds else ''}",
            highlight=False,
        )
    if campaign.pause_seconds:
        console.print(
            f"  {duration_text(campaign.pause_seconds)} of quiet between runs", highlight=False
        )
    if campaign.scale != 1:
        console.print(f"  scaled by {campaign.scale:g}", highlight=False)
    if any(moved.values()):
        console.print(
            f"One repetition of every run writes {size_text(moved['write'])} and reads "
            f"{size_text(moved['read'])}",
            highlight=False,
        )
    if done:
        console.print(f"{done} runs have already ended", highlight=False)


def _repetition_text(campaign: Campaign) -> str:
    counts = Counter(run.combination for run in campaign.runs)
    least, most = min(counts.values()), max(counts.values())
    if least == most:
        return f"{most} time{'s' if most > 1 else ''}"
    return f"{least} to {most} times"


def _factor_text(factor: CampaignFactor) -> str:
    shown = [
        str(level[0]) if len(set(map(str, level))) == 1 else "/".join(str(part) for part in level)
        for level in factor.levels
    ]
    if len(shown) > MOST_LEVELS_SHOWN:
        shown = [*shown[: MOST_LEVELS_SHOWN - 2], "...", shown[-1]]
    number = len(factor.levels)
    levels = "1 level" if number == 1 else f"{number} levels"
    return f"{', '.join(factor.names)}: {levels}: {', '.join(shown)}"


def show_order(console: Console, setup: Setup, seconds: Callable[[int], float]) -> None:
    """Prints every run in order, with its estimated time."""
    table = plain_table(">run", ">block", "=what", ">ranks", ">about")
    for run in setup.campaign.runs:
        combination = setup.campaign.combinations[run.combination]
        table.add_row(
            str(run.number),
            str(run.block),
            escape(name_of(combination)),
            str(setup.combinations[run.combination].ranks),
            duration_text(seconds(run.combination)),
        )
    console.print(table)


def state_of(step: Step) -> State:
    """Returns what is shown of a run of a campaign."""
    number, left = step.run.number, duration_text(step.seconds_left)
    within = f" ({step.within})" if step.within else ""
    return State(
        place=number,
        line=f"run {number} (block {step.run.block}), {step.done} of {step.total} done, "
        f"about {left} left: {step.name}",
        done=step.done,
        planned=step.total,
        at=f"about {left} left run {number}: {step.name}{within}",
    )


def show_finished(console: Console, step: Step, rates: Sequence[str]) -> None:
    """Prints one line about a run that has just finished."""
    console.print(
        f"  run {step.run.number} done: {step.name}: {'; '.join(rates)}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
