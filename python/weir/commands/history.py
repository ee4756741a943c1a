"""``weir results history``: lasting changes of figures over months, and what changed with them."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from weir.analysis.history import (
    History,
    examined_text,
    histories_listing,
    histories_of,
    is_examined,
)
from weir.analysis.lasting_change import LEAST_RUNS
from weir.bench.tables import show_listing
from weir.commands.find_runs import Root, root_of, runs_below
from weir.commands.terminal import output_console, warn
from weir.results.errors import ResultError


def history_command(
    root: Root = None,
    rate: Annotated[
        str, typer.Option("--rate", help="Only this figure: write, read, or an action [all].")
    ] = "",
    everything: Annotated[
        bool,
        typer.Option("--all", help=f"Also list configurations with fewer than {LEAST_RUNS} runs."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON array of objects.")
    ] = False,
) -> None:
    """Find lasting steps and drifts in the runs of each configuration on one machine.

    Runs with the same workload, label, ranks, settings, machine and mount point are a series of
    medians by time. For each change, what differs between the runs before and after it is named:
    kernel, MPI, file system, Weir's build, load and more. A store may be given as --root. The page
    that weir report writes over the same folder or store draws the series and their changes.
    """
    below = root_of(root)
    found = histories_of(run for _, run in runs_below(below))
    if not found:
        raise ResultError(f"no complete run with a figure is below {below}: give another --root")
    chosen = [one for one in found if rate in ("", one.figure)]
    if not chosen:
        known = ", ".join(dict.fromkeys(one.figure for one in found))
        raise ResultError(f"no run below {below} has the figure {rate}: give --rate one of {known}")
    examined = [one for one in chosen if is_examined(one)]
    shown = chosen if everything else examined
    if as_json:
        typer.echo(json.dumps([one.record for one in shown], indent=1))
    else:
        _show(shown)
    rest = len(chosen) - len(examined)
    warn(
        examined_text(len(examined))
        + (f"; {rest} with fewer runs left out" if rest and not everything else "")
    )


def _show(shown: list[History]) -> None:
    console = output_console()
    if shown:
        show_listing(console, histories_listing(shown))
    texts = [text for one in shown for text in one.texts]
    for text in texts or ["no lasting change was found"]:
        console.print(f"\n{text}", highlight=False, markup=False)
