"""Shows a kernel's simulated output at the terminal: one with its stages, or a table of several."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from weir.bench.tables import plain_table
from weir.results.campaign import Value
from weir.results.platform import Platform
from weir.results.quantities import percent_text, rate_text, seconds_text, size_text
from weir.sim.job import level_text
from weir.sim.staged import StagedOutput

NOT_SIMULATED = (
    "not simulated: opening a file, agreeing on its plan, and what a stager does beside storing"
)
AT = {
    "none": "written by the ranks",
    "node": "stored by a stager of each node",
    "service": "stored by stagers on nodes of their own",
}


def show_output(console: Console, platform: Platform, one: StagedOutput) -> None:
    """Prints both rates with their limits, the stages, and what the ranks reach by themselves."""

    def say(text: str) -> None:
        console.print(text, highlight=False)

    stagers = f": {one.asked.stagers}" if one.asked.stagers else ""
    say(
        f"simulated on {escape(platform.name)}: {one.kernel.name} on {one.asked.ranks} ranks, "
        f"{_files_text(one)}, {AT[one.staging]}{stagers}"
    )
    if not one.rates:
        _say_rate(console, "observed and to storage", one.kernel.bytes, one.unstaged_seconds,
                  one.unstaged_limit)  # fmt: skip
        say(NOT_SIMULATED.rpartition(", and")[0])
        return
    _say_rate(console, "observed", one.kernel.bytes, one.blocked_seconds,
              one.rates["foreground"].limiting_stage)  # fmt: skip
    _say_rate(console, "to storage", one.kernel.bytes, one.until_stored_seconds,
              one.rates["span"].limiting_stage, len(one.kernel.phases))  # fmt: skip
    say(
        f"{percent_text(one.hidden)} is hidden, with "
        f"{seconds_text(one.kernel.computing_seconds)} of computing after each output step"
    )
    say("")
    table = plain_table("stage", "part", ">rate", ">all files")
    for what, time in one.parts:
        table.add_row(
            what, escape(time.stage.name), rate_text(time.rate), seconds_text(time.seconds),
            *(("<- slowest",) if time.stage.name == one.slowest(what) else ()),
        )  # fmt: skip
    console.print(table)
    say(f"by the ranks themselves: {seconds_text(one.unstaged_seconds)} ({one.unstaged_limit}), "
        f"so {worth_text(one)}")  # fmt: skip
    say(NOT_SIMULATED)


def show_outputs(
    console: Console, several: Sequence[tuple[dict[str, Value], StagedOutput]]
) -> None:
    """Prints a row for each outcome."""
    names = list(several[0][0])
    staged = bool(several[0][1].rates)
    both = (
        (">observed", "limit", ">to storage", "limit", ">hidden") if staged else (">rate", "limit")
    )
    table = plain_table(*(f">{name}" for name in names), *both)
    for levels, one in several:
        total = one.kernel.bytes
        cells = [rate_text(total / one.unstaged_seconds), escape(one.unstaged_limit)]
        if staged:
            cells = [
                rate_text(total / one.blocked_seconds),
                escape(one.rates["foreground"].limiting_stage),
                rate_text(total / one.until_stored_seconds),
                escape(one.rates["span"].limiting_stage),
                percent_text(one.hidden),
            ]
        table.add_row(*(level_text(name, value) for name, value in levels.items()), *cells)
    console.print(table)


def worth_text(one: StagedOutput) -> str:
    """Returns whether stagers are worth it, and from how much computing on."""
    if one.blocked_seconds >= one.unstaged_seconds:
        return "staging is not worth it here"
    if one.least_computing_seconds <= 0:
        return "staging is worth it"
    return (
        f"staging is worth it if they compute for {seconds_text(one.least_computing_seconds)} "
        "beside all files"
    )


def _say_rate(
    console: Console, what: str, total: int, seconds: float, limit: str, kinds: int = 1
) -> None:
    added_up = f", added up over {kinds} kinds of files" if kinds > 1 else ""
    console.print(
        f"{what} [bold]{rate_text(total / seconds)}[/bold] in {seconds_text(seconds)}{added_up}; "
        f"limit: [bold]{escape(limit)}[/bold]",
        highlight=False,
    )


def _files_text(one: StagedOutput) -> str:
    return " and ".join(
        f"{planned.phase.operations_per_rank} {planned.phase.function} files of "
        f"{size_text(planned.phase.bytes_total / planned.phase.operations_per_rank)}"
        for planned in one.kernel.phases
    )
